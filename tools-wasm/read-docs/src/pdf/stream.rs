//! Decodes streams within a size limit: a few kilobytes may decompress to gigabytes.

use std::borrow::Cow;

use flate2::{Decompress, FlushDecompress, Status};
use hayro_syntax::object::{Array, Name, Stream};

/// Maximum decompressed size of a stream, in bytes. Pages full of drawings have about 10 MB.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Compressed size up to which a stream cannot exceed the limit. `MAX_UNMEASURED` is the maximum size of a
/// stream whose decompressed size cannot be measured.
const SHORT: usize = 64 * 1024;
const MAX_UNMEASURED: usize = 256 * 1024;

/// Returns the decoded content, or `None` if it is damaged or too large.
pub(super) fn decoded<'a>(stream: &Stream<'a>) -> Option<Cow<'a, [u8]>> {
    let packers: Vec<Packer> = filters(stream);
    let packed = stream.raw_data();
    let is_bounded = match packers.iter().filter(|packer| **packer != Packer::None).count() {
        0 => true,
        1 if packed.len() <= SHORT => true,
        1 if packers.first() == Some(&Packer::Flate) => fits(&packed),
        1 => packed.len() <= MAX_UNMEASURED,
        // A small stream that is compressed twice may be huge.
        _ => false,
    };
    if is_bounded { stream.decoded_data().ok() } else { None }
}

/// Compression of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packer {
    None,
    Flate,
    Other,
}

fn filters(stream: &Stream<'_>) -> Vec<Packer> {
    let dict = stream.dict();
    let packer = |name: Name<'_>| match name.as_str() {
        "FlateDecode" | "Fl" => Packer::Flate,
        "LZWDecode" | "LZW" | "RunLengthDecode" | "RL" => Packer::Other,
        _ => Packer::None,
    };
    let of = |key: &str| match dict.get::<Array<'_>>(key) {
        Some(names) => names.iter::<Name<'_>>().map(packer).collect(),
        None => dict.get::<Name<'_>>(key).map(packer).into_iter().collect::<Vec<_>>(),
    };
    let filters = of("Filter");
    if filters.is_empty() { of("F") } else { filters }
}

/// Returns `true` if compressed bytes decompress to at most the limit.
fn fits(packed: &[u8]) -> bool {
    const ZLIB: u8 = 8;
    let has_header = packed.first().is_some_and(|first| first & 0x0f == ZLIB);
    let mut unpacker = Decompress::new(has_header);
    let mut out = vec![0; SHORT];
    loop {
        let at = usize::try_from(unpacker.total_in()).unwrap_or(usize::MAX);
        let before = (unpacker.total_in(), unpacker.total_out());
        let rest = packed.get(at..).unwrap_or_default();
        let status = unpacker.decompress(rest, &mut out, FlushDecompress::None);
        let is_same = before == (unpacker.total_in(), unpacker.total_out());
        if unpacker.total_out() > MAX_BYTES {
            return false;
        }
        // Damaged data is read up to the damage.
        if is_same || !matches!(status, Ok(Status::Ok)) {
            return true;
        }
    }
}
