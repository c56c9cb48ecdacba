//! Questions to the user: parsed from the model's request, asked through one of several channels, and
//! answered.
//!
//! Reading order: [`questions`] defines the questions, `parse` reads them from the model, and [`answers`]
//! defines the answers. The channels are [`form`] (through the client), [`screen`] (in a terminal), and
//! [`launch`] (opens a terminal or a desktop dialog outside of the client). [`request`] defines the files
//! between the two processes.
//!
//! The last three need Unix terminals; on other systems only the client can ask. [`fields`] are forms of
//! plugins, which only the client shows.
//!
//! Invariants:
//! - [`Questions`] and [`Answers`] are always validated, whatever their source. They contain no character
//!   that could control a terminal or reorder text.
//! - Declining is an answer, not an error.
//! - Nothing here starts a program: [`launch`] returns the commands to start, and parses their output.

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
