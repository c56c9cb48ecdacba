//! Determines the answer that the protocol requires for any line, independently of the program's
//! implementation.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Maximum accepted nesting depth.
const MAX_DEPTH: usize = 128;

/// Required reaction to a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// No answer: a notification, a response, a blank line.
    Nothing,
    /// An error with a null ID and one of these codes.
    Refused(&'static [i64]),
    /// An error -32600 with this ID or a null ID.
    BadEnvelope(Value),
    /// A single answer with this ID that matches the fit.
    Answer(Value, Fit),
}

/// Answers that are acceptable for a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fit {
    /// Any answer: the mistake is at a position that the server need not check.
    Any,
    /// An error with one of these codes.
    Error(&'static [i64]),
    /// A tool error or an error about invalid parameters.
    ToolError,
}

impl Fit {
    fn allows(self, answer: &Value) -> bool {
        let code = answer["error"]["code"].as_i64();
        match self {
            Self::Any => answer.get("result").is_some() != code.is_some(),
            Self::Error(codes) => code.is_some_and(|code| codes.contains(&code)),
            Self::ToolError => answer["result"]["isError"] == true || code == Some(-32602),
        }
    }
}

/// Returns the required reaction to this line, which excludes its terminator.
pub fn expected(line: &[u8]) -> Expected {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return Expected::Nothing;
    }
    let Ok(text) = std::str::from_utf8(line) else { return Expected::Refused(&[-32700]) };
    if depth(text) > MAX_DEPTH || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Expected::Refused(&[-32700]);
    }
    if !text.trim_start().starts_with('{') {
        return Expected::Refused(&[-32600]);
    }
    match serde_json::from_str::<Members>(text) {
        Ok(members) => envelope(&members),
        // A member name that is not valid text.
        Err(_) => Expected::Refused(&[-32700, -32600]),
    }
}

fn envelope(members: &Members) -> Expected {
    const KNOWN: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
    let count = |name: &&str| members.0.iter().filter(|(key, _)| key == name).count();
    let raw = |name: &str| members.0.iter().find(|(key, _)| key == name).map(|(_, raw)| raw.get());
    if KNOWN.iter().any(|name| count(name) > 1) {
        let known = raw("id").filter(|_| count(&"id") == 1).and_then(id);
        return known.map_or(Expected::Refused(&[-32600]), Expected::BadEnvelope);
    }
    let there = |name: &str| raw(name).filter(|text| *text != "null");
    // Parsers disagree about text with a lone surrogate.
    let is_broken_text = |text: &str| text.starts_with('"') && serde_json::from_str::<String>(text).is_err();
    if ["jsonrpc", "method"].iter().any(|name| raw(name).is_some_and(is_broken_text)) {
        return Expected::Refused(&[-32700, -32600]);
    }
    let id = match raw("id") {
        None => None,
        Some(text) => match id(text) {
            Some(id) => Some(id),
            None if text == "null" && there("method").is_none() && there("error").is_some() => {
                Some(Value::Null)
            }
            None => return Expected::Refused(&[-32600]),
        },
    };
    let wrong = || id.clone().map_or(Expected::Refused(&[-32600]), Expected::BadEnvelope);
    let string = |name: &str| raw(name).and_then(|text| serde_json::from_str::<String>(text).ok());
    if string("jsonrpc").as_deref() != Some("2.0") {
        return wrong();
    }
    let Some(method) = string("method") else {
        let is_response = there("result").is_some() != there("error").is_some();
        return if there("method").is_none() && is_response && id.is_some() {
            Expected::Nothing
        } else {
            wrong()
        };
    };
    if there("params").is_some_and(|text| !text.starts_with(['{', '['])) {
        return wrong();
    }
    match id {
        None => Expected::Nothing,
        Some(id) if ["ping", "tools/list", "tools/call"].contains(&&*method) => {
            Expected::Answer(id, Fit::Any)
        }
        Some(id) => Expected::Answer(id, Fit::Error(&[-32601, -32602])),
    }
}

/// Parses an ID that the protocol allows: a string, or an integer of at most 64 bits.
fn id(text: &str) -> Option<Value> {
    if text.len() > 1024 {
        return None;
    }
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text).ok().map(Value::from);
    }
    text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok()
}

fn depth(text: &str) -> usize {
    let (mut now, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => {
                now += 1;
                most = most.max(now);
            }
            '}' | ']' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// All members of an object, including duplicates.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Received answers, to be matched with the expected ones.
#[derive(Default)]
pub struct Answers {
    without_id: VecDeque<Value>,
    by_id: HashMap<String, Vec<Value>>,
}

impl Answers {
    pub fn add(&mut self, answer: Value) {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        if answer["id"].is_null() {
            self.without_id.push_back(answer);
        } else {
            self.by_id.entry(answer["id"].to_string()).or_default().push(answer);
        }
    }

    /// Consumes the answer to a line. Lines must be passed in the order of sending.
    pub fn take(&mut self, expected: &Expected, line: &str) {
        match expected {
            Expected::Nothing => {}
            Expected::Refused(codes) => self.take_without_id(codes, line),
            Expected::BadEnvelope(id) => {
                if self.take_with_id(id, Fit::Error(&[-32600])).is_none() {
                    self.take_without_id(&[-32600], line);
                }
            }
            Expected::Answer(id, fit) => {
                let came = self.take_with_id(id, *fit);
                assert!(came.is_some(), "no {fit:?} but {:?} for {line}", self.by_id.get(&id.to_string()));
            }
        }
    }

    fn take_with_id(&mut self, id: &Value, fit: Fit) -> Option<Value> {
        let came = self.by_id.get_mut(&id.to_string())?;
        let at = came.iter().position(|answer| fit.allows(answer))?;
        Some(came.remove(at))
    }

    fn take_without_id(&mut self, codes: &[i64], line: &str) {
        let answer = self.without_id.pop_front();
        let code = answer.as_ref().and_then(|answer| answer["error"]["code"].as_i64());
        assert!(code.is_some_and(|code| codes.contains(&code)), "{answer:?} but not {codes:?} for {line}");
    }

    /// Asserts that no unexpected answer remains.
    pub fn assert_all_taken(&self) {
        let left: Vec<_> = self.by_id.values().flatten().chain(&self.without_id).take(5).collect();
        assert!(left.is_empty(), "answers to nothing: {left:?}");
    }
}

#[test]
fn the_oracle_knows_the_examples_of_the_json_rpc_specification() {
    let refused = |line: &str, code: i64| {
        assert!(matches!(expected(line.as_bytes()), Expected::Refused(codes) if codes == [code]), "{line}");
    };
    refused("{\"jsonrpc\": \"2.0\", \"method\": \"foobar, \"params\": \"bar\", \"baz]", -32700);
    refused("{\"jsonrpc\": \"2.0\", \"method\": 1, \"params\": \"bar\"}", -32600);
    refused("[]", -32600);
    let line = br#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#;
    assert_eq!(expected(line), Expected::Answer(json!("1"), Fit::Error(&[-32601, -32602])));
    assert_eq!(expected(br#"{"jsonrpc": "2.0", "method": "update", "params": [1,2]}"#), Expected::Nothing);
}
