//! Validates an answer against the form.

use serde_json::{Map, Value};

use super::{Field, Fields, FieldsError, Filled, MAX_ANSWER_BYTES, wrong};

impl Fields {
    /// Parses the user's action as reported by a client: an object with `action` and, for a completed form,
    /// `content`.
    pub fn filled(&self, answer: &Value) -> Result<Filled, FieldsError> {
        match answer["action"].as_str() {
            Some("decline") => Ok(Filled::Declined),
            Some("cancel") => Ok(Filled::Dismissed),
            Some("accept") => self.accepted(&answer["content"]).map(Filled::Accepted),
            _ => wrong("it is no answer to a form: its action is none of accept, decline, cancel"),
        }
    }

    /// Returns the valid fields, ignoring unknown ones. Fails if a field is invalid or missing.
    fn accepted(&self, content: &Value) -> Result<Map<String, Value>, FieldsError> {
        let Some(content) = content.as_object() else { return wrong("the form came back without content") };
        let mut accepted = Map::new();
        for (name, field) in &self.all {
            match content.get(name) {
                None | Some(Value::Null) if self.required.contains(name) => {
                    return wrong(format!("{name} is missing"));
                }
                None | Some(Value::Null) => {}
                Some(value) if field.takes(value) => {
                    accepted.insert(name.clone(), value.clone());
                }
                Some(_) => return wrong(format!("{name} has a value that the form does not take")),
            }
        }
        let size = Value::Object(accepted.clone()).to_string().len();
        if size > MAX_ANSWER_BYTES {
            return wrong(format!("the answer has {size} bytes; the limit is {MAX_ANSWER_BYTES}"));
        }
        Ok(accepted)
    }

    /// Rejects defaults that the form itself would not accept.
    pub(super) fn check_defaults(&self, properties: &Map<String, Value>) -> Result<(), FieldsError> {
        for (name, field) in &self.all {
            let default = properties.get(name).and_then(|property| property.get("default"));
            if default.is_some_and(|default| !field.takes(default)) {
                return wrong(format!("the default of {name} is none of its values"));
            }
        }
        Ok(())
    }
}

impl Field {
    fn takes(&self, value: &Value) -> bool {
        let is_one = |options: &[String], value: &Value| {
            value.as_str().is_some_and(|text| options.iter().any(|option| option == text))
        };
        match self {
            Self::Text { least, most } => {
                value.as_str().is_some_and(|text| (*least..=*most).contains(&text.chars().count()))
            }
            Self::Number { is_whole, least, most } => value.as_f64().is_some_and(|number| {
                (!is_whole || number.fract() == 0.0)
                    && least.is_none_or(|least| number >= least)
                    && most.is_none_or(|most| number <= most)
            }),
            Self::Truth => value.is_boolean(),
            Self::OneOf(options) => is_one(options, value),
            Self::SeveralOf { options, least, most } => value.as_array().is_some_and(|chosen| {
                (*least..=*most).contains(&chosen.len())
                    && chosen.iter().all(|value| is_one(options, value))
                    && (1..chosen.len()).all(|at| !chosen[..at].contains(&chosen[at]))
            }),
        }
    }
}
