//! Tavily, which requires a key.

use scorpiox_tool_kit::web::Response;
use serde_json::json as object;

use crate::engine::{Access, Answer, Engine, Family};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "tavily",
    label: "Tavily",
    family: Family::Tavily,
    access: Access::Key,
    base: "https://api.tavily.com",
    limit_ms: 6_000,
    token: None,
    request: Template::post_json(
        "/search",
        &[("authorization", Value::Key("Bearer "))],
        |query| object!({"query": query, "max_results": 20}),
    ),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        Ok(answer) => json::hits(answer.get("results"), |item| json::hit(item, "url", "title", "content")),
        Err(answer) => answer,
    }
}
