//! A decoded image.

use image::metadata::Orientation;

use crate::format::Format;

/// Pixels in memory, by rows: four bytes each (red, green, blue, alpha; not premultiplied).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pixels {
    pub width: u32,
    pub height: u32,
    pub rgba: Vec<u8>,
    /// `true` if no pixel is transparent.
    pub opaque: bool,
}

impl Pixels {
    /// Iterates over the pixels.
    pub(crate) fn iter(&self) -> impl Iterator<Item = [u8; 4]> + '_ {
        self.rgba.as_chunks::<4>().0.iter().copied()
    }

    /// Returns the pixels rotated or flipped according to `orientation`.
    pub(crate) fn turned(self, orientation: Orientation) -> Self {
        let Self { width, height, rgba, opaque } = self;
        let Some(image) = image::RgbaImage::from_raw(width, height, rgba) else {
            unreachable!("pixels have four bytes each")
        };
        let mut image = image::DynamicImage::from(image);
        image.apply_orientation(orientation);
        let (width, height) = (image.width(), image.height());
        Self { width, height, rgba: image.into_rgba8().into_raw(), opaque }
    }
}

/// Result of a decoder.
#[derive(Debug)]
pub(crate) struct Picture {
    pub format: Format,
    /// Width and height in the file.
    pub size: (u32, u32),
    /// Transformation that makes the image upright.
    pub orientation: Orientation,
    /// Pixels, at least at the size that is sent, or the complete image.
    pub pixels: Pixels,
    /// `true` if a client may receive the file itself: it is upright, a single image, and in common colors.
    pub plain: bool,
    /// Notes for the model.
    pub notes: Vec<String>,
}

/// Returns the orientation from EXIF data; upright by default.
pub(crate) fn orientation(exif: Option<&[u8]>) -> Orientation {
    exif.and_then(Orientation::from_exif_chunk).unwrap_or(Orientation::NoTransforms)
}
