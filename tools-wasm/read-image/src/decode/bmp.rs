//! BMP: the variants that the `image` crate reads, and others: OS/2 headers, 24-bit run-length encoding,
//! palettes with more colors than are used, and embedded JPEG or PNG.

use std::borrow::Cow;
use std::io::Cursor;

use image::codecs::bmp::BmpDecoder;

use super::{frame, jpeg, png};
use crate::format::Format;
use crate::limits::pixels;
use crate::picture::Picture;
use crate::problem::Problem;
use crate::recognise::recognise;
use crate::reduce::{Layout, Reducer};
use crate::room::{Room, check_edges};

/// Size of the file header, which precedes the image header.
const FILE_HEADER: usize = 14;
/// Size of the common image header.
const INFO: usize = 40;
/// Other header sizes that the decoder knows.
const KNOWN: [usize; 5] = [12, 52, 56, 108, 124];

/// Compression methods that the decoder does not know or names differently.
const HUFFMAN: u32 = 3;
const RLE24: u32 = 4;
const JPEG: u32 = 4;
const PNG: u32 = 5;

/// Decodes a BMP file.
pub(crate) fn decode(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let Some(header) = Header::read(bytes) else { return plain(bytes, room) };
    match (header.compression, header.bits) {
        (RLE24, 24) => run_lengths(bytes, &header, room),
        (JPEG | PNG, 0) => inside(header.data(bytes), room),
        (HUFFMAN, 1) => Err(Problem::Variety {
            format: Format::Bmp,
            what: "it uses Huffman coding, as of a fax".to_owned(),
        }),
        _ => match header.common(bytes) {
            Cow::Borrowed(bytes) => plain(bytes, room),
            Cow::Owned(copy) => plain(&copy, room.less(copy.len())),
        },
    }
}

fn plain(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    frame::decode(frame::open(Format::Bmp, BmpDecoder::new(Cursor::new(bytes)))?, Format::Bmp, room, 0)
}

/// Decodes an image of another format inside a BMP file.
fn inside(bytes: &[u8], room: Room) -> Result<Picture, Problem> {
    let picture = match recognise(bytes) {
        Ok(Format::Jpeg) => jpeg::decode(bytes, room),
        Ok(Format::Png) => png::decode(bytes, room),
        _ => Err(Problem::damaged(Format::Bmp, "its data are neither JPEG nor PNG, as it says")),
    };
    let picture = picture.map_err(|problem| problem.within(Format::Bmp))?;
    Ok(Picture { format: Format::Bmp, ..picture })
}

/// Image header; `None` for the oldest kind, which has a different layout.
struct Header {
    /// Size of the header.
    length: usize,
    width: i32,
    height: i32,
    bits: u16,
    compression: u32,
    colours: u32,
    /// Offset of the pixels in the file.
    data: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let data = number(bytes, 10)?;
        let header = bytes.get(FILE_HEADER..)?;
        let length = number(header, 0)? as usize;
        if length < 16 {
            return None;
        }
        // OS/2 omits trailing zeros of the header.
        let header = &header[..length.min(header.len())];
        Some(Self {
            length,
            width: number(header, 4)?.cast_signed(),
            height: number(header, 8)?.cast_signed(),
            bits: u16::from_le_bytes([*header.get(14)?, *header.get(15)?]),
            compression: number(header, 16).unwrap_or(0),
            colours: number(header, 32).unwrap_or(0),
            data: data as usize,
        })
    }

    fn data<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.data..).unwrap_or_default()
    }

    /// Returns the file with a header that the decoder knows.
    fn common<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let foreign = self.length != INFO && !KNOWN.contains(&self.length);
        let most = 1_u32.checked_shl(self.bits.into()).unwrap_or(u32::MAX);
        // Addresses in the sandbox have 32 bits, and so may the values in the file, so the sums need 64 bits.
        let end = FILE_HEADER as u64 + self.length as u64;
        let palette = u64::from(self.colours) * 4 + end;
        // Colors that no pixel can refer to are harmless if the file has room for them.
        let surplus = self.bits <= 8 && self.colours > most && palette <= self.data as u64;
        let end = usize::try_from(end).ok().filter(|end| *end <= bytes.len() && (foreign || surplus));
        let Some(end) = end else { return Cow::Borrowed(bytes) };
        let mut header = bytes[FILE_HEADER..end].to_vec();
        if foreign {
            header.resize(INFO, 0);
            header[..4].copy_from_slice(&40_u32.to_le_bytes());
        }
        if surplus {
            header[32..36].copy_from_slice(&most.to_le_bytes());
        }
        let moved = (self.data as u64 + header.len() as u64).saturating_sub(self.length as u64);
        let moved = u32::try_from(moved).unwrap_or(u32::MAX).to_le_bytes();
        Cow::Owned([&bytes[..10], &moved, &header, &bytes[end..]].concat())
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.first_chunk().copied().map(u32::from_le_bytes)
}

