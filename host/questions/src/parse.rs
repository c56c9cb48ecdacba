//! Parses the questions, in either of two formats.

use scorpiox_text::skeleton;
use serde_json::{Map, Value};

use crate::clean::{shown_line, shown_lines};
use crate::questions::{
    At, Choice, MAX_DESCRIPTION_CHARS, MAX_HEADER_CHARS, MAX_JSON_BYTES, MAX_LABEL_CHARS, MAX_OPTIONS,
    MAX_QUESTION_CHARS, MAX_QUESTIONS, Question, Questions, QuestionsError,
};

/// Number of characters of an invalid value that an error repeats.
const SHOWN_CHARS: usize = 40;

const QUESTION_FITS: &str = r#"{"question":"…","options":["A","B"]}"#;
const OPTIONS_FIT: &str = r#"an array such as ["A","B"] or [{"label":"A","description":"…"}]"#;
const OPTION_FITS: &str = r#"a text or {"label":"A","description":"…"}"#;

impl Questions {
    /// Parses the tool's argument: `{"questions": […]}` or the bare array. Each question is either `{text,
    /// options: ["A", "B"]}` or `{question, header, options: [{label, description}], multiSelect}`. Unknown
    /// members are ignored.
    pub fn parse(questions_json: &str) -> Result<Self, QuestionsError> {
        parse(questions_json).map(Self::of_model)
    }
}

fn parse(json: &str) -> Result<Vec<Question>, QuestionsError> {
    if json.len() > MAX_JSON_BYTES {
        return Err(QuestionsError::TooLarge { bytes: json.len() });
    }
    let not_json =
        |error: serde_json::Error| QuestionsError::NotJson { reason: error.to_string(), begin: quote(json) };
    let value: Value = serde_json::from_str(json).map_err(not_json)?;
    let list = list_of_questions(&value)?;
    if list.is_empty() {
        return Err(QuestionsError::NoQuestions);
    }
    if list.len() > MAX_QUESTIONS {
        return Err(QuestionsError::TooManyQuestions { count: list.len() });
    }
    (1..).zip(list).map(|(number, question)| parse_question(number, question)).collect()
}

fn list_of_questions(value: &Value) -> Result<&[Value], QuestionsError> {
    const FITS: &str = r#"{"questions":[{"question":"…","options":["A","B"]}]}"#;
    let list = match value {
        Value::Object(members) => members.get("questions"),
        other => Some(other),
    };
    match list {
        Some(Value::Array(list)) => Ok(list),
        _ => Err(QuestionsError::Wrong { at: At::Whole, found: describe(value), fits: FITS }),
    }
}

fn parse_question(number: usize, value: &Value) -> Result<Question, QuestionsError> {
    let at = At::Question(number);
    let Value::Object(members) = value else {
        return Err(QuestionsError::Wrong { at, found: describe(value), fits: QUESTION_FITS });
    };
    let name = if present(members, "question").is_none() && present(members, "text").is_some() {
        "text"
    } else {
        "question"
    };
    let text = required_text(members, name, At::Of(number, name), MAX_QUESTION_CHARS, shown_lines)?;
    let header = optional_text(members, "header", At::Of(number, "header"), MAX_HEADER_CHARS, shown_line)?
        .filter(|header| !is_in_our_name(header));
    // Models write both spellings.
    let name = if present(members, "multi_select").is_some() { "multi_select" } else { "multiSelect" };
    let multi_select = match present(members, name) {
        None => false,
        Some(Value::Bool(several)) => *several,
        Some(other) => {
            let at = At::Of(number, name);
            return Err(QuestionsError::Wrong { at, found: describe(other), fits: "true or false" });
        }
    };
    Ok(Question { text, header, options: parse_options(number, members)?, multi_select })
}

