//! The envelope of a message, parsed without copying.
//!
//! `id`, `method`, `params`, `result` and `error` borrow from the line. Their contents are parsed by the
//! method's handler.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde_json::value::RawValue;

use crate::jsonrpc::id::Id;
use crate::jsonrpc::members::Members;
use crate::jsonrpc::{code, reply};

/// Maximum nesting depth of arrays and objects.
pub const MAX_DEPTH: usize = 128;

/// Maximum number of messages in a batch.
pub const MAX_BATCH: usize = 1000;

/// Content of a line.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A single message.
    Single(Message<'a>),
    /// Several messages in an array; only one protocol revision has batches.
    Batch(Batch<'a>),
}

/// The unparsed messages of an array.
#[derive(Debug)]
pub struct Batch<'a>(pub Vec<&'a RawValue>);

/// A request, a notification, or the answer to a request of this side.
#[derive(Debug)]
pub enum Message<'a> {
    /// A message that expects exactly one answer.
    Request {
        /// ID, echoed in the answer.
        id: Id<'a>,
        /// Name of the method.
        method: Cow<'a, str>,
        /// Members of the parameters, if present.
        params: Option<Members<'a>>,
    },
    /// A message that expects no answer.
    Notification {
        /// Name of the notification.
        method: Cow<'a, str>,
        /// Members of the parameters, if present.
        params: Option<Members<'a>>,
    },
    /// An answer to a request that this side sent.
    Response {
        /// ID of that request; `None` if it was null.
        id: Option<Id<'a>>,
        /// The result, or the error object, as raw JSON.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// An invalid message, with the error to answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    /// JSON-RPC error code.
    pub code: i32,
    /// Description for a reader of the client's log.
    pub message: String,
    /// ID of the request, if it could be parsed.
    pub id: Option<Id<'static>>,
}

impl Malformed {
    /// Returns the error answer.
    pub fn reply(&self) -> Vec<u8> {
        reply::error(self.id.as_ref(), self.code, &self.message, None::<&()>)
    }

    fn parse(message: impl Into<String>) -> Self {
        Self { code: code::PARSE_ERROR, message: message.into(), id: None }
    }

    fn request(message: impl Into<String>, id: Option<&Id<'_>>) -> Self {
        let id = id.map(|id| id.clone().into_owned());
        Self { code: code::INVALID_REQUEST, message: message.into(), id }
    }
}

impl<'a> Incoming<'a> {
    /// Parses a line.
    pub fn parse(line: &'a [u8]) -> Result<Self, Malformed> {
        let text = std::str::from_utf8(line)
            .map_err(|error| Malformed::parse(format!("invalid UTF-8 at byte {}", error.valid_up_to())))?;
        refuse_deep_nesting(line)?;
        match text.trim_start().as_bytes().first() {
            Some(b'[') => Batch::parse(text).map(Incoming::Batch),
            _ => Message::parse(text).map(Incoming::Single),
        }
    }
}

impl<'a> Batch<'a> {
    fn parse(text: &'a str) -> Result<Self, Malformed> {
        let batch: Self = serde_json::from_str(text).map_err(|error| {
            if error.is_data() {
                Malformed::request(format!("the batch is not usable: {error}"), None)
            } else {
                not_json(&error)
            }
        })?;
        if batch.0.is_empty() {
            return Err(Malformed::request("a batch must hold at least one message", None));
        }
        Ok(batch)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Batch<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Batch<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of messages")
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Batch<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = items.next_element::<&RawValue>()? {
                    if members.len() == MAX_BATCH {
                        return Err(de::Error::custom(format_args!("more than {MAX_BATCH} messages")));
                    }
                    members.push(member);
                }
                Ok(Batch(members))
            }
        }
        deserializer.deserialize_seq(Read)
    }
}

impl<'a> Message<'a> {
    /// Parses a single message.
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        let envelope: Envelope<'a> = serde_json::from_str(text).map_err(|e| classify(text, &e))?;
        let (has_id, id) = match envelope.id {
            Field::Absent => (false, None),
            Field::Null => (true, None),
            Field::Value(raw) => {
                let id = Id::from_json(raw.get()).map_err(|e| Malformed::request(e, None))?;
                (true, Some(id))
            }
        };
        let known_id = id.as_ref();
        if envelope.jsonrpc.as_ref().map(|s| s.0.as_ref()) != Some("2.0") {
            return Err(Malformed::request("jsonrpc must be \"2.0\"", known_id));
        }
        let Some(Str(method)) = envelope.method else {
            return response(has_id, id, envelope.result, envelope.error);
        };
        let params = envelope.params;
        match id {
            Some(id) => Ok(Self::Request { id, method, params }),
            None if has_id => Err(Malformed::request("id must not be null", None)),
            None => Ok(Self::Notification { method, params }),
        }
    }
}

