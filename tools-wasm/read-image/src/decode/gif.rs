//! GIF: decodes the first frame of the file, and counts the others without decoding them.
//!
//! A frame that exceeds the canvas is cropped. A canvas without a size gets the size of the frame.

use std::borrow::Cow;
use std::io::Cursor;

use image::codecs::gif::GifDecoder;

use super::frame;
use crate::format::Format;
use crate::limits::{MAX_EDGE, pixels};
use crate::picture::Picture;
use crate::problem::Problem;
use crate::room::{Room, check_edges};

/// Position of the canvas size in the file: two 16-bit numbers.
const CANVAS: std::ops::Range<usize> = 6..10;

/// Decodes the first frame of a GIF file.
pub(crate) fn decode(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let canvas = match bytes.get(CANVAS) {
        Some(&[w0, w1, h0, h1]) => (u16::from_le_bytes([w0, w1]), u16::from_le_bytes([h0, h1])),
        _ => return Err(Problem::damaged(Format::Gif, "the file ends too early")),
    };
    let frames = Frames::count(bytes)?;
    let (bytes, room, canvas) = with_canvas(bytes, room, canvas, frames.first);
    let frame = (u32::from(frames.first.width), u32::from(frames.first.height));
    check_edges(Format::Gif, canvas)?;
    if frame.0.max(frame.1) > MAX_EDGE {
        return Err(Problem::Edges { format: Format::Gif, size: frame });
    }
    // The canvas, the frame, and the frame's palette indices.
    let extra = pixels(frame) * 5;
    room.check(Format::Gif, canvas, pixels(canvas) * 4 + extra)?;
    let decoder =
        GifDecoder::new(Cursor::new(&bytes[..])).map_err(|error| frame::damaged(Format::Gif, &error))?;
    let mut picture = frame::decode(decoder, Format::Gif, room, extra)?;
    let fits = frames.first.fits(canvas);
    if !fits {
        picture.notes.push("The picture is cut at the edges of its canvas.".to_owned());
    }
    // Programs differ for frames that do not fit, and for a canvas without a size.
    picture.plain = fits && matches!(bytes, Cow::Borrowed(_)) && frames.number == 1;
    if frames.number > 1 {
        let note = format!("Animated GIF with {} frames: only the first is shown.", frames.number);
        picture.notes.push(note);
    }
    Ok(picture)
}

/// Returns the file with a valid canvas size, the remaining room, and this size.
fn with_canvas(
    bytes: &[u8],
    room: Room,
    (width, height): (u16, u16),
    first: Place,
) -> (Cow<'_, [u8]>, Room, (u32, u32)) {
    if width > 0 && height > 0 {
        return (Cow::Borrowed(bytes), room, (width.into(), height.into()));
    }
    let canvas = (first.left.saturating_add(first.width), first.top.saturating_add(first.height));
    let mut copy = bytes.to_vec();
    copy[CANVAS].copy_from_slice(&[canvas.0.to_le_bytes(), canvas.1.to_le_bytes()].concat());
    (Cow::Owned(copy), room.less(bytes.len()), (canvas.0.into(), canvas.1.into()))
}

/// Position of a frame on the canvas.
#[derive(Clone, Copy)]
struct Place {
    left: u16,
    top: u16,
    width: u16,
    height: u16,
}

impl Place {
    fn fits(self, (width, height): (u32, u32)) -> bool {
        let (right, bottom) =
            (u32::from(self.left) + u32::from(self.width), u32::from(self.top) + u32::from(self.height));
        right <= width && bottom <= height
    }
}

/// Frames of a file.
struct Frames {
    number: u64,
    first: Place,
}

impl Frames {
    /// Scans the file. Returns an error if it is truncated or has no frame.
    fn count(bytes: &[u8]) -> Result<Self, Problem> {
        let damaged = |error: gif::DecodingError| match error {
            gif::DecodingError::UnexpectedEof => Problem::damaged(Format::Gif, "the file ends too early"),
            gif::DecodingError::Format(error) => Problem::damaged(Format::Gif, error.to_string()),
            error => Problem::from_decoder(Format::Gif, &error),
        };
        let mut options = gif::DecodeOptions::new();
        options.skip_frame_decoding(true);
        let mut reader = options.read_info(Cursor::new(bytes)).map_err(damaged)?;
        let (mut number, mut first) = (0, None);
        while let Some(frame) = reader.next_frame_info().map_err(damaged)? {
            number += 1;
            let &gif::Frame { left, top, width, height, .. } = frame;
            first.get_or_insert(Place { left, top, width, height });
        }
        let first = first.ok_or_else(|| Problem::damaged(Format::Gif, "it has no picture"))?;
        Ok(Self { number, first })
    }
}
