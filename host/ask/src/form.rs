//! The questions as a form that an MCP client shows (elicitation), and what it gives back.
//!
//! A form is a flat object of primitive properties: question 1 is `q1`, own words to it are
//! `q1_other`. Nothing is required, since own words may stand instead of a choice.
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>

mod read;
mod schema;
#[cfg(test)]
mod tests;

pub use read::{FormError, read};
pub use schema::schema;

use crate::questions::Questions;

/// Which kinds of fields a client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormKind {
    /// Revision 2025-06-18: choices as `enum` with `enumNames`, and no choice of several, which
    /// becomes a yes-or-no field for each option (`q1_01`, `q1_02`, …).
    Legacy2025_06,
    /// Revision 2025-11-25 and later: `oneOf`, and arrays with `anyOf`.
    Modern,
}

impl FormKind {
    /// The kind that goes with a protocol revision, which is named by its date.
    pub fn of_revision(revision: &str) -> Self {
        if revision < "2025-11-25" { Self::Legacy2025_06 } else { Self::Modern }
    }
}

/// The message that goes with the form: who asks, and then what they wrote.
pub fn message(questions: &Questions) -> String {
    let asker = questions.asker();
    match questions.as_slice() {
        [question] => format!("{asker} {}", question.text),
        several => {
            let lines = (1..).zip(several).map(|(number, question)| format!("\n{number}. {}", question.text));
            format!("{asker}{}", lines.collect::<String>())
        }
    }
}

fn field(question: usize) -> String {
    format!("q{}", question + 1)
}

fn other_field(question: usize) -> String {
    format!("q{}_other", question + 1)
}

/// Two digits, so that clients which sort fields keep the order.
fn option_field(question: usize, option: usize) -> String {
    format!("q{}_{:02}", question + 1, option + 1)
}
