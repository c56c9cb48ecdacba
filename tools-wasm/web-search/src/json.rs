//! Lenient parsing of JSON responses, member by member.

use scorpiox_tool_kit::web::Response;
use serde_json::Value;

use crate::engine::{Answer, Hit};
use crate::{html, markup, page};

/// Parses the response as JSON. The error is a challenge, or the reason of the failure.
pub(crate) fn parse(response: &Response) -> Result<Value, Answer> {
    if response.body.len() > html::MAX_BYTES {
        let why = format!("the answer has {} bytes, more than {}", response.body.len(), html::MAX_BYTES);
        return Err(Answer::Unreadable(why));
    }
    serde_json::from_slice(&response.body).map_err(|error| {
        if page::is_challenge(response) {
            return Answer::Challenge;
        }
        Answer::Unreadable(format!("its answer is not JSON ({error})"))
    })
}

/// Parses a list of results with `hit`. A missing list is an error, not an empty list.
pub(crate) fn hits(list: Option<&Value>, hit: impl Fn(&Value) -> Option<Hit>) -> Answer {
    match list.and_then(Value::as_array) {
        None => {
            Answer::Unreadable("its answer has no list of results; the engine may have changed".to_owned())
        }
        Some(list) if list.is_empty() => Answer::Nothing,
        Some(list) => Answer::of(list.len(), list.iter().filter_map(hit)),
    }
}

/// Creates a result from the members with these names, which may contain tags and entities.
pub(crate) fn hit(item: &Value, url: &str, title: &str, snippet: &str) -> Option<Hit> {
    Hit::new(text(item, url)?, &plain(item, title), &plain(item, snippet))
}

/// Returns a string member.
pub(crate) fn text<'a>(item: &'a Value, name: &str) -> Option<&'a str> {
    item.get(name)?.as_str()
}

/// Returns a string member without tags and entities, or an empty string.
pub(crate) fn plain(item: &Value, name: &str) -> String {
    markup::plain(text(item, name).unwrap_or_default())
}
