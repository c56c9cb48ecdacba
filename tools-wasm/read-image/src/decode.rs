//! Decodes a file's bytes to an image. Each format has a module, which checks sizes before it allocates and
//! keeps its memory within the `Room`.

mod bmp;
mod frame;
mod gif;
mod ico;
mod jpeg;
mod jpeg_header;
mod png;
mod svg;

use crate::format::Format;
use crate::picture::Picture;
use crate::problem::Problem;
use crate::recognise::recognise;
use crate::room::Room;

/// Decodes a file, or returns the problem.
pub(crate) fn decode(bytes: &[u8]) -> Result<Picture, Problem> {
    let format = recognise(bytes)?;
    let room = Room::beside(bytes.len());
    match format {
        Format::Svg => svg::decode(bytes, room),
        _ => decode_raster(bytes, format, room),
    }
}

/// Decodes a raster image.
fn decode_raster(bytes: &[u8], format: Format, room: Room) -> Result<Picture, Problem> {
    match format {
        Format::Png => png::decode(bytes, room),
        Format::Jpeg => jpeg::decode(bytes, room),
        Format::Gif => gif::decode(bytes, room),
        Format::WebP => frame::webp(bytes, room),
        Format::Bmp => bmp::decode(bytes, room),
        Format::Tiff => frame::tiff(bytes, room),
        Format::Ico => ico::decode(bytes, room),
        Format::Pnm => frame::pnm(bytes, room),
        Format::Tga => frame::tga(bytes, room),
        Format::Qoi => frame::qoi(bytes, room),
        Format::Svg => Err(Problem::Variety { format, what: "it is a drawing in a drawing".to_owned() }),
    }
}
