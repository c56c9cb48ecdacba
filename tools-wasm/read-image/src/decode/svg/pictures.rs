//! Pictures in a drawing: decoded by the same decoders under the same limits, then handed on
//! small. What cannot be shown is counted and left out.

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

/// Most pixels that are decoded for one drawing.
const MAX_PIXELS: u64 = 60_000_000;
/// Most pictures; each is kept in at most 700 KB.
const MAX_PICTURES: u64 = 40;
/// Longest edge with which a picture is kept.
const KEPT_EDGE: u32 = 1024;
/// What the drawing itself may take beside the decoding of one picture, in bytes.
const BESIDE: usize = 128 * 1024 * 1024;

/// Counts of pictures.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    shown: AtomicU64,
    pixels: AtomicU64,
    external: AtomicU64,
    left_out: AtomicU64,
}

impl Pictures {
    /// Decides about each picture that a drawing names.
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

    /// What was left out.
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
