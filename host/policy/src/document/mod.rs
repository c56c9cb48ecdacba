//! TOML documents that are parsed with exact error messages and rendered with sources.
//!
//! Every key and value knows its line and its name, so that mistakes can be reported precisely. [`Document`],
//! [`Section`] and [`Entry`] are used for parsing. [`number`], [`size`] and [`list`] parse common values,
//! [`Problem`] describes a mistake, and [`Page`] renders a document, each line with its source. The meaning
//! of the keys is left to the caller.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod page;
mod problem;
mod section;
mod value;

pub use page::{Page, quote};
pub use problem::Problem;
pub use section::{Document, Entry, Section};
pub use value::{list, number, show_size, size};
