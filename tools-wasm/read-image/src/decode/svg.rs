//! SVG: rendered at the size that is sent. Nothing outside of the file is read, neither other files nor
//! system fonts. Only images in `data:` URLs are loaded.
//!
//! `references` limits the growth of the text before anything is built from it. `cost` limits memory and time
//! before anything is drawn. Both limits are necessary: a drawing of a few hundred bytes can require any
//! amount of either.

// Sizes and costs are approximate, and casts to integers saturate.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod cost;
mod fonts;
mod pictures;
mod references;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::GzDecoder;
use image::metadata::Orientation;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, roxmltree};

use self::pictures::Pictures;
use crate::format::Format;
use crate::limits::SENT_EDGE;
use crate::picture::{Picture, Pixels};
use crate::problem::Problem;
use crate::recognise::{describe, recognise};
use crate::room::Room;

/// Maximum size of the text, in bytes. The tree takes about twelve times as much memory.
const MAX_TEXT: u64 = 8 * 1024 * 1024;
/// Maximum nesting depth, including references. It fits the stack size in `build.rs`.
const MAX_DEPTH: u32 = 100;
/// Minimum edge length; smaller drawings are scaled up to it.
const SMALLEST_EDGE: f32 = 512.0;
/// Edge lengths in descending order that are tried if memory or time do not suffice.
const EDGES: [u32; 4] = [SENT_EDGE, 1024, 768, 512];
/// Mean brightness above which a drawing counts as designed for a dark background.
const LIGHT: u64 = 235;

/// Renders an SVG file, compressed or not.
pub(super) fn decode(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let text = text(bytes)?;
    let pictures = Pictures::default();
    let tree = parse(&text, &pictures)?;
    let mut notes = pictures.notes();
    notes.extend(fonts::note(&text));
    drop(text);
    let (width, height) = (tree.size().width(), tree.size().height());
    let long = width.max(height);
    let wanted = long.max(SMALLEST_EDGE).min(SENT_EDGE as f32) / long;
    let scale = cost::affordable(&tree, wanted, EDGES.map(|edge| edge as f32 / long), room)?;
    if scale < wanted {
        notes.push("Drawn smaller, as it is costly to draw.".to_owned());
    } else if scale > 1.0 {
        notes.push("Drawn larger than its size, as it is small.".to_owned());
    }
    let pixels = draw(&tree, scale, &mut notes)?;
    let size = (width.ceil() as u32, height.ceil() as u32);
    Ok(Picture {
        format: Format::Svg,
        size,
        orientation: Orientation::NoTransforms,
        pixels,
        plain: false,
        notes,
    })
}

/// Returns the decompressed text of the file.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Problem> {
    let mut data = Cow::Borrowed(bytes);
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        let mut reader = GzDecoder::new(bytes).take(MAX_TEXT + 1);
        if let Err(error) = reader.read_to_end(&mut unpacked) {
            return Err(Problem::from_decoder(Format::Svg, &error));
        }
        if recognise(&unpacked) != Ok(Format::Svg) || unpacked.starts_with(&[0x1f, 0x8b]) {
            return Err(Problem::Other(format!("a compressed file that holds {}", describe(&unpacked))));
        }
        data = Cow::Owned(unpacked);
    }
    if data.len() as u64 > MAX_TEXT {
        return Err(work(format!("it has more than {} MiB of text", MAX_TEXT >> 20)));
    }
    match data {
        Cow::Borrowed(data) => std::str::from_utf8(data).ok().map(Cow::Borrowed),
        Cow::Owned(data) => String::from_utf8(data).ok().map(Cow::Owned),
    }
    .ok_or_else(|| damaged("its text is not UTF-8".to_owned()))
}

fn parse(text: &str, pictures: &Pictures) -> Result<Tree, Problem> {
    references::check_entities(text)?;
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        nodes_limit: references::MAX_XML_NODES,
        ..Default::default()
    };
    let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::NodesLimitReached => {
            work(format!("it has more than {} elements and texts", references::MAX_XML_NODES))
        }
        error => damaged(error.to_string()),
    })?;
    references::check(&document)?;
    let options = Options {
        font_family: fonts::DEFAULT.to_owned(),
        fontdb: fonts::database(),
        font_resolver: fonts::resolver(),
        image_href_resolver: pictures.resolver(),
        ..Options::default()
    };
    Tree::from_xmltree(&document, &options).map_err(|error| damaged(error.to_string()))
}

fn draw(tree: &Tree, scale: f32, notes: &mut Vec<String>) -> Result<Pixels, Problem> {
    let (width, height) = cost::canvas(tree, scale);
    let mut pixmap =
        Pixmap::new(width, height).ok_or_else(|| damaged(format!("it has {width} × {height} pixels")))?;
    let size = tree.size();
    let exact = Transform::from_scale(width as f32 / size.width(), height as f32 / size.height());
    resvg::render(tree, exact, &mut pixmap.as_mut());
    let opaque = pixmap.pixels().iter().all(|pixel| pixel.alpha() == 255);
    if !opaque {
        let (colour, name) = if is_light(&pixmap) { (0x40, "dark") } else { (0xff, "white") };
        lay_under(&mut pixmap, colour);
        notes.push(format!("Drawn on a {name} background."));
    }
    Ok(Pixels { width, height, rgba: pixmap.take(), opaque: true })
}

/// Returns `true` if the drawing is hardly visible on white.
fn is_light(pixmap: &Pixmap) -> bool {
    let sum = |(light, alpha), pixel: &resvg::tiny_skia::PremultipliedColorU8| {
        let brightness = u64::from(pixel.red().min(pixel.green()).min(pixel.blue()));
        (light + brightness, alpha + u64::from(pixel.alpha()))
    };
    let (light, alpha) = pixmap.pixels().iter().fold((0, 0), sum);
    alpha > 0 && light * 255 / alpha > LIGHT
}

/// Composites premultiplied pixels over gray.
fn lay_under(pixmap: &mut Pixmap, gray: u16) {
    for pixel in pixmap.data_mut().as_chunks_mut::<4>().0 {
        let under = gray * u16::from(255 - pixel[3]) / 255;
        // A premultiplied color is at most its alpha.
        *pixel = pixel.map(|colour| (u16::from(colour) + under).min(255) as u8);
        pixel[3] = 255;
    }
}

fn work(why: String) -> Problem {
    Problem::Work { format: Format::Svg, why }
}

fn damaged(why: String) -> Problem {
    Problem::damaged(Format::Svg, why)
}
