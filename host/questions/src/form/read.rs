//! Parses the result that a client returns for a form.

use serde_json::{Map, Value};

use super::{FormKind, field, option_field, other_field};
use crate::answers::{Answer, AnswerError, Answers};
use crate::questions::{Question, Questions};

/// Reason why a result is not an answer. The fault is the client's, not the user's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// `action` is not accept, decline or cancel.
    #[error("the client's `action`: expected accept, decline or cancel, found {0}")]
    Action(String),
    /// The form is accepted without content.
    #[error("the client's `content`: expected an object with the form's fields, found {0}")]
    Content(String),
    /// A field has a value of the wrong type.
    #[error("the client's field `{field}`: expected {fits}, found {found}")]
    Field {
        /// Name of the field.
        field: String,
        /// Value of the field, as JSON.
        found: String,
        /// Description of the expected value.
        fits: &'static str,
    },
    /// A field has an invalid answer.
    #[error("the client's field `{field}` does not fit: {reason}")]
    Answer {
        /// Name of the field.
        field: String,
        /// Reason why the answer is invalid.
        reason: AnswerError,
    },
}

/// Parses the result of an elicitation, `{action, content}`. Decline and cancel both become
/// [`Answers::Declined`]. Fields that are `null` count as missing, and unknown fields are ignored.
pub fn read(questions: &Questions, kind: FormKind, result: &Value) -> Result<Answers, FormError> {
    match result.get("action").and_then(Value::as_str) {
        Some("decline" | "cancel") => return Ok(Answers::Declined),
        Some("accept") => {}
        _ => return Err(FormError::Action(shown(result.get("action")))),
    }
    let Some(Value::Object(content)) = result.get("content") else {
        return Err(FormError::Content(shown(result.get("content"))));
    };
    let each = questions.as_slice().iter().enumerate();
    let answers: Result<_, _> =
        each.map(|(index, question)| answer(index, question, kind, content)).collect();
    Ok(Answers::Answered(answers?))
}

fn answer(
    index: usize,
    question: &Question,
    kind: FormKind,
    content: &Map<String, Value>,
) -> Result<Answer, FormError> {
    let field = field(index);
    let labels = match (question.multi_select, kind) {
        (false, _) => text(content, &field)?.into_iter().filter(|text| !text.is_empty()).collect(),
        (true, FormKind::Modern) => texts(content, &field)?,
        (true, FormKind::Legacy2025_06) => switched_on(index, question, content)?,
    };
    let other_field = other_field(index);
    let other = text(content, &other_field)?;
    Answer::new(question, labels, other).map_err(|reason| {
        let field = if matches!(reason, AnswerError::TooLong(_)) { other_field } else { field };
        FormError::Answer { field, reason }
    })
}

fn present<'a>(content: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    content.get(field).filter(|value| !value.is_null())
}

fn text<'a>(content: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, FormError> {
    match present(content, field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(field, other, "a text")),
    }
}

fn texts<'a>(content: &'a Map<String, Value>, field: &str) -> Result<Vec<&'a str>, FormError> {
    const FITS: &str = "an array of texts";
    match present(content, field) {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            list.iter().map(|value| value.as_str().ok_or_else(|| wrong(field, value, FITS))).collect()
        }
        Some(other) => Err(wrong(field, other, FITS)),
    }
}

fn switched_on<'a>(
    index: usize,
    question: &'a Question,
    content: &Map<String, Value>,
) -> Result<Vec<&'a str>, FormError> {
    let mut labels = Vec::new();
    for (number, option) in question.options.iter().enumerate() {
        let field = option_field(index, number);
        match present(content, &field) {
            Some(Value::Bool(true)) => labels.push(option.label.as_str()),
            None | Some(Value::Bool(false)) => {}
            Some(other) => return Err(wrong(&field, other, "true or false")),
        }
    }
    Ok(labels)
}

fn wrong(field: &str, found: &Value, fits: &'static str) -> FormError {
    FormError::Field { field: field.to_owned(), found: shown(Some(found)), fits }
}

/// Formats a value as JSON, truncated to fit into an error message.
fn shown(value: Option<&Value>) -> String {
    const MAX_CHARS: usize = 80;
    let Some(value) = value else { return "missing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
