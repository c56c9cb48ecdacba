//! Formats that the `image` crate decodes as one complete frame. Each function declares the memory that its
//! decoder needs in addition to the frame, so that the file is refused before any allocation.

use std::error::Error as _;
use std::io::Cursor;

use image::codecs::{
    pnm::PnmDecoder, qoi::QoiDecoder, tga::TgaDecoder, tiff::TiffDecoder, webp::WebPDecoder,
};
use image::error::{ImageError, ImageResult};
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, Limits};

use crate::format::Format;
use crate::limits::{MAX_EDGE, pixels};
use crate::picture::Picture;
use crate::problem::Problem;
use crate::reduce::{Layout, Reducer};
use crate::room::{Room, check_edges};

/// Decodes a WebP file, or the first frame of an animated one.
pub(crate) fn webp(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let decoder = open(Format::WebP, WebPDecoder::new(Cursor::new(bytes)))?;
    let animated = decoder.has_animation();
    // Additional bytes of the decoder per pixel: planes for the lossy kind, a copy with alpha for the
    // lossless kind, and either of them plus an alpha plane for the extended kind.
    let extra = match bytes.get(12..16) {
        Some(b"VP8 ") => 2,
        Some(b"VP8L") => 4,
        _ => 7,
    };
    let size = decoder.dimensions();
    let mut picture = self::decode(decoder, Format::WebP, room, pixels(size) * extra)?;
    if animated {
        picture.plain = false;
        picture.notes.push("Animated WebP: only the first picture is shown.".to_owned());
    }
    Ok(picture)
}

/// Decodes a PNM file.
pub(crate) fn pnm(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    decode(open(Format::Pnm, PnmDecoder::new(Cursor::new(bytes)))?, Format::Pnm, room, 0)
}

/// Decodes a QOI file.
pub(crate) fn qoi(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    decode(open(Format::Qoi, QoiDecoder::new(Cursor::new(bytes)))?, Format::Qoi, room, 0)
}

/// Decodes a TGA file.
pub(crate) fn tga(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let decoder = open(Format::Tga, TgaDecoder::new(Cursor::new(bytes)))?;
    // A copy of the palette indices.
    let extra = decoder.total_bytes();
    let mut frame = read(decoder, Format::Tga, room, extra)?;
    frame.show_if_blank();
    frame.picture()
}

/// Decodes the first page of a TIFF file.
pub(crate) fn tiff(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let decoder = open(Format::Tiff, TiffDecoder::new(Cursor::new(bytes)))?;
    // The decoder's own buffer, and at most the same size again for strips.
    let extra = decoder.total_bytes().saturating_mul(2);
    let mut picture = decode(decoder, Format::Tiff, room, extra)?;
    if has_more_pages(bytes) {
        picture.notes.push("The TIFF file has more pages: only the first is shown.".to_owned());
    }
    Ok(picture)
}

pub(super) fn open<D>(format: Format, decoder: ImageResult<D>) -> Result<D, Problem> {
    decoder.map_err(|error| damaged(format, &error))
}

/// An image as returned by its decoder.
pub(super) struct Frame {
    format: Format,
    pub(super) size: (u32, u32),
    orientation: Orientation,
    colours: ColorType,
    pub(super) data: Vec<u8>,
}

impl Frame {
    /// Makes an image opaque if all of its pixels are transparent, because the writer did not use the fourth
    /// byte.
    fn show_if_blank(&mut self) {
        if self.is_blank() {
            self.data.as_chunks_mut::<4>().0.iter_mut().for_each(|pixel| pixel[3] = 255);
        }
    }

    /// Returns `true` if every pixel is transparent.
    pub(super) fn is_blank(&self) -> bool {
        self.colours == ColorType::Rgba8 && self.data.as_chunks::<4>().0.iter().all(|pixel| pixel[3] == 0)
    }

    /// Returns the reduced image.
    pub(super) fn picture(self) -> Result<Picture, Problem> {
        let Self { format, size, orientation, colours, data } = self;
        let (layout, sample) = samples(colours)
            .ok_or_else(|| Problem::Variety { format, what: format!("its colours are {colours:?}") })?;
        let mut reducer = Reducer::new(size, layout);
        let mut narrow = Vec::new();
        for row in data.chunks_exact(size.0 as usize * usize::from(colours.bytes_per_pixel())) {
            reducer.push(sample.narrow(row, &mut narrow));
        }
        Ok(Picture { format, size, orientation, pixels: reducer.finish(), plain: true, notes: Vec::new() })
    }
}

