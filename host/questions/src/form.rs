//! The questions as a form that an MCP client shows (elicitation), and its result.
//!
//! A form is a flat object of primitive properties: question 1 is `q1`, and its free text is `q1_other`. No
//! property is required, because free text can replace a choice.
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>

mod read;
mod schema;
#[cfg(test)]
mod tests;

pub use read::{FormError, read};
pub use schema::schema;

use crate::questions::Questions;

/// Field types that a client supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormKind {
    /// Revision 2025-06-18: choices as `enum` with `enumNames`. Multiple choice is not supported, so each
    /// option becomes a boolean field (`q1_01`, `q1_02`, …).
    Legacy2025_06,
    /// Revision 2025-11-25 and later: `oneOf`, and arrays with `anyOf`.
    Modern,
}

impl FormKind {
    /// Returns the kind for a client that supports titled choices, or only the older `enum`.
    pub fn with_choices(supported: bool) -> Self {
        if supported { Self::Modern } else { Self::Legacy2025_06 }
    }
}

/// Returns the message of the form: the asker, followed by the questions.
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

/// Two digits, so that clients that sort fields keep the order.
fn option_field(question: usize, option: usize) -> String {
    format!("q{}_{:02}", question + 1, option + 1)
}
