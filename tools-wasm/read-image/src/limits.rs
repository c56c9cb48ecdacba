//! Limits on reading, memory and output. The component has 256 MiB of memory.

pub(crate) const MIB: u64 = 1024 * 1024;

/// Maximum size of a file, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * MIB;
/// Maximum edge length of an image in a file, in pixels.
pub(crate) const MAX_EDGE: u32 = 16_384;
/// Maximum edge length of the sent image, in pixels: models scale down larger images.
pub(crate) const SENT_EDGE: u32 = 1568;
/// Maximum size of the sent image, in bytes: 933,336 bytes as base64, so that a message stays below 1 MiB.
pub(crate) const SENT_BYTES: usize = 700_000;

/// Returns the number of pixels.
pub(crate) fn pixels((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}
