//! Exa, which requires a key.

use scorpiox_tool_kit::web::Response;
use serde_json::{Value as Json, json as object};

use crate::engine::{Access, Answer, Engine, Family, Hit};
use crate::request::{Template, Value};
use crate::{json, markup};

pub(super) const ENGINE: Engine = Engine {
    name: "exa",
    label: "Exa",
    family: Family::Exa,
    access: Access::Key,
    base: "https://api.exa.ai",
    limit_ms: 6_000,
    token: None,
    request: Template::post_json(
        "/search",
        &[("x-api-key", Value::Key(""))],
        |query| object!({"query": query, "type": "auto", "numResults": 10, "contents": {"highlights": true}}),
    ),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        Ok(answer) => json::hits(answer.get("results"), hit),
        Err(answer) => answer,
    }
}

fn hit(item: &Json) -> Option<Hit> {
    let highlights = item.get("highlights").and_then(Json::as_array).into_iter().flatten();
    let highlights: Vec<&str> = highlights.filter_map(Json::as_str).collect();
    let snippet = if highlights.is_empty() {
        json::plain(item, "text")
    } else {
        markup::plain(&highlights.join(" … "))
    };
    Hit::new(json::text(item, "url")?, &json::plain(item, "title"), &snippet)
}
