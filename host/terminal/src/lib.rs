//! Output to users at a terminal, and questions to them.
//!
//! Invariant: printed text cannot control the terminal. The type [`Shown`] guarantees it, since it only
//! contains escaped text. The commands determine the content of messages.

mod io;
mod report;
mod secret;
mod shown;
mod style;
mod table;
mod typed;
mod working;

pub use io::{ask, can_ask, complain, is_unread, print};
pub use report::{Detail, Report, State};
pub use secret::read_secret;
pub use shown::{Shown, columns, fitted, one_line, rows, visible, width, wrapped};
pub use style::Style;
pub use table::Table;
pub use typed::forget_input;
pub use working::{Working, size};
