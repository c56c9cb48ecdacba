//! JPEG: large images are scaled down block by block in the inverse cosine transform, so that only small
//! images are completely in memory. Progressive files require all coefficients at once.

use std::io::Cursor;

use jpeg_decoder::{Decoder, Error, PixelFormat};

use super::jpeg_header::Header;
use crate::format::Format;
use crate::limits::{SENT_BYTES, SENT_EDGE};
use crate::picture::{Picture, orientation};
use crate::problem::Problem;
use crate::reduce::{Layout, Reducer};
use crate::room::{Room, check_edges};

/// Maximum number of block visits (a few seconds), because a scan of a few bytes may visit every block.
const MAX_VISITS: u64 = 150_000_000;

/// Decodes a JPEG file.
pub(crate) fn decode(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let header = Header::read(bytes)?;
    check(&header, bytes.len(), room)?;
    let size = header.size;
    let mut decoder = Decoder::new(Cursor::new(bytes));
    let edge = u16::try_from(SENT_EDGE).unwrap_or(u16::MAX);
    let (width, height) = decoder.scale(edge, edge).map_err(problem)?;
    // The planes of all components, and the resulting image.
    let samples = u64::from(width) * u64::from(height) * header.sampling.len() as u64;
    room.check(Format::Jpeg, size, header.coefficients() + 2 * samples)?;
    let mut data = decoder.decode().map_err(problem)?;
    let four_colours = decoder.info().is_some_and(|info| info.pixel_format == PixelFormat::CMYK32);
    let layout = match decoder.info().map(|info| info.pixel_format) {
        Some(PixelFormat::L8) => Layout::Gray,
        Some(PixelFormat::RGB24) => Layout::Rgb,
        Some(PixelFormat::CMYK32) => Layout::Rgba,
        _ => return Err(variety("it has more than 8 bits a colour")),
    };
    if four_colours {
        print_to_screen(&mut data, header.adobe);
    }
    let orientation = orientation(decoder.exif_data());
    drop(decoder);
    let mut reducer = Reducer::new((width.into(), height.into()), layout);
    data.chunks_exact(usize::from(width) * layout.bytes()).for_each(|row| reducer.push(row));
    let mut notes = Vec::new();
    if four_colours {
        notes.push("CMYK colours were converted to RGB.".to_owned());
    }
    let faulty = !four_colours && may_be_sent(bytes, size) && !is_common(bytes);
    if faulty {
        notes.push("Encoded anew, as not every program can read the file.".to_owned());
    }
    let plain = !four_colours && !faulty;
    Ok(Picture { format: Format::Jpeg, size, orientation, pixels: reducer.finish(), plain, notes })
}

fn may_be_sent(bytes: &[u8], (width, height): (u32, u32)) -> bool {
    bytes.len() <= SENT_BYTES && width.max(height) <= SENT_EDGE
}

/// Returns `true` if a second decoder, which is stricter in other respects, accepts the file too. Unchanged
/// files are read by unknown programs.
fn is_common(bytes: &[u8]) -> bool {
    let decoder = image::codecs::jpeg::JpegDecoder::new(Cursor::new(bytes));
    decoder.and_then(image::DynamicImage::from_decoder).is_ok()
}

fn check(header: &Header, length: usize, room: Room) -> Result<(), Problem> {
    match header.kind {
        0..=2 => {}
        3 => return Err(variety("it is a lossless JPEG")),
        9..=11 => return Err(variety("it uses arithmetic coding")),
        _ => return Err(variety("it is a hierarchical JPEG")),
    }
    check_edges(Format::Jpeg, header.size)?;
    // The decoder would invent missing data.
    if (length as u64) < header.least_bytes() {
        let (width, height) = header.size;
        let why = format!("{length} bytes cannot hold {width} × {height} pixels");
        return Err(Problem::damaged(Format::Jpeg, why));
    }
    if header.scans.saturating_mul(header.blocks()) > MAX_VISITS {
        let (width, height) = header.size;
        let why = format!("it has {} scans of {width} × {height} pixels", header.scans);
        return Err(Problem::Work { format: Format::Jpeg, why });
    }
    room.check(Format::Jpeg, header.size, header.coefficients())
}

/// Converts CMYK values from the decoder to red, green, blue and full alpha. The decoder assumes inverted
/// values, which only occur in files with Adobe's marker.
fn print_to_screen(data: &mut [u8], inverted: bool) {
    for pixel in data.as_chunks_mut::<4>().0 {
        let [c, m, y, k] = if inverted { *pixel } else { pixel.map(|ink| 255 - ink) };
        #[allow(clippy::cast_possible_truncation)] // a fraction of a byte
        let light = |ink: u8| (u16::from(255 - ink) * u16::from(255 - k) / 255) as u8;
        *pixel = [light(c), light(m), light(y), 255];
    }
}

fn problem(error: Error) -> Problem {
    match error {
        Error::Unsupported(feature) => variety(&format!("it uses {feature:?}")),
        error => Problem::from_decoder(Format::Jpeg, &error),
    }
}

fn variety(what: &str) -> Problem {
    Problem::Variety { format: Format::Jpeg, what: what.to_owned() }
}
