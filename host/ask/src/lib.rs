//! Questions to the person: read from the model, asked in one of several ways, answered.
//!
//! Reading order: [`questions`] is what may be asked and `parse` how the model says it;
//! [`answers`] is what comes back. The ways to ask: [`form`] through the client, [`screen`] in
//! a terminal, [`launch`] to get at a terminal or a desktop dialog outside of the client, with
//! [`request`] as the files between the two processes.
//!
//! The last three are for systems with terminals as Unix has them; elsewhere the client asks. [`fields`]
//! are forms of others, of plugins, which the client alone shows.
//!
//! Invariants:
//! - [`Questions`] and [`Answers`] only exist checked, whichever way they came in, and hold no
//!   character that could act on a terminal or reorder what is read.
//! - To decline is an answer, not an error.
//! - Nothing here starts a program: [`launch`] says what would be started, and reads what that
//!   printed.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod answers;
mod clean;
pub mod fields;
pub mod form;
#[cfg(unix)]
pub mod launch;
mod parse;
pub mod questions;
#[cfg(unix)]
pub mod request;
#[cfg(unix)]
pub mod screen;

pub use answers::{Answer, AnswerError, Answers};
pub use fields::{Fields, FieldsError, Filled};
pub use form::FormKind;
pub use questions::{Asker, Choice, Question, Questions, QuestionsError};
