//! Encodes pixels for sending: as PNG if it preserves a drawing or transparency and is small enough, else as
//! JPEG with decreasing quality, else as a smaller image.

use std::collections::HashMap;

use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;
use png::{BitDepth, ColorType, Encoder};

use crate::limits::SENT_BYTES;
use crate::picture::Pixels;
use crate::resize;

/// JPEG qualities that are tried before the image is scaled down.
const QUALITIES: [u8; 4] = [85, 75, 65, 50];
/// Maximum number of pixels of images that are sent without loss.
const SMALL: usize = 256 * 256;

/// An encoded image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub mime_type: &'static str,
    pub width: u32,
    pub height: u32,
    pub data: Vec<u8>,
    /// `true` if transparent parts were replaced by white.
    pub flattened: bool,
}

/// Encodes an image in at most `SENT_BYTES`.
pub(crate) fn encode(pixels: Pixels) -> Encoded {
    if (!pixels.opaque || is_drawing(&pixels) || pixels.rgba.len() <= 4 * SMALL)
        && let Some(data) = png(&pixels).filter(|data| data.len() <= SENT_BYTES)
    {
        let Pixels { width, height, .. } = pixels;
        return Encoded { mime_type: "image/png", width, height, data, flattened: false };
    }
    let flattened = !pixels.opaque;
    let mut pixels = on_white(pixels);
    loop {
        let (width, height) = (pixels.width, pixels.height);
        for quality in QUALITIES {
            let data = jpeg(&pixels, quality);
            if data.len() <= SENT_BYTES {
                return Encoded { mime_type: "image/jpeg", width, height, data, flattened };
            }
        }
        pixels = resize::fit(pixels, width.max(height) * 3 / 4);
    }
}

/// Returns `true` if many pixels equal their predecessor, as in screenshots and diagrams.
fn is_drawing(pixels: &Pixels) -> bool {
    let same = pixels.iter().zip(pixels.iter().skip(1)).filter(|(a, b)| a == b).count();
    same * 2 >= pixels.rgba.len() / 4
}

fn on_white(mut pixels: Pixels) -> Pixels {
    if !pixels.opaque {
        for pixel in pixels.rgba.as_chunks_mut::<4>().0 {
            let [r, g, b, a] = pixel.map(u32::from);
            #[allow(clippy::cast_possible_truncation)] // a weighted mean of bytes is a byte
            let mixed = |colour: u32| ((colour * a + 255 * (255 - a) + 127) / 255) as u8;
            *pixel = [mixed(r), mixed(g), mixed(b), 255];
        }
        pixels.opaque = true;
    }
    pixels
}

fn jpeg(pixels: &Pixels, quality: u8) -> Vec<u8> {
    let rgb: Vec<u8> = pixels.iter().flat_map(|[r, g, b, _]| [r, g, b]).collect();
    let mut data = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut data, quality);
    match encoder.encode(&rgb, pixels.width, pixels.height, ExtendedColorType::Rgb8) {
        Ok(()) => data,
        Err(error) => unreachable!("a picture of at most 3136 pixels an edge, into memory: {error}"),
    }
}

/// Returns the smallest PNG among palette, gray, and color with or without alpha.
fn png(pixels: &Pixels) -> Option<Vec<u8>> {
    if let Some((palette, indices)) = palette(pixels) {
        return write_png(pixels, ColorType::Indexed, Some(&palette), &indices);
    }
    if !pixels.opaque {
        return write_png(pixels, ColorType::Rgba, None, &pixels.rgba);
    }
    if pixels.iter().all(|[r, g, b, _]| r == g && g == b) {
        let gray: Vec<u8> = pixels.iter().map(|[gray, ..]| gray).collect();
        return write_png(pixels, ColorType::Grayscale, None, &gray);
    }
    let rgb: Vec<u8> = pixels.iter().flat_map(|[r, g, b, _]| [r, g, b]).collect();
    write_png(pixels, ColorType::Rgb, None, &rgb)
}

/// Returns up to 256 colors, and the index of each pixel's color.
fn palette(pixels: &Pixels) -> Option<(Vec<[u8; 4]>, Vec<u8>)> {
    let mut colours = Vec::new();
    let mut places = HashMap::new();
    let mut indices = Vec::new();
    for pixel in pixels.iter() {
        let place = if let Some(place) = places.get(&pixel) {
            *place
        } else {
            let place = u8::try_from(colours.len()).ok()?;
            colours.push(pixel);
            places.insert(pixel, place);
            place
        };
        indices.push(place);
    }
    Some((colours, indices))
}

fn write_png(pixels: &Pixels, color: ColorType, palette: Option<&[[u8; 4]]>, data: &[u8]) -> Option<Vec<u8>> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixels.width, pixels.height);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    if let Some(palette) = palette {
        encoder.set_palette(palette.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect::<Vec<u8>>());
        if !pixels.opaque {
            encoder.set_trns(palette.iter().map(|&[.., a]| a).collect::<Vec<u8>>());
        }
    }
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(data).ok()?;
    writer.finish().ok()?;
    Some(file)
}
