//! A decoded picture.

use image::metadata::Orientation;

use crate::format::Format;

/// Pixels in memory: four bytes each (red, green, blue, alpha; colour not multiplied), by rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pixels {
    pub width: u32,
    pub height: u32,
    pub rgba: Vec<u8>,
    /// No pixel is transparent.
    pub opaque: bool,
}

impl Pixels {
    /// The pixels one by one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = [u8; 4]> + '_ {
        self.rgba.as_chunks::<4>().0.iter().copied()
    }

    /// Turned as `orientation` says.
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

/// What a decoder makes of a file.
#[derive(Debug)]
pub(crate) struct Picture {
    pub format: Format,
    /// Width and height as the file says them.
    pub size: (u32, u32),
    /// How the pixels must be turned to be upright.
    pub orientation: Orientation,
    /// At least as long as what is sent, or the whole.
    pub pixels: Pixels,
    /// A client may get the file itself: it is upright, one picture, in common colours.
    pub plain: bool,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// The orientation that EXIF data give; upright when they say none.
pub(crate) fn orientation(exif: Option<&[u8]>) -> Orientation {
    exif.and_then(Orientation::from_exif_chunk).unwrap_or(Orientation::NoTransforms)
}