fn response<'a>(
    has_id: bool,
    id: Option<Id<'a>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
) -> Result<Message<'a>, Malformed> {
    let outcome = match (result, error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(error),
        (Some(_), Some(_)) => {
            return Err(Malformed::request("a response has a result or an error, not both", None));
        }
        (None, None) => return Err(Malformed::request("method is missing", id.as_ref())),
    };
    if !has_id {
        return Err(Malformed::request("a response must have an id", None));
    }
    Ok(Message::Response { id, outcome })
}

/// Members of a message. Unknown members are ignored.
#[derive(serde::Deserialize)]
#[serde(expecting = "an object with jsonrpc, id, method and params")]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Str<'a>>,
    #[serde(borrow, default)]
    id: Field<'a>,
    #[serde(borrow)]
    method: Option<Str<'a>>,
    #[serde(borrow, default)]
    params: Option<Members<'a>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A string that borrows from the line unless it has escapes.
struct Str<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrVisitor;
        impl<'de> Visitor<'de> for StrVisitor {
            type Value = Str<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, s: &'de str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Borrowed(s)))
            }
            fn visit_str<E: de::Error>(self, s: &str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(s.to_owned())))
            }
        }
        deserializer.deserialize_str(StrVisitor)
    }
}

/// A member that may be absent, null, or present, which is distinguished for IDs.
#[derive(Default)]
enum Field<'a> {
    #[default]
    Absent,
    Null,
    Value(&'a RawValue),
}

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(if raw.get() == "null" { Field::Null } else { Field::Value(raw) })
    }
}

/// Classifies an error: JSON of the wrong shape is an invalid request, anything else is not JSON.
fn classify(text: &str, error: &serde_json::Error) -> Malformed {
    /// The ID alone, for messages that are otherwise invalid.
    #[derive(serde::Deserialize)]
    struct OnlyId<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    if error.is_data() && serde_json::from_str::<de::IgnoredAny>(text).is_ok() {
        let raw = serde_json::from_str::<OnlyId<'_>>(text).ok();
        let id = raw.and_then(|message| Id::from_json(message.id.get()).ok());
        Malformed::request(format!("not a JSON-RPC message: {error}"), id.as_ref())
    } else {
        not_json(error)
    }
}

fn not_json(error: &serde_json::Error) -> Malformed {
    Malformed::parse(format!("not valid JSON: {error}"))
}

/// Rejects nesting beyond [`MAX_DEPTH`] before a parser recurses into it.
fn refuse_deep_nesting(line: &[u8]) -> Result<(), Malformed> {
    match nested_beyond(line, MAX_DEPTH) {
        Some(at) => Err(Malformed::parse(format!("nested deeper than {MAX_DEPTH} levels at byte {at}"))),
        None => Ok(()),
    }
}

/// Returns the position where JSON is first nested deeper than `most` levels.
///
/// Most texts have fewer brackets than the limit, which a fast count detects.
pub fn nested_beyond(json: &[u8], most: usize) -> Option<usize> {
    if memchr::memchr2_iter(b'{', b'[', json).take(most + 1).count() <= most {
        return None;
    }
    let mut depth = 0usize;
    let mut at = 0;
    while at < json.len() {
        match CLASSES[usize::from(json[at])] {
            Class::Other => {}
            Class::Open => {
                depth += 1;
                if depth > most {
                    return Some(at);
                }
            }
            Class::Close => depth = depth.saturating_sub(1),
            Class::Quote => at = string_end(json, at),
        }
        at += 1;
    }
    None
}

/// Meaning of a byte for nesting.
#[derive(Clone, Copy)]
enum Class {
    Other,
    Open,
    Close,
    Quote,
}

/// A table lookup per byte is twice as fast as comparing with each bracket.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    classes[b'{' as usize] = Class::Open;
    classes[b'[' as usize] = Class::Open;
    classes[b'}' as usize] = Class::Close;
    classes[b']' as usize] = Class::Close;
    classes[b'"' as usize] = Class::Quote;
    classes
};

