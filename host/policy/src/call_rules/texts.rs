//! Objects and arrays that are sent as JSON text inside a string. Tools of plugins accept such a text for the value,
//! and rules do not know the types of a tool, so they judge both: the text, and the value that it stands for.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::given::exact_arguments;

/// Maximum length of a text that is compared, in bytes: the same as of a command whose programs are read.
pub(super) const MAX_TEXT_BYTES: usize = scorpiox_programs::MAX_BYTES;
/// Maximum depth of values inside each other, also through texts. Each text alone has as many.
const MAX_DEPTH: usize = 128;

/// Reason why an argument is not compared. Every rule about it covers the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unclear {
    /// Two readers could understand a text differently.
    Ambiguous,
    /// The text is too long, or has too many spellings.
    TooLong,
    /// Values are too deep in each other.
    TooDeep,
    /// All patterns and texts of the call together take too long.
    TooMuch,
}

/// Says the reason, as the predicate of a sentence about the argument.
impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguous => f.write_str("can be read in more than one way"),
            Self::TooLong => write!(f, "is longer than {MAX_TEXT_BYTES} bytes, or has too many spellings"),
            Self::TooDeep => f.write_str("is nested too deeply"),
            Self::TooMuch => f.write_str("has too much text to compare with all patterns"),
        }
    }
}

/// Returns the value at a JSON pointer, also through strings with JSON text. `None` if there is no such value.
pub(super) fn at<'a>(arguments: &'a Value, pointer: &str) -> Result<Option<Cow<'a, Value>>, Unclear> {
    let mut found = Cow::Borrowed(arguments);
    for step in pointer.split('/').skip(1) {
        let step = format!("/{step}");
        if let Some(inner) = meant(&found)? {
            found = Cow::Owned(inner);
        }
        let next = match found {
            Cow::Borrowed(value) => value.pointer(&step).map(Cow::Borrowed),
            Cow::Owned(mut value) => value.pointer_mut(&step).map(Value::take).map(Cow::Owned),
        };
        match next {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Returns a value as a tool may read it: with the value of each JSON text instead of the text, at any depth.
pub(super) fn written_out(value: &Value) -> Result<Value, Unclear> {
    written_out_below(value, MAX_DEPTH)
}

fn written_out_below(value: &Value, depth: usize) -> Result<Value, Unclear> {
    let depth = depth.checked_sub(1).ok_or(Unclear::TooDeep)?;
    let below = |value| written_out_below(value, depth);
    if let Some(inner) = meant(value)? {
        return below(&inner);
    }
    Ok(match value {
        Value::Array(items) => Value::Array(items.iter().map(below).collect::<Result<_, _>>()?),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Ok((name.clone(), below(value)?)));
            Value::Object(members.collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

/// Returns the object or array for which a string stands, if it is JSON text.
pub(super) fn meant(value: &Value) -> Result<Option<Value>, Unclear> {
    let Some(text) = value.as_str().filter(|text| text.trim_start().starts_with(['{', '['])) else {
        return Ok(None);
    };
    if text.len() > MAX_TEXT_BYTES {
        return Err(Unclear::TooLong);
    }
    match exact_arguments(text) {
        None if serde_json::from_str::<Value>(text).is_ok() => Err(Unclear::Ambiguous),
        exact => Ok(exact),
    }
}

/// Returns the text of a value: of a string itself, and of any other the JSON.
pub(super) fn text(value: &Value) -> Result<Cow<'_, str>, Unclear> {
    if let Some(text) = value.as_str() {
        return if text.len() > MAX_TEXT_BYTES { Err(Unclear::TooLong) } else { Ok(text.into()) };
    }
    let mut json = Short(Vec::new());
    serde_json::to_writer(&mut json, value).map_err(|_| Unclear::TooLong)?;
    String::from_utf8(json.0).map(Cow::from).map_err(|_| Unclear::Ambiguous)
}

/// A text that does not get too long.
struct Short(Vec<u8>);

impl Write for Short {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_TEXT_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_leads_through_texts() {
        let inner = json!({ "b/c": [{ "d": "[1" }] });
        for arguments in [
            json!({ "a": inner }),
            json!({ "a": inner.to_string() }),
            json!({ "a": format!(" \n{inner} ") }),
            json!({ "a": json!({ "b/c": inner["b/c"].to_string() }).to_string() }),
            json!({ "a": { "b/c": [inner["b/c"][0].to_string()] } }),
        ] {
            let found = at(&arguments, "/a/b~1c/0/d").unwrap();
            assert_eq!(found.as_deref(), Some(&json!("[1")), "{arguments}");
            assert_eq!(at(&arguments, "/a/b/0"), Ok(None), "{arguments}");
            assert_eq!(written_out(&arguments), Ok(json!({ "a": inner })), "{arguments}");
        }
        assert_eq!(at(&json!({ "a": "{not JSON}" }), "/a/b"), Ok(None));
        assert_eq!(at(&json!({ "a": r#"{"b":1,"b":2}"# }), "/a/b"), Err(Unclear::Ambiguous));
        assert_eq!(written_out(&json!([r#"{"b":1,"b":2}"#])), Err(Unclear::Ambiguous));
    }
    #[test]
    fn long_and_deep_values_are_not_read() {
        let long = |count: usize| format!("[{}]", " ".repeat(count - 2));
        assert_eq!(at(&json!({ "a": long(MAX_TEXT_BYTES) }), "/a/0"), Ok(None));
        assert_eq!(at(&json!({ "a": long(MAX_TEXT_BYTES + 1) }), "/a/0"), Err(Unclear::TooLong));
        assert!(at(&json!({ "a": long(MAX_TEXT_BYTES + 1) }), "/a").is_ok());
        let items = |count: usize| json!(vec![1; count]);
        assert_eq!(text(&items(MAX_TEXT_BYTES / 2 - 1)).map(|text| text.len()), Ok(MAX_TEXT_BYTES - 1));
        assert_eq!(text(&items(MAX_TEXT_BYTES / 2)), Err(Unclear::TooLong));
        assert_eq!(text(&items(8 << 20)), Err(Unclear::TooLong));
        let mut deep = json!("x");
        for _ in 0..10 {
            deep = (0..100).fold(deep, |value, _| json!([value]));
            deep = json!(deep.to_string());
        }
        assert_eq!(written_out(&deep), Err(Unclear::TooDeep));
    }
}
