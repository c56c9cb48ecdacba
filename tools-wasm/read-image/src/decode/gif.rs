//! GIF: the first picture of the file. The others are walked over without decoding them.

use std::io::Cursor;

use image::codecs::gif::GifDecoder;

use super::frame;
use crate::format::Format;
use crate::limits::{Room, check_edges, pixels};
use crate::picture::Picture;
use crate::problem::Problem;

/// Decodes the first picture of a GIF file.
pub(crate) fn decode(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let size = match bytes {
        &[_, _, _, _, _, _, w0, w1, h0, h1, ..] => {
            (u16::from_le_bytes([w0, w1]).into(), u16::from_le_bytes([h0, h1]).into())
        }
        _ => return Err(Problem::damaged(Format::Gif, "the file ends too early")),
    };
    check_edges(Format::Gif, size)?;
    // The canvas, and a frame that does not cover it.
    room.check(Format::Gif, size, pixels(size) * 9)?;
    let frames = count(bytes)?;
    let decoder = GifDecoder::new(Cursor::new(bytes)).map_err(|error| frame::damaged(Format::Gif, &error))?;
    let mut picture = frame::decode(decoder, Format::Gif, room, pixels(size) * 5)?;
    if frames > 1 {
        picture.plain = false;
        picture.notes.push(format!("Animated GIF with {frames} frames: only the first is shown."));
    }
    Ok(picture)
}

/// The number of frames; an error if the file is cut off.
fn count(bytes: &[u8]) -> Result<u64, Problem> {
    let damaged = |error: gif::DecodingError| match error {
        gif::DecodingError::UnexpectedEof => Problem::damaged(Format::Gif, "the file ends too early"),
        gif::DecodingError::Format(error) => Problem::damaged(Format::Gif, error.to_string()),
        error => Problem::from_decoder(Format::Gif, &error),
    };
    let mut options = gif::DecodeOptions::new();
    options.skip_frame_decoding(true);
    options.check_frame_consistency(true);
    let mut reader = options.read_info(Cursor::new(bytes)).map_err(damaged)?;
    let mut frames = 0;
    while reader.next_frame_info().map_err(damaged)?.is_some() {
        frames += 1;
    }
    match frames {
        0 => Err(Problem::damaged(Format::Gif, "it has no picture")),
        frames => Ok(frames),
    }
}
