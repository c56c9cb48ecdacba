//! Shared code of the quality tests and the `quality` example: the data, and comparisons of rendered Markdown
//! that ignore its style.

pub mod data;
pub mod readability;
pub mod references;
pub mod rendered;
pub mod shingles;
pub mod turndown;
