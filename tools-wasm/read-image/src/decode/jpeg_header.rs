//! Properties of a JPEG file that are known before decoding: kind, components, number of scans.

use crate::format::Format;
use crate::limits::pixels;
use crate::problem::Problem;

/// Size of the coefficients of a block of 8 × 8 samples, in bytes.
const BLOCK_BYTES: u64 = 128;

/// Properties that determine the memory and time for decoding.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub size: (u32, u32),
    /// Code of the frame marker: 0 baseline, 1 extended, 2 progressive, 3 lossless, …
    pub kind: u8,
    /// Horizontal and vertical sampling factors.
    pub sampling: Vec<(u8, u8)>,
    /// Number of scans.
    pub scans: u64,
    /// `true` if Adobe's marker is present: four-color values are stored inverted.
    pub adobe: bool,
}

impl Header {
    /// Reads the file's markers.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let mut header = Self::default();
        let mut at = 2;
        while let Some(marker) = next_marker(bytes, &mut at) {
            if matches!(marker, 0x01 | 0xd0..=0xd8) {
                continue;
            }
            if marker == 0xd9 {
                break;
            }
            let segment = segment(bytes, &mut at)?;
            match marker {
                0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) && header.sampling.is_empty() => {
                    header.frame(marker - 0xc0, segment)?;
                }
                0xda => header.scans += 1,
                0xee if segment.starts_with(b"Adobe") => header.adobe = true,
                _ => {}
            }
        }
        if header.sampling.is_empty() {
            return Err(early());
        }
        Ok(header)
    }

    fn frame(&mut self, kind: u8, segment: &[u8]) -> Result<(), Problem> {
        let &[_precision, h1, h0, w1, w0, count, ref components @ ..] = segment else { return Err(early()) };
        let edge = |high, low| u32::from(u16::from_be_bytes([high, low]));
        self.kind = kind;
        self.size = (edge(w1, w0), edge(h1, h0));
        let (components, _) = components.as_chunks::<3>();
        self.sampling = components.iter().take(count.into()).map(|&[_, hv, _]| (hv >> 4, hv & 15)).collect();
        Ok(())
    }

    /// Returns the number of blocks of 8 × 8 samples in all components.
    pub(crate) fn blocks(&self) -> u64 {
        let largest =
            |factor: fn(&(u8, u8)) -> u8| self.sampling.iter().map(factor).max().unwrap_or(1).max(1);
        let all = u64::from(largest(|s| s.0)) * u64::from(largest(|s| s.1));
        let shares: u64 = self.sampling.iter().map(|&(h, v)| u64::from(h) * u64::from(v)).sum();
        let padded = (self.size.0.next_multiple_of(32), self.size.1.next_multiple_of(32));
        pixels(padded).div_ceil(64) * shares.max(1) / all
    }

    /// Returns the minimum number of bytes that encode the blocks: one bit for the first coefficient of each
    /// block and one for its end. Progressive files encode the ends of many blocks at once.
    pub(crate) fn least_bytes(&self) -> u64 {
        let bits = if self.kind == 2 { 1 } else { 2 };
        self.blocks() * bits / 8
    }

    /// Returns the size of the coefficients that progressive files need at once, in bytes.
    pub(crate) fn coefficients(&self) -> u64 {
        if self.kind == 2 { self.blocks() * BLOCK_BYTES } else { 0 }
    }
}

/// Returns the code of the next marker, and skips the bytes before it.
fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        *at += bytes.get(*at..)?.iter().position(|&byte| byte == 0xff)?;
        *at += bytes[*at..].iter().position(|&byte| byte != 0xff)?;
        *at += 1;
        // A 0 after a byte 255 means that the 255 is data.
        if bytes[*at - 1] != 0 {
            return Some(bytes[*at - 1]);
        }
    }
}

fn segment<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], Problem> {
    let &[high, low, ..] = bytes.get(*at..).unwrap_or_default() else { return Err(early()) };
    let end = *at + usize::from(u16::from_be_bytes([high, low])).max(2);
    let segment = bytes.get(*at + 2..end).ok_or_else(early)?;
    *at = end;
    Ok(segment)
}

fn early() -> Problem {
    Problem::damaged(Format::Jpeg, "the file ends too early")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &[u8] = &[0xff, 0xc2, 0, 17, 8, 0, 64, 0, 32, 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0];

    #[test]
    fn frames_and_scans_are_counted() {
        let scan = [0xff, 0xda, 0, 2, 1, 2, 0xff, 0, 3, 0xff, 0xd0, 4];
        let file = [&[0xff, 0xd8][..], FRAME, &scan, &scan, &[0xff, 0xd9]].concat();
        let header = Header::read(&file).expect("whole");
        assert_eq!((header.size, header.kind, header.scans), ((32, 64), 2, 2));
        assert_eq!(header.sampling, [(2, 2), (1, 1), (1, 1)]);
        assert_eq!(header.blocks(), 32 + 8 + 8);
    }

    #[test]
    fn a_file_without_a_frame_is_refused() {
        assert!(Header::read(&[0xff, 0xd8, 0xff, 0xe0, 0, 9, 1]).is_err());
        assert!(Header::read(&[0xff, 0xd8, 0xff, 0xd9]).is_err());
    }
}
