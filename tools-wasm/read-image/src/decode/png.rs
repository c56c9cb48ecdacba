//! PNG: decodes row by row, so that large images need no more memory than small ones. Interlaced files are
//! only complete at the end, and are decoded as a whole.

use std::io::Cursor;

use png::{ColorType, Decoder, DecodingError, Limits, Reader, Transformations};

use crate::format::Format;
use crate::limits::pixels;
use crate::picture::{Picture, orientation};
use crate::problem::Problem;
use crate::reduce::{Layout, Reducer};
use crate::room::{Room, check_edges};

/// Maximum allocation of the decoder for chunks, in bytes, in addition to rows and decompression.
const CHUNK_BYTES: usize = 16 * 1024 * 1024;
/// Chunks that are compressed besides the pixels, and the maximum of their bytes in a file that a client receives as it
/// is: a client that expands them needs up to a thousand times as much. Color profiles of screens take less.
const PACKED: [&[u8; 4]; 3] = [b"iCCP", b"zTXt", b"iTXt"];
const PACKED_BYTES: u64 = 8 * 1024;

type Rows<'a> = Reader<Cursor<&'a [u8]>>;

/// Decodes a PNG file.
pub(crate) fn decode(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: CHUNK_BYTES });
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let size = decoder.read_header_info().map_err(|error| damaged(&error))?.size();
    check_edges(Format::Png, size)?;
    let mut reader = decoder.read_info().map_err(|error| damaged(&error))?;
    let layout = layout(&reader);
    let mut reducer = Reducer::new(size, layout);
    if reader.info().interlaced {
        whole(&mut reader, room, size, layout, &mut reducer)?;
    } else {
        while let Some(row) = reader.next_row().map_err(|error| damaged(&error))? {
            reducer.push(row.data());
        }
    }
    // Reads to the end of the file, to detect truncation and to find trailing EXIF data.
    reader.finish().map_err(|error| damaged(&error))?;
    let (orientation, mut notes) = (orientation(reader.info().exif_metadata.as_deref()), animation(&reader));
    if packed_bytes(bytes) > PACKED_BYTES {
        notes.push("A large color profile or text in the file was left out.".to_owned());
    }
    let plain = notes.is_empty();
    Ok(Picture { format: Format::Png, size, orientation, pixels: reducer.finish(), plain, notes })
}

fn whole(
    reader: &mut Rows<'_>,
    room: Room,
    size: (u32, u32),
    layout: Layout,
    reducer: &mut Reducer,
) -> Result<(), Problem> {
    let needed = pixels(size) * layout.bytes() as u64;
    room.check(Format::Png, size, needed)?;
    let mut frame = vec![0; usize::try_from(needed).unwrap_or(usize::MAX)];
    reader.next_frame(&mut frame).map_err(|error| damaged(&error))?;
    frame.chunks_exact(size.0 as usize * layout.bytes()).for_each(|row| reducer.push(row));
    Ok(())
}

fn layout(reader: &Rows<'_>) -> Layout {
    match reader.output_color_type().0 {
        ColorType::Grayscale => Layout::Gray,
        ColorType::GrayscaleAlpha => Layout::GrayAlpha,
        ColorType::Rgba => Layout::Rgba,
        // Palettes are expanded.
        ColorType::Rgb | ColorType::Indexed => Layout::Rgb,
    }
}

/// Returns the length of all compressed chunks besides the pixels. The decoder has read the file to its end.
fn packed_bytes(bytes: &[u8]) -> u64 {
    const SIGNATURE_BYTES: usize = 8;
    const CHECKSUM_BYTES: usize = 4;
    let mut rest = bytes.get(SIGNATURE_BYTES..).unwrap_or_default();
    let mut sum = 0;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length);
        let Some((kind, after)) = after.split_first_chunk::<4>() else { break };
        if PACKED.contains(&kind) {
            sum += u64::from(length);
        }
        let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(CHECKSUM_BYTES);
        rest = after.get(end..).unwrap_or_default();
    }
    sum
}

/// Returns a note if the file is an animation.
fn animation(reader: &Rows<'_>) -> Vec<String> {
    let frames = reader.info().animation_control().map_or(0, |control| control.num_frames);
    if frames < 2 {
        return Vec::new();
    }
    vec![format!("Animated PNG with {frames} frames: only the first picture is shown.")]
}

fn damaged(error: &DecodingError) -> Problem {
    match error {
        DecodingError::LimitsExceeded => {
            let why = format!("a chunk takes more than {} MiB", CHUNK_BYTES >> 20);
            Problem::Work { format: Format::Png, why }
        }
        DecodingError::IoError(error) => Problem::from_decoder(Format::Png, error),
        error => Problem::from_decoder(Format::Png, error),
    }
}