/// Decodes a complete image. The decoder uses `extra` bytes in addition to its frame.
pub(super) fn decode(
    decoder: impl ImageDecoder,
    format: Format,
    room: Room,
    extra: u64,
) -> Result<Picture, Problem> {
    read(decoder, format, room, extra)?.picture()
}

/// Reads a complete frame. The decoder uses `extra` bytes in addition to it.
pub(super) fn read(
    mut decoder: impl ImageDecoder,
    format: Format,
    room: Room,
    extra: u64,
) -> Result<Frame, Problem> {
    let size = decoder.dimensions();
    check_edges(format, size)?;
    let total = decoder.total_bytes();
    room.check(format, size, total.saturating_add(extra))?;
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(MAX_EDGE);
    limits.max_image_height = Some(MAX_EDGE);
    limits.max_alloc = Some(room.bytes() - total);
    decoder.set_limits(limits).map_err(|error| damaged(format, &error))?;
    let orientation = decoder.orientation().map_err(|error| damaged(format, &error))?;
    let colours = decoder.color_type();
    let mut data = vec![0; usize::try_from(total).unwrap_or(usize::MAX)];
    decoder.read_image(&mut data).map_err(|error| damaged(format, &error))?;
    Ok(Frame { format, size, orientation, colours, data })
}

/// Storage format of a color sample.
#[derive(Clone, Copy)]
enum Sample {
    Byte,
    Word,
    Float,
}

impl Sample {
    /// Converts a row to one byte per sample.
    fn narrow<'a>(self, row: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        buffer.clear();
        match self {
            Self::Byte => return row,
            Self::Word => {
                buffer
                    .extend(row.as_chunks::<2>().0.iter().map(|&word| (u16::from_ne_bytes(word) >> 8) as u8));
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // these casts saturate
            Self::Float => buffer
                .extend(row.as_chunks::<4>().0.iter().map(|&f| (f32::from_ne_bytes(f) * 255.0 + 0.5) as u8)),
        }
        buffer
    }
}

fn samples(colours: ColorType) -> Option<(Layout, Sample)> {
    Some(match colours {
        ColorType::L8 => (Layout::Gray, Sample::Byte),
        ColorType::La8 => (Layout::GrayAlpha, Sample::Byte),
        ColorType::Rgb8 => (Layout::Rgb, Sample::Byte),
        ColorType::Rgba8 => (Layout::Rgba, Sample::Byte),
        ColorType::L16 => (Layout::Gray, Sample::Word),
        ColorType::La16 => (Layout::GrayAlpha, Sample::Word),
        ColorType::Rgb16 => (Layout::Rgb, Sample::Word),
        ColorType::Rgba16 => (Layout::Rgba, Sample::Word),
        ColorType::Rgb32F => (Layout::Rgb, Sample::Float),
        ColorType::Rgba32F => (Layout::Rgba, Sample::Float),
        _ => return None,
    })
}

/// Converts an error of the `image` crate.
pub(crate) fn damaged(format: Format, error: &ImageError) -> Problem {
    match error {
        ImageError::Unsupported(error) => Problem::Variety { format, what: error.to_string() },
        ImageError::Limits(_) => Problem::Work { format, why: "its data take too much memory".to_owned() },
        // The cause is sufficient; the error around it repeats the format.
        ImageError::Decoding(error) => match error.source() {
            Some(cause) => Problem::from_decoder(format, cause),
            None => Problem::from_decoder(format, error),
        },
        ImageError::IoError(error) => Problem::from_decoder(format, error),
        error => Problem::from_decoder(format, error),
    }
}

/// Returns `true` if the first directory of a classic TIFF file refers to a second one.
fn has_more_pages(bytes: &[u8]) -> bool {
    let big = bytes.starts_with(b"MM");
    let number = |at: usize, length: usize| -> Option<usize> {
        let digits = bytes.get(at..at.checked_add(length)?)?;
        let sum = |sum, byte: &u8| sum << 8 | usize::from(*byte);
        Some(if big { digits.iter().fold(0, sum) } else { digits.iter().rev().fold(0, sum) })
    };
    let next = || {
        let directory = number(4, 4)?;
        let entries = number(directory, 2)?;
        number(directory.checked_add(2 + 12 * entries)?, 4)
    };
    number(2, 2) == Some(42) && next().is_some_and(|next| next != 0)
}
