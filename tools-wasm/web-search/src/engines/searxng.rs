//! A `SearXNG` instance of the operator's choice. Its settings must allow the JSON format.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "searxng",
    label: "SearXNG",
    family: Family::Searxng,
    access: Access::BaseUrl,
    base: "",
    limit_ms: 6_000,
    token: None,
    request: Template::json(
        "/search",
        &[("q", Value::Query), ("format", Value::Text("json")), ("categories", Value::Text("general"))],
        &[],
    ),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        Ok(answer) => json::hits(answer.get("results"), |item| json::hit(item, "url", "title", "content")),
        Err(answer) => answer,
    }
}
