//! Kagi, which requires a key.

use scorpiox_tool_kit::web::Response;
use serde_json::Value as Json;

use crate::engine::{Access, Answer, Engine, Family, Hit};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "kagi",
    label: "Kagi",
    family: Family::Kagi,
    access: Access::Key,
    base: "https://kagi.com",
    limit_ms: 6_000,
    token: None,
    request: Template::json(
        "/api/v1/search",
        &[("q", Value::Query)],
        &[("authorization", Value::Key("Bot "))],
    ),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        // API version 0 has one list for everything, and version 1 has one list per kind.
        Ok(answer) => match answer.get("data") {
            Some(Json::Array(items)) => {
                let results = items.iter().filter(|item| is_result(item)).cloned().collect();
                json::hits(Some(&Json::Array(results)), hit)
            }
            _ => json::hits(answer.pointer("/data/search"), hit),
        },
        Err(answer) => answer,
    }
}

/// Returns `true` for type 0, a result. Type 1 is a list of related searches.
fn is_result(item: &Json) -> bool {
    item.get("t").and_then(Json::as_u64).is_none_or(|kind| kind == 0)
}

fn hit(item: &Json) -> Option<Hit> {
    json::hit(item, "url", "title", "snippet")
}
