//! Detects TGA files. The format has no signature at its beginning, and only version 2 has one at its end. A
//! file counts as TGA only if every field of its header is plausible.

/// Size of the header.
const HEADER: usize = 18;
/// Signature at the end of version 2 files.
const FOOTER: &[u8] = b"TRUEVISION-XFILE.\0";
/// Maximum number of pixels per run-length code.
const RUN: usize = 128;
/// Divisor for the minimum size of a truncated file: a file with a smaller fraction of its pixels is not TGA.
const LEAST_PART: usize = 64;

/// Returns `true` if a file is TGA.
pub(crate) fn recognise(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<HEADER>() else { return false };
    let number = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let (has_map, kind, map_bits, bits, about) = (header[1], header[2], header[7], header[16], header[17]);
    let (map_start, map_length, pixels) = (number(3), number(5), number(12).saturating_mul(number(14)));
    let sensible_map = match has_map {
        0 => map_start == 0 && map_length == 0 && [0, 15, 16, 24, 32].contains(&map_bits),
        1 => map_length > 0 && [15, 16, 24, 32].contains(&map_bits),
        _ => false,
    };
    let sensible_pixels = match kind {
        1 | 9 => has_map == 1 && (bits == 8 || bits == 16),
        2 | 10 => [15, 16, 24, 32].contains(&bits),
        3 | 11 => bits == 8 || bits == 16,
        _ => false,
    };
    // Two bits are reserved. The lowest four bits count the attribute bits of a pixel.
    let others = about & 15;
    let attributes = match (kind, bits) {
        (2 | 10, 32) | (3 | 11, _) => [0, 8].contains(&others),
        (2 | 10, 24) => others == 0,
        _ => [0, 1, 8].contains(&others),
    };
    if !(sensible_map && sensible_pixels && attributes && about & 0xc0 == 0 && pixels > 0) {
        return false;
    }
    let data = HEADER + usize::from(header[0]) + map_length * usize::from(map_bits).div_ceil(8);
    let left = bytes.len().saturating_sub(data);
    let pixel = usize::from(bits).div_ceil(8);
    let least =
        if kind > 8 { pixels.div_ceil(RUN).saturating_mul(pixel + 1) } else { pixels.saturating_mul(pixel) };
    bytes.ends_with(FOOTER) || left.saturating_mul(LEAST_PART) >= least
}

#[cfg(test)]
mod tests {
    use super::recognise;

    /// Creates a header without a palette: kind, bits per pixel, and descriptor.
    fn header(kind: u8, bits: u8, about: u8) -> Vec<u8> {
        vec![0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 4, 0, bits, about]
    }

    #[test]
    fn a_header_must_make_sense_in_every_field() {
        let mut file = header(2, 24, 32);
        assert!(!recognise(&file), "there are no pixels");
        file.extend([0; 48]);
        assert!(recognise(&file));
        for (at, value) in
            [(1, 2), (2, 4), (2, 0), (3, 1), (5, 9), (7, 3), (12, 0), (16, 12), (17, 3), (17, 0x40)]
        {
            let mut other = file.clone();
            other[at] = value;
            assert!(!recognise(&other), "byte {at} is {value}");
        }
    }

    #[test]
    fn what_begins_with_zeros_is_no_picture_for_that() {
        assert!(!recognise(&[0; 4096]));
        let numbers: Vec<u8> = (0..400_u32).flat_map(u32::to_le_bytes).collect();
        assert!(!recognise(&numbers));
        let wide: Vec<u8> = "a\nb\n".repeat(99).encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(!recognise(&wide));
    }
}