/// Decodes 24-bit run-length encoding, which only OS/2 has.
fn run_lengths(bytes: &[u8], header: &Header, room: Room) -> Result<Picture, Problem> {
    let (Ok(width), Ok(height)) = (u32::try_from(header.width), u32::try_from(header.height)) else {
        return Err(Problem::damaged(Format::Bmp, "run lengths from the top down do not exist"));
    };
    let size = (width, height);
    check_edges(Format::Bmp, size)?;
    let needed = pixels(size) * 3;
    room.check(Format::Bmp, size, needed)?;
    let row = width as usize * 3;
    let mut canvas = Canvas { pixels: vec![0; row * height as usize], row, x: 0, y: 0 };
    canvas.fill(header.data(bytes)).map_err(|why| Problem::damaged(Format::Bmp, why))?;
    let mut reducer = Reducer::new(size, Layout::Rgb);
    canvas.pixels.chunks_exact(row).rev().for_each(|row| reducer.push(row));
    let (orientation, notes) = (image::metadata::Orientation::NoTransforms, Vec::new());
    Ok(Picture { format: Format::Bmp, size, orientation, pixels: reducer.finish(), plain: true, notes })
}

/// Rows from bottom to top, and the current write position.
struct Canvas {
    pixels: Vec<u8>,
    /// Number of bytes per row.
    row: usize,
    /// Position of the next byte in the row.
    x: usize,
    y: usize,
}

impl Canvas {
    fn fill(&mut self, data: &[u8]) -> Result<(), &'static str> {
        const EARLY: &str = "the file ends too early";
        let rows = self.pixels.len() / self.row;
        let mut rest = data;
        while self.y < rows || !rest.is_empty() {
            let (&[count, code], after) = rest.split_first_chunk().ok_or(EARLY)?;
            rest = match (count, code) {
                (0, 0) => {
                    (self.x, self.y) = (0, self.y.saturating_add(1));
                    after
                }
                (0, 1) => return Ok(()),
                (0, 2) => {
                    let (&[right, up], after) = after.split_first_chunk().ok_or(EARLY)?;
                    self.x = self.x.saturating_add(usize::from(right) * 3);
                    self.y = self.y.saturating_add(up.into());
                    after
                }
                (0, count) => {
                    let length = usize::from(count) * 3;
                    self.put(after.get(..length).ok_or(EARLY)?)?;
                    // Each code begins at an even offset.
                    after.get(length.next_multiple_of(2)..).ok_or(EARLY)?
                }
                (count, blue) => {
                    let (&[green, red], after) = after.split_first_chunk().ok_or(EARLY)?;
                    self.put(&[blue, green, red].repeat(count.into()))?;
                    after
                }
            };
        }
        Ok(())
    }

    /// Writes pixels (blue, green, red) at the current position. Pixels that exceed the row are dropped, as
    /// the decoder does for other run-length encodings.
    fn put(&mut self, pixels: &[u8]) -> Result<(), &'static str> {
        let row =
            self.pixels.chunks_exact_mut(self.row).nth(self.y).ok_or("it has more rows than it says")?;
        let room = row.get_mut(self.x..).unwrap_or_default();
        for (to, from) in room.as_chunks_mut::<3>().0.iter_mut().zip(pixels.as_chunks::<3>().0) {
            let &[blue, green, red] = from;
            *to = [red, green, blue];
        }
        self.x = self.x.saturating_add(pixels.len());
        Ok(())
    }
}