fn parse_options(number: usize, members: &Map<String, Value>) -> Result<Vec<Choice>, QuestionsError> {
    let at = At::Of(number, "options");
    let list = match present(members, "options") {
        Some(Value::Array(list)) => list,
        Some(other) => {
            return Err(QuestionsError::Wrong { at, found: describe(other), fits: OPTIONS_FIT });
        }
        None => return Err(QuestionsError::NoOptions { question: number }),
    };
    if list.is_empty() {
        return Err(QuestionsError::NoOptions { question: number });
    }
    if list.len() > MAX_OPTIONS {
        return Err(QuestionsError::TooManyOptions { question: number, count: list.len() });
    }
    let mut options: Vec<Choice> = Vec::with_capacity(list.len());
    for (option, value) in (1..).zip(list) {
        let choice = parse_option(number, option, value)?;
        let looks = skeleton(&choice.label);
        if let Some(first) = options.iter().position(|earlier| skeleton(&earlier.label) == looks) {
            let label = choice.label;
            return Err(QuestionsError::Duplicate { question: number, option, first: first + 1, label });
        }
        options.push(choice);
    }
    Ok(options)
}

fn parse_option(question: usize, option: usize, value: &Value) -> Result<Choice, QuestionsError> {
    let at = At::Option(question, option);
    match value {
        Value::String(label) => {
            let label = checked_text(label, at, MAX_LABEL_CHARS, shown_line)?;
            Ok(Choice { label, description: None })
        }
        Value::Object(members) => {
            let member = |name| At::OfOption(question, option, name);
            let label = required_text(members, "label", member("label"), MAX_LABEL_CHARS, shown_line)?;
            let at = member("description");
            let description = optional_text(members, "description", at, MAX_DESCRIPTION_CHARS, shown_lines)?;
            Ok(Choice { label, description })
        }
        other => Err(QuestionsError::Wrong { at, found: describe(other), fits: OPTION_FITS }),
    }
}

/// Returns `true` if a header resembles the name of this program, which never asks questions itself.
fn is_in_our_name(header: &str) -> bool {
    let looks = |text: &str| skeleton(&text.to_lowercase()).to_lowercase();
    looks(header).contains(&looks("scorpiox"))
}

/// Returns a member that is present and not `null`.
fn present<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).filter(|value| !value.is_null())
}

fn required_text(
    members: &Map<String, Value>,
    name: &str,
    at: At,
    max: usize,
    clean: fn(&str) -> String,
) -> Result<String, QuestionsError> {
    match present(members, name) {
        Some(Value::String(text)) => checked_text(text, at, max, clean),
        Some(other) => Err(QuestionsError::Wrong { at, found: describe(other), fits: "a text" }),
        None => Err(QuestionsError::Missing { at, fits: "a text" }),
    }
}

fn optional_text(
    members: &Map<String, Value>,
    name: &str,
    at: At,
    max: usize,
    clean: fn(&str) -> String,
) -> Result<Option<String>, QuestionsError> {
    match present(members, name) {
        Some(Value::String(text)) if skeleton(&clean(text)).is_empty() => Ok(None),
        None => Ok(None),
        Some(_) => required_text(members, name, at, max, clean).map(Some),
    }
}

fn checked_text(text: &str, at: At, max: usize, clean: fn(&str) -> String) -> Result<String, QuestionsError> {
    let cleaned = clean(text);
    let chars = cleaned.chars().count();
    if skeleton(&cleaned).is_empty() {
        return Err(QuestionsError::Blank { at, found: quote(text), max });
    }
    if chars > max {
        return Err(QuestionsError::TooLong { at, found: quote(&cleaned), chars, max });
    }
    Ok(cleaned)
}

/// Describes a value briefly.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {}", quote(text)),
        Value::Array(list) => format!("an array of {}", list.len()),
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(members) => {
            let names: Vec<_> = members.keys().take(5).map(|name| quote(name)).collect();
            format!("an object with {}", names.join(", "))
        }
    }
}

fn quote(text: &str) -> String {
    if text.chars().count() <= SHOWN_CHARS {
        return format!("{text:?}");
    }
    format!("{:?}…", text.chars().take(SHOWN_CHARS).collect::<String>())
}

#[cfg(test)]
mod tests;
