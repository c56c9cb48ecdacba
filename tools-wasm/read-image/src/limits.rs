//! How much is read, held and sent. The component has 256 MiB of memory in all.

pub(crate) const MIB: u64 = 1024 * 1024;

/// Largest file, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * MIB;
/// Longest edge of a file's picture, in pixels.
pub(crate) const MAX_EDGE: u32 = 16_384;
/// Longest edge of what is sent: models scale larger ones down themselves.
pub(crate) const SENT_EDGE: u32 = 1568;
/// Most bytes of what is sent: 933,336 as base64, so that a message stays under 1 MiB.
pub(crate) const SENT_BYTES: usize = 700_000;

/// The number of pixels.
pub(crate) fn pixels((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}