/// Returns the index of the closing quote of a string whose opening quote is at `start`.
fn string_end(line: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < line.len() {
        match line[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn single(line: &str) -> Message<'_> {
        match Incoming::parse(line.as_bytes()) {
            Ok(Incoming::Single(message)) => message,
            other => panic!("no single message: {other:?}"),
        }
    }

    fn refused(line: &[u8]) -> Malformed {
        Incoming::parse(line).expect_err("must be refused")
    }

    #[test]
    fn a_request_borrows_everything_from_its_line() {
        let line = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#;
        let Message::Request { id, method, params } = single(line) else { panic!("no request") };
        assert_eq!(id.as_json(), "7");
        assert!(matches!(method, Cow::Borrowed("tools/call")));
        let name = params.expect("params").get("name").expect("there").get();
        assert!(line.as_bytes().as_ptr_range().contains(&name.as_ptr()));
    }

    #[test]
    fn ids_are_kept_as_they_were_written() {
        for id in ["0", "-5", "7.0", "\"a\\u00e9\"", "9007199254740993", "18446744073709551615", "\"\""] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            let Message::Request { id: read, .. } = single(&line) else { panic!("no request") };
            assert_eq!(read.as_json(), id);
        }
    }

    #[test]
    fn ids_that_are_no_string_or_integer_are_refused() {
        for id in [
            "null",
            "1.5",
            "7.01",
            "9007199254740992.0",
            "1e3",
            "true",
            "{}",
            "[]",
            "99999999999999999999",
            "\"\\ud800\"",
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            assert_eq!(refused(line.as_bytes()).code, code::INVALID_REQUEST, "{id}");
        }
    }

    #[test]
    fn a_method_with_escapes_is_read() {
        let line = r#"{"jsonrpc":"2.0","method":"notifications\/x"}"#;
        let Message::Notification { method, .. } = single(line) else { panic!("no notification") };
        assert_eq!(method, "notifications/x");
    }

    #[test]
    fn what_is_no_json_is_a_parse_error() {
        for line in [&b"{"[..], b"nonsense", b"{\"a\":\"\xff\"}", b"{} {}", b"{\"jsonrpc\":\"2.0\",}"] {
            assert_eq!(refused(line).code, code::PARSE_ERROR, "{line:?}");
        }
    }

    #[test]
    fn json_of_the_wrong_shape_is_an_invalid_request() {
        for line in [
            "5",
            "\"x\"",
            "null",
            "{}",
            "[]",
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        ] {
            assert_eq!(refused(line.as_bytes()).code, code::INVALID_REQUEST, "{line}");
        }
    }

    #[test]
    fn a_refusal_names_the_request_it_answers() {
        for line in [r#"{"id":"abc","method":"m"}"#, r#"{"jsonrpc":"2.0","id":"abc","method":7}"#] {
            assert_eq!(refused(line.as_bytes()).id.expect("id").as_json(), "\"abc\"");
        }
    }

    #[test]
    fn nesting_is_accepted_up_to_the_limit() {
        let nested = |depth: usize| {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{open}{close}}}"#)
        };
        assert!(Incoming::parse(nested(MAX_DEPTH - 1).as_bytes()).is_ok());
        assert_eq!(refused(nested(MAX_DEPTH).as_bytes()).code, code::PARSE_ERROR);
        assert_eq!(refused("[".repeat(1_000_000).as_bytes()).code, code::PARSE_ERROR);
    }

    #[test]
    fn brackets_in_strings_do_not_nest() {
        let text = "[{\\\"".repeat(500);
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":"{text}"}}}}"#);
        assert!(matches!(single(&line), Message::Request { .. }));
    }

    #[test]
    fn a_batch_gives_its_members_raw() {
        let Ok(Incoming::Batch(batch)) = Incoming::parse(b" [{\"a\":1}, 5]") else { panic!("no batch") };
        let members: Vec<_> = batch.0.iter().map(|raw| raw.get()).collect();
        assert_eq!(members, ["{\"a\":1}", "5"]);
    }

    #[test]
    fn a_batch_has_a_bound() {
        let batch = |members: usize| format!("[{}]", vec!["1"; members].join(","));
        assert!(Incoming::parse(batch(MAX_BATCH).as_bytes()).is_ok());
        assert_eq!(refused(batch(MAX_BATCH + 1).as_bytes()).code, code::INVALID_REQUEST);
    }

    proptest! {
        #[test]
        fn no_input_panics(line in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Incoming::parse(&line);
        }

        #[test]
        fn json_like_input_never_panics(line in r#"[\[\]{}:,"\\a-z0-9 u.-]{0,200}"#) {
            let _ = Incoming::parse(line.as_bytes());
        }
    }
}
