//! Google's API. Its key has two parts, `KEY:CX`: the API key and the ID of a programmable search engine.

use scorpiox_tool_kit::web::Response;
use serde_json::Value as Json;

use crate::engine::{Access, Answer, Engine, Family};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "google",
    label: "Google",
    family: Family::Google,
    access: Access::Key,
    base: "https://customsearch.googleapis.com",
    limit_ms: 5_000,
    token: None,
    request: Template::json(
        "/customsearch/v1",
        &[("key", Value::KeyHead), ("cx", Value::KeyTail), ("q", Value::Query), ("num", Value::Text("10"))],
        &[],
    ),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        // Known: without results there is no list, and the total is the string `0`.
        Ok(answer) if answer.get("items").is_none() && total(&answer) == Some("0") => Answer::Nothing,
        Ok(answer) => json::hits(answer.get("items"), |item| json::hit(item, "link", "title", "snippet")),
        Err(answer) => answer,
    }
}

fn total(answer: &Json) -> Option<&str> {
    answer.pointer("/searchInformation/totalResults")?.as_str()
}
