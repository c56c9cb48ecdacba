//! What a component may request of the client, and what comes back: in one place, whoever carries it.

use scorpiox_ask::{Fields, Filled};
use serde_json::Value;

/// Most roots that are taken.
const MAX_ROOTS: usize = 100;
/// Longest address or name of a root, in bytes.
const MAX_ROOT_BYTES: usize = 4096;
/// Longest answer of a model, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Kinds of requests that a client takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// It shows forms to the person.
    pub forms: bool,
    /// It lets its model be asked.
    pub model: bool,
    /// It says which folders it works on.
    pub roots: bool,
}

impl Abilities {
    /// Those of these that the others do not have.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self {
            forms: self.forms && !others.forms,
            model: self.model && !others.model,
            roots: self.roots && !others.roots,
        }
    }

    /// What the protocol calls them.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [(self.forms, "elicitation"), (self.model, "sampling"), (self.roots, "roots")];
        all.into_iter().filter_map(|(is_one, name)| is_one.then_some(name))
    }
}

/// Ends a run that needs what the client cannot do.
#[derive(Debug, thiserror::Error)]
#[error("the client lacks what the tool needs: {}", .0.names().collect::<Vec<_>>().join(", "))]
pub struct Lacks(pub Abilities);

/// One request, checked.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientRequest {
    /// The person is to fill in a form.
    Form {
        /// Who asks, and what.
        message: String,
        /// The form.
        fields: Fields,
    },
    /// The model is to answer: the parameters of `sampling/createMessage`.
    Model(Value),
    /// The client is to say which folders it works on.
    Roots,
}

/// An answer to a request, checked.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// What the person did with the form.
    Form(Filled),
    /// What the model said.
    Model(String),
    /// The folders.
    Roots(Vec<Root>),
}

/// A folder that the client works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its address.
    pub uri: String,
    /// A name for people.
    pub name: Option<String>,
}

/// Why requests have no answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// The client answers once the call has ended, and calls again.
    Later,
    /// The call is to stop.
    Cancelled,
    /// The client does not do that.
    Unavailable(String),
    /// The client refused, or said what is no answer.
    Refused(String),
}

impl ClientRequest {
    /// What a client has to be able to do for it.
    pub fn needs(&self) -> Abilities {
        match self {
            Self::Form { .. } => Abilities { forms: true, ..Abilities::default() },
            Self::Model(_) => Abilities { model: true, ..Abilities::default() },
            Self::Roots => Abilities { roots: true, ..Abilities::default() },
        }
    }

    /// Reads what a client says; says why it is no answer to this request.
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

/// The text of a model's answer, which is one piece of content or a list of them.
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
