//! Images in a drawing: decoded by the same decoders with the same limits, then passed on at a reduced size.
//! Images that cannot be shown are counted and omitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use resvg::usvg::{ImageHrefResolver, ImageKind};

use crate::decode::decode_raster;
use crate::encode;
use crate::format::Format;
use crate::limits::pixels;
use crate::recognise::recognise;
use crate::resize;
use crate::room::Room;

/// Maximum number of pixels that are decoded for one drawing.
const MAX_PIXELS: u64 = 60_000_000;
/// Maximum number of images; each is stored in at most 700 KB.
const MAX_PICTURES: u64 = 40;
/// Maximum edge length of a stored image.
const KEPT_EDGE: u32 = 1024;
/// Memory that is reserved for the drawing during the decoding of an image, in bytes.
const BESIDE: usize = 128 * 1024 * 1024;

/// Counts of images.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    shown: AtomicU64,
    pixels: AtomicU64,
    external: AtomicU64,
    left_out: AtomicU64,
}

impl Pictures {
    /// Returns a resolver that decides about each image of a drawing.
    pub(super) fn resolver(&self) -> ImageHrefResolver<'_> {
        ImageHrefResolver {
            resolve_data: Box::new(|_mime, data, _options| {
                let kind = self.small(&data);
                if kind.is_none() {
                    self.left_out.fetch_add(1, Relaxed);
                }
                kind
            }),
            resolve_string: Box::new(|_href, _options| {
                self.external.fetch_add(1, Relaxed);
                None
            }),
        }
    }

    fn small(&self, data: &[u8]) -> Option<ImageKind> {
        let format = recognise(data).ok().filter(|format| *format != Format::Svg)?;
        if self.shown.load(Relaxed) >= MAX_PICTURES || self.pixels.load(Relaxed) >= MAX_PIXELS {
            return None;
        }
        let picture = decode_raster(data, format, Room::beside(BESIDE)).ok()?;
        self.shown.fetch_add(1, Relaxed);
        self.pixels.fetch_add(pixels(picture.size), Relaxed);
        let upright = resize::fit(picture.pixels, KEPT_EDGE).turned(picture.orientation);
        let encoded = encode::encode(upright);
        let data = Arc::new(encoded.data);
        Some(if encoded.mime_type == "image/png" { ImageKind::PNG(data) } else { ImageKind::JPEG(data) })
    }

    /// Returns notes about omitted images.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let external = self.external.load(Relaxed);
        if external > 0 {
            notes.push(format!("Pictures outside the file are left out: {external}."));
        }
        let left_out = self.left_out.load(Relaxed);
        if left_out > 0 {
            notes.push(format!("Pictures in the file that cannot be shown are left out: {left_out}."));
        }
        notes
    }
}
