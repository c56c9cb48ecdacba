//! Scales images down with a good filter.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

use crate::picture::Pixels;

/// Returns the image with no edge longer than `edge`. An image that fits stays unchanged.
pub(crate) fn fit(pixels: Pixels, edge: u32) -> Pixels {
    let long = pixels.width.max(pixels.height);
    if long <= edge {
        return pixels;
    }
    let scaled = |length: u32| {
        let rounded = (u64::from(length) * u64::from(edge) + u64::from(long) / 2) / u64::from(long);
        u32::try_from(rounded).unwrap_or(edge).max(1)
    };
    let (width, height) = (scaled(pixels.width), scaled(pixels.height));
    let mut smaller = Image::new(width, height, PixelType::U8x4);
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
        .use_alpha(!pixels.opaque);
    let Ok(source) = ImageRef::new(pixels.width, pixels.height, &pixels.rgba, PixelType::U8x4) else {
        unreachable!("pixels have four bytes each")
    };
    if Resizer::new().resize(&source, &mut smaller, &options).is_err() {
        unreachable!("both pictures have the same kind of pixels")
    }
    Pixels { width, height, rgba: smaller.into_vec(), opaque: pixels.opaque }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gray(width: u32, height: u32) -> Pixels {
        Pixels { width, height, rgba: vec![128; (width * height * 4) as usize], opaque: false }
    }

    #[test]
    fn the_long_edge_fits_and_no_edge_vanishes() {
        let fitted = |width, height| {
            let pixels = fit(gray(width, height), 100);
            assert!(pixels.rgba.iter().all(|&byte| byte == 128));
            (pixels.width, pixels.height)
        };
        assert_eq!(fitted(100, 7), (100, 7));
        assert_eq!(fitted(300, 200), (100, 67));
        assert_eq!(fitted(2, 1000), (1, 100));
    }
}
