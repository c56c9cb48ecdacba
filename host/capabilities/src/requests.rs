//! Requests that a component can make to the client, and their answers, independent of the transport.

use scorpiox_questions::{Fields, Filled};
use serde_json::Value;

/// Maximum number of accepted roots.
const MAX_ROOTS: usize = 100;
/// Maximum length of a root's URI or name, in bytes.
const MAX_ROOT_BYTES: usize = 4096;
/// Maximum length of a model's answer, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Kinds of requests that a client supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// `true` if the client can show forms to the user.
    pub forms: bool,
    /// `true` if the client gives access to its model.
    pub model: bool,
    /// `true` if the client can list its roots.
    pub roots: bool,
}

impl Abilities {
    /// Returns those of these abilities that `others` does not contain.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self {
            forms: self.forms && !others.forms,
            model: self.model && !others.model,
            roots: self.roots && !others.roots,
        }
    }

    /// Returns the names of the abilities in the protocol.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [(self.forms, "elicitation"), (self.model, "sampling"), (self.roots, "roots")];
        all.into_iter().filter_map(|(is_one, name)| is_one.then_some(name))
    }
}

/// Ends a run that needs an ability which the client lacks.
#[derive(Debug, thiserror::Error)]
#[error("the client lacks what the tool needs: {}", .0.names().collect::<Vec<_>>().join(", "))]
pub struct Lacks(pub Abilities);

/// A validated request.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientRequest {
    /// Form for the user to fill in.
    Form {
        /// Message with the requester and the question.
        message: String,
        /// Fields of the form.
        fields: Fields,
    },
    /// Request to the model: the parameters of `sampling/createMessage`.
    Model(Value),
    /// Request for the client's roots.
    Roots,
}

/// A validated answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Outcome of the form.
    Form(Filled),
    /// Answer of the model.
    Model(String),
    /// Roots of the client.
    Roots(Vec<Root>),
}

/// A folder that the client works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// URI of the folder.
    pub uri: String,
    /// Display name of the folder.
    pub name: Option<String>,
}

/// Reason why requests have no answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// The client answers after the end of the call, and repeats it.
    Later,
    /// The call was cancelled.
    Cancelled,
    /// The client does not support the request.
    Unavailable(String),
    /// The client refused, or sent an invalid answer.
    Refused(String),
}

impl ClientRequest {
    /// Returns the abilities that a client needs for the request.
    pub fn needs(&self) -> Abilities {
        match self {
            Self::Form { .. } => Abilities { forms: true, ..Abilities::default() },
            Self::Model(_) => Abilities { model: true, ..Abilities::default() },
            Self::Roots => Abilities { roots: true, ..Abilities::default() },
        }
    }

    /// Parses a client's answer; fails with the reason if it does not answer this request.
    pub fn read(&self, answer: &Value) -> Result<Answer, String> {
        match self {
            Self::Form { fields, .. } => {
                fields.filled(answer).map(Answer::Form).map_err(|error| error.to_string())
            }
            Self::Model(_) => model_text(answer).map(Answer::Model),
            Self::Roots => roots(answer).map(Answer::Roots),
        }
    }
}

/// Returns the text of a model's answer, which consists of one content block or a list of them.
pub(super) fn model_text(answer: &Value) -> Result<String, String> {
    let pieces = match &answer["content"] {
        Value::Array(pieces) => pieces.as_slice(),
        piece => std::slice::from_ref(piece),
    };
    let texts: Vec<_> = pieces.iter().filter_map(|piece| piece["text"].as_str()).collect();
    let length: usize = texts.iter().map(|text| text.len()).sum();
    match length {
        _ if texts.is_empty() => Err("the client's answer has no text".to_owned()),
        length if length > MAX_ANSWER_BYTES => {
            Err(format!("the model's answer has {length} bytes; the limit is {MAX_ANSWER_BYTES}"))
        }
        _ => Ok(texts.concat()),
    }
}

fn roots(answer: &Value) -> Result<Vec<Root>, String> {
    let listed = answer["roots"].as_array().ok_or("the client's answer has no roots")?;
    let root = |root: &Value| {
        let (uri, name) = (root["uri"].as_str()?, root["name"].as_str());
        let fits = uri.len() + name.map_or(0, str::len) <= MAX_ROOT_BYTES;
        fits.then(|| Root { uri: uri.to_owned(), name: name.map(str::to_owned) })
    };
    let roots: Option<Vec<_>> = listed.iter().take(MAX_ROOTS).map(root).collect();
    roots.ok_or_else(|| "a root has no usable uri".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_of_the_kind_that_was_requested() {
        let model = ClientRequest::Model(json!({}));
        let text = json!({ "role": "assistant", "content": { "type": "text", "text": "Paris" } });
        assert_eq!(model.read(&text), Ok(Answer::Model("Paris".to_owned())));
        let listed = json!({ "roots": [{ "uri": "file:///a", "name": "A" }, { "uri": "file:///b" }] });
        let Ok(Answer::Roots(roots)) = ClientRequest::Roots.read(&listed) else { panic!("roots") };
        assert_eq!((roots.len(), roots[0].name.as_deref(), &*roots[1].uri), (2, Some("A"), "file:///b"));
        for answer in
            [json!(12345), json!(null), json!({}), json!({ "content": [] }), json!({ "roots": [{}] })]
        {
            assert!(model.read(&answer).is_err() && ClientRequest::Roots.read(&answer).is_err(), "{answer}");
        }
        let long = json!({ "content": { "text": "x".repeat(300_000) } });
        assert!(model.read(&long).expect_err("refused").contains("the limit is 262144"));
    }

    #[test]
    fn what_is_lacking_is_named_as_the_protocol_does() {
        let all = Abilities { forms: true, model: true, roots: true };
        let lacking = all.without(Abilities { model: true, ..Abilities::default() });
        assert_eq!(lacking.names().collect::<Vec<_>>(), ["elicitation", "roots"]);
        assert_eq!(all.without(all), Abilities::default());
    }
}
