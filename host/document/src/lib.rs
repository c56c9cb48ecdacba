//! An operator's document: TOML whose every key and value knows its line and its name, so that whatever is wrong with it is
//! told as a person would say it; and the same written again, each line with its source.
//!
//! [`Document`], [`Section`] and [`Entry`] are read, [`number`], [`size`] and [`list`] read common values, [`Problem`] says what is wrong,
//! [`Page`] writes. What the keys mean is left to who reads.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod document;
mod page;
mod problem;
mod value;

pub use document::{Document, Entry, Section};
pub use page::{Page, quote};
pub use problem::Problem;
pub use value::{list, number, show_size, size};
