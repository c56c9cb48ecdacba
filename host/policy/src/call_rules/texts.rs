//! Objects and arrays that are sent as JSON text inside a string. Tools of plugins accept such a text for the value,
//! and rules do not know the types of a tool, so they judge both: the text, and the value that it stands for.

use std::borrow::Cow;

use serde_json::Value;

use super::given::exact_arguments;

/// A text that two readers could understand differently. Every rule about it covers the call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ambiguous;

/// Returns the value at a JSON pointer, also through strings with JSON text. `None` if there is no such value.
pub(super) fn at<'a>(arguments: &'a Value, pointer: &str) -> Result<Option<Cow<'a, Value>>, Ambiguous> {
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
pub(super) fn written_out(value: &Value) -> Result<Value, Ambiguous> {
    if let Some(inner) = meant(value)? {
        // Each level escapes the quotes of the next again, so texts have few levels.
        return written_out(&inner);
    }
    Ok(match value {
        Value::Array(items) => Value::Array(items.iter().map(written_out).collect::<Result<_, _>>()?),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Ok((name.clone(), written_out(value)?)));
            Value::Object(members.collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

/// Returns the object or array for which a string stands, if it is JSON text.
pub(super) fn meant(value: &Value) -> Result<Option<Value>, Ambiguous> {
    let Some(text) = value.as_str().filter(|text| text.trim_start().starts_with(['{', '['])) else {
        return Ok(None);
    };
    match exact_arguments(text) {
        None if serde_json::from_str::<Value>(text).is_ok() => Err(Ambiguous),
        exact => Ok(exact),
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
        assert_eq!(at(&json!({ "a": r#"{"b":1,"b":2}"# }), "/a/b"), Err(Ambiguous));
        assert_eq!(written_out(&json!([r#"{"b":1,"b":2}"#])), Err(Ambiguous));
    }
}
