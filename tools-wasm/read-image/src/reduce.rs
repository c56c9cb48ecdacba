//! Reduces rows to a smaller image: averages squares of pixels while rows are decoded, so that an image is
//! never completely in memory.

use crate::limits::SENT_EDGE;
use crate::picture::Pixels;

/// Samples of a pixel, one byte each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Gray,
    GrayAlpha,
    Rgb,
    Rgba,
}

impl Layout {
    /// Returns the number of bytes per pixel.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }

    fn rgba(self, pixel: &[u8]) -> [u8; 4] {
        match (self, pixel) {
            (Self::Gray, &[g]) => [g, g, g, 255],
            (Self::GrayAlpha, &[g, a]) => [g, g, g, a],
            (Self::Rgb, &[r, g, b]) => [r, g, b, 255],
            (Self::Rgba, &[r, g, b, a]) => [r, g, b, a],
            _ => unreachable!("a pixel has the bytes of its layout"),
        }
    }
}

/// Averages squares of `factor` × `factor` pixels.
#[derive(Debug)]
pub(crate) struct Reducer {
    width: u32,
    factor: u32,
    layout: Layout,
    /// Sums of a row of squares: red, green and blue times alpha, and alpha. A square has fewer than 2¹⁰
    /// pixels, so a sum is below 2²⁶.
    sums: Vec<[u32; 4]>,
    /// Number of rows in `sums`.
    summed: u32,
    pixels: Pixels,
}

impl Reducer {
    /// Creates a reducer for an image size. The result has at least the size that is sent, so that the last
    /// step uses a better filter.
    pub(crate) fn new((width, height): (u32, u32), layout: Layout) -> Self {
        let factor = (width.max(height) / SENT_EDGE).max(1);
        let (columns, rows) = (width.div_ceil(factor), height.div_ceil(factor));
        let rgba = Vec::with_capacity(columns as usize * rows as usize * 4);
        let sums = if factor > 1 { vec![[0; 4]; columns as usize] } else { Vec::new() };
        let pixels = Pixels { width: columns, height: 0, rgba, opaque: true };
        Self { width, factor, layout, sums, summed: 0, pixels }
    }

    /// Adds the next row.
    pub(crate) fn push(&mut self, row: &[u8]) {
        let row = &row[..self.width as usize * self.layout.bytes()];
        // Each layout has its own loop, so that the pixel size is constant for the compiler.
        match self.layout {
            Layout::Gray => self.push_as::<1>(row, Layout::Gray),
            Layout::GrayAlpha => self.push_as::<2>(row, Layout::GrayAlpha),
            Layout::Rgb => self.push_as::<3>(row, Layout::Rgb),
            Layout::Rgba => self.push_as::<4>(row, Layout::Rgba),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // `layout` becomes a constant of the loop
    fn push_as<const BYTES: usize>(&mut self, row: &[u8], layout: Layout) {
        let (pixels, _) = row.as_chunks::<BYTES>();
        if self.factor == 1 {
            for pixel in pixels {
                let pixel = layout.rgba(pixel);
                self.pixels.opaque &= pixel[3] == 255;
                self.pixels.rgba.extend_from_slice(&pixel);
            }
            self.pixels.height += 1;
            return;
        }
        for (sum, square) in self.sums.iter_mut().zip(pixels.chunks(self.factor as usize)) {
            for pixel in square {
                let [r, g, b, a] = layout.rgba(pixel).map(u32::from);
                *sum = [sum[0] + r * a, sum[1] + g * a, sum[2] + b * a, sum[3] + a];
            }
        }
        self.summed += 1;
        if self.summed == self.factor {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let mut left = self.width;
        for sum in &mut self.sums {
            let count = self.factor.min(left) * self.summed;
            left = left.saturating_sub(self.factor);
            let [r, g, b, alphas] = *sum;
            let average = |colour: u32| (colour + alphas / 2).checked_div(alphas).unwrap_or(0);
            let alpha = (alphas + count / 2) / count;
            self.pixels.opaque &= alpha == 255;
            // Averages of bytes are bytes.
            self.pixels
                .rgba
                .extend([average(r), average(g), average(b), alpha].map(|value| value.min(255) as u8));
            *sum = [0; 4];
        }
        self.summed = 0;
        self.pixels.height += 1;
    }

    /// Returns the image after the last row.
    pub(crate) fn finish(mut self) -> Pixels {
        if self.summed > 0 {
            self.flush();
        }
        self.pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pictures_are_kept() {
        let mut reducer = Reducer::new((2, 1), Layout::GrayAlpha);
        reducer.push(&[10, 255, 20, 7]);
        let pixels = reducer.finish();
        assert_eq!(pixels.rgba, [10, 10, 10, 255, 20, 20, 20, 7]);
        assert!(!pixels.opaque);
    }

    #[test]
    fn squares_are_averaged_and_the_last_ones_are_smaller() {
        let mut reducer = Reducer::new((2 * SENT_EDGE + 1, 3), Layout::Gray);
        for value in [0, 100, 30] {
            let mut row = vec![value; 2 * SENT_EDGE as usize + 1];
            row[1] = 200;
            reducer.push(&row);
        }
        let pixels = reducer.finish();
        assert_eq!((pixels.width, pixels.height, pixels.opaque), (SENT_EDGE + 1, 2, true));
        assert_eq!(pixels.rgba[..8], [125, 125, 125, 255, 50, 50, 50, 255]);
        assert_eq!(pixels.rgba[pixels.rgba.len() - 4..], [30, 30, 30, 255]);
    }

    #[test]
    fn transparent_pixels_do_not_colour_their_neighbours() {
        let mut reducer = Reducer::new((2 * SENT_EDGE, 1), Layout::Rgba);
        let row: Vec<u8> = [[255, 0, 0, 255], [0, 255, 0, 0]].concat().repeat(SENT_EDGE as usize);
        reducer.push(&row);
        let pixels = reducer.finish();
        assert_eq!(pixels.rgba[..4], [255, 0, 0, 128]);
    }
}
