//! What people at a terminal are shown, and what they are asked.
//!
//! Invariant: what is printed cannot act on a terminal, by its type: [`Shown`] is made of escaped text alone.
//! What is said to them is the business of the commands.

mod io;
mod report;
mod secret;
mod shown;
mod table;
mod typed;
mod working;

pub use io::{ask, can_ask, complain, is_unread, print};
pub use report::{Detail, Report};
pub use secret::read_secret;
pub use shown::{Shown, columns, fitted, one_line, rows, visible, width, wrapped};
pub use table::Table;
pub use typed::forget_input;
pub use working::{Working, size};
