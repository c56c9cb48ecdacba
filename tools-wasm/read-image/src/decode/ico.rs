//! ICO and CUR: several versions of one image, of which the largest is decoded. The PNG decoder decodes
//! embedded PNG. The `image` crate decodes bitmaps, which are followed by a mask; each is passed as the only
//! image of an icon.

use std::io::Cursor;

use image::codecs::ico::IcoDecoder;

use super::{frame, png};
use crate::format::Format;
use crate::limits::MAX_EDGE;
use crate::picture::Picture;
use crate::problem::Problem;
use crate::room::Room;

/// Offset of the list of images, and size of an entry.
const LIST: usize = 6;
const ENTRY: usize = 16;
/// Maximum number of images that are tried if the best ones are damaged.
const TRIED: usize = 4;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Decodes the largest image of an icon.
pub(crate) fn decode(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let early = || Problem::damaged(Format::Ico, "the file ends too early");
    let count = bytes.get(4..LIST).map_or(0, |count| u16::from_le_bytes([count[0], count[1]]));
    let list = bytes.get(LIST..LIST + usize::from(count) * ENTRY).ok_or_else(early)?;
    let mut entries: Vec<_> =
        list.as_chunks().0.iter().filter_map(|entry| Entry::read(bytes, entry)).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.worth()));
    let mut first = None;
    for (better, entry) in entries.iter().take(TRIED).enumerate() {
        match entry.decode(room) {
            Ok(mut picture) => {
                picture.notes.extend(note(count, better, entries.len()));
                return Ok(picture);
            }
            Err(problem) => _ = first.get_or_insert(problem.within(Format::Ico)),
        }
    }
    Err(first.unwrap_or_else(early))
}

/// Describes the other images: `better` ones are damaged, and of `count` only `found` are in the file.
fn note(count: u16, better: usize, found: usize) -> Option<String> {
    let whole = better == 0 && found == usize::from(count);
    match (count, whole) {
        (1, _) => None,
        (count, true) => Some(format!("The icon has {count} pictures: the largest is shown.")),
        (count, false) => Some(format!(
            "The icon has {count} pictures, some of them damaged: the best of the others is shown."
        )),
    }
}

/// An image of an icon.
struct Entry<'a> {
    data: &'a [u8],
    is_png: bool,
    width: u32,
    height: u32,
    bits: u16,
}

impl<'a> Entry<'a> {
    /// Reads the properties from the image itself, because those in the list are often wrong.
    fn read(file: &'a [u8], entry: &[u8; ENTRY]) -> Option<Self> {
        let number = |bytes: &[u8], at: usize| bytes.get(at..at + 4)?.first_chunk().copied();
        let length = u32::from_le_bytes(number(entry, 8)?) as usize;
        let start = u32::from_le_bytes(number(entry, 12)?) as usize;
        let data = file.get(start..start.checked_add(length)?)?;
        if data.starts_with(PNG) {
            let (width, height) = (number(data, 16)?, number(data, 20)?);
            let channels = [1, 0, 3, 1, 2, 0, 4].get(usize::from(*data.get(25)?)).copied().unwrap_or(0);
            let bits = u16::from(*data.get(24)?) * channels;
            let (width, height) = (u32::from_be_bytes(width), u32::from_be_bytes(height));
            return Some(Self { data, is_png: true, width, height, bits });
        }
        // The bitmap and the mask are stacked in the height.
        let (width, height) =
            (u32::from_le_bytes(number(data, 4)?), u32::from_le_bytes(number(data, 8)?) / 2);
        let bits = u16::from_le_bytes([*data.get(14)?, *data.get(15)?]);
        Some(Self { data, is_png: false, width, height, bits })
    }

    /// Returns the sort key: decodable images first, then the larger size, then more bits.
    fn worth(&self) -> (bool, u32, u16) {
        let edge = self.width.max(self.height);
        (edge <= MAX_EDGE, edge, self.bits)
    }

    fn decode(&self, room: Room) -> Result<Picture, Problem> {
        if self.is_png {
            let picture = png::decode(self.data, room)?;
            return Ok(Picture { format: Format::Ico, ..picture });
        }
        let icon = self.alone();
        let room = room.less(icon.len());
        let decoder = frame::open(Format::Ico, IcoDecoder::new(Cursor::new(&icon[..])))?;
        let mut frame = frame::read(decoder, Format::Ico, room, 0)?;
        if self.bits == 32 && frame.is_blank() {
            self.show(&mut frame);
        }
        frame.picture()
    }

    /// Returns an icon that contains only this image.
    fn alone(&self) -> Vec<u8> {
        // Sizes of 256 and more are written as 0.
        let edge = |length: u32| u8::try_from(length).unwrap_or(0);
        let length = u32::try_from(self.data.len()).unwrap_or(u32::MAX);
        let place = u32::try_from(LIST + ENTRY).unwrap_or(u32::MAX);
        let mut icon = vec![0, 0, 1, 0, 1, 0, edge(self.width), edge(self.height), 0, 0, 1, 0];
        icon.extend(self.bits.to_le_bytes());
        icon.extend(length.to_le_bytes());
        icon.extend(place.to_le_bytes());
        icon.extend(self.data);
        icon
    }

    /// Applies the mask to an image whose alpha bytes are all zero: its writer used only the mask for
    /// transparency.
    fn show(&self, frame: &mut frame::Frame) {
        let (width, height) = (frame.size.0 as usize, frame.size.1 as usize);
        let row = width.div_ceil(32) * 4;
        let header = self.data.first_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        let mask = self.data.get(header.saturating_add(width * height * 4)..).unwrap_or_default();
        for (y, pixels) in frame.data.chunks_exact_mut(width * 4).rev().enumerate() {
            let bits = mask.get(y * row..(y + 1) * row);
            for (x, pixel) in pixels.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let hidden = bits.is_some_and(|bits| bits[x / 8] & (0x80 >> (x % 8)) != 0);
                pixel[3] = if hidden { 0 } else { 255 };
            }
        }
    }
}
