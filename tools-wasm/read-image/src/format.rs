//! Supported formats.

use std::fmt;

use serde::Serialize;

/// Hint for error messages.
pub(crate) const SUPPORTED: &str =
    "Supported are PNG, JPEG, GIF, WebP, BMP, TIFF, ICO, PNM, TGA, QOI and SVG.";

/// A supported format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
    Bmp,
    Tiff,
    Ico,
    Pnm,
    Tga,
    Qoi,
    Svg,
}

impl Format {
    /// Returns the media type if clients accept files of this format unchanged.
    pub(crate) fn sent_as(self) -> Option<&'static str> {
        match self {
            Self::Png => Some("image/png"),
            Self::Jpeg => Some("image/jpeg"),
            Self::Gif => Some("image/gif"),
            Self::WebP => Some("image/webp"),
            Self::Bmp | Self::Tiff | Self::Ico | Self::Pnm | Self::Tga | Self::Qoi | Self::Svg => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::WebP => "WebP",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
            Self::Ico => "ICO",
            Self::Pnm => "PNM",
            Self::Tga => "TGA",
            Self::Qoi => "QOI",
            Self::Svg => "SVG",
        })
    }
}
