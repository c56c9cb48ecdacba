//! What the quality tests and the `quality` example share: the data, and comparisons that look
//! at what markdown is rendered as rather than at how it is written.

pub mod data;
pub mod readability;
pub mod references;
pub mod rendered;
pub mod shingles;
pub mod turndown;
