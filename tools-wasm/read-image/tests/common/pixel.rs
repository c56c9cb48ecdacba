//! Images by formula.

/// Returns a pixel of smooth colors with noise, as in a photo. The upper left corner is red, the upper right
/// corner green, and the lower left corner blue.
pub(crate) fn photo_pixel(x: u32, y: u32, width: u32, height: u32) -> [u8; 3] {
    match (x * 4 / width, y * 4 / height) {
        (0, 0) => [255, 0, 0],
        (3, 0) => [0, 255, 0],
        (0, 3) => [0, 0, 255],
        _ => {
            let noise = x.wrapping_mul(2_654_435_761).wrapping_add(y.wrapping_mul(2_246_822_519));
            let noise = (noise ^ (noise >> 15)).wrapping_mul(2_246_822_519) >> 28;
            [x * 200 / width + noise, y * 200 / height + noise, 100 + noise].map(|value| value as u8)
        }
    }
}
