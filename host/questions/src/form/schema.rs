//! The form's schema.

use serde_json::{Map, Value, json};

use super::{FormKind, field, option_field, other_field};
use crate::answers::MAX_OTHER_CHARS;
use crate::questions::{Question, Questions};

/// Returns the `requestedSchema` of an elicitation.
pub fn schema(questions: &Questions, kind: FormKind) -> Value {
    let mut properties = Map::new();
    for (index, question) in questions.as_slice().iter().enumerate() {
        match kind {
            FormKind::Legacy2025_06 if question.multi_select => switches(&mut properties, index, question),
            FormKind::Legacy2025_06 => {
                let labels = labels(question);
                let details = json!({"type": "string", "enum": labels, "enumNames": labels});
                properties.insert(field(index), titled(index, question, details));
            }
            FormKind::Modern if question.multi_select => {
                let details = json!({"type": "array", "items": {"anyOf": constants(question)}});
                properties.insert(field(index), titled(index, question, details));
            }
            FormKind::Modern => {
                let details = json!({"type": "string", "oneOf": constants(question)});
                properties.insert(field(index), titled(index, question, details));
            }
        }
        properties.insert(other_field(index), other(index, question));
    }
    json!({"type": "object", "properties": properties, "required": []})
}

fn labels(question: &Question) -> Vec<&str> {
    question.options.iter().map(|option| option.label.as_str()).collect()
}

fn constants(question: &Question) -> Vec<Value> {
    labels(question).into_iter().map(|label| json!({"const": label, "title": label})).collect()
}

fn titled(index: usize, question: &Question, mut details: Value) -> Value {
    details["title"] = json!(question.title(index));
    details["description"] = json!(description(question));
    details
}

/// Returns the question and the descriptions of its options, which have no field in an option's schema.
fn description(question: &Question) -> String {
    let mut text = question.text.clone();
    for option in &question.options {
        if let Some(description) = &option.description {
            text.push_str("\n- ");
            text.push_str(&option.label);
            text.push_str(": ");
            text.push_str(&description.replace('\n', " "));
        }
    }
    text
}

/// Adds a boolean field for each option. The first field carries the question.
fn switches(properties: &mut Map<String, Value>, index: usize, question: &Question) {
    for (number, option) in question.options.iter().enumerate() {
        let mut details = json!({"type": "boolean", "title": option.label, "default": false});
        let meaning = option.description.as_deref();
        let text = match (number, meaning) {
            (0, None) => Some(question.text.clone()),
            (0, Some(meaning)) => Some(format!("{}\n- {}: {meaning}", question.text, option.label)),
            (_, meaning) => meaning.map(str::to_owned),
        };
        if let Some(text) = text {
            details["description"] = json!(text);
        }
        properties.insert(option_field(index, number), details);
    }
}

fn other(index: usize, question: &Question) -> Value {
    let text = if question.multi_select {
        format!("{}: anything else, in your own words", question.title(index))
    } else {
        format!("{}: an answer in your own words, if no option fits", question.title(index))
    };
    json!({"type": "string", "title": "Other", "description": text, "maxLength": MAX_OTHER_CHARS})
}
