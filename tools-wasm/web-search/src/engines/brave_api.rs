//! Brave's API, which requires a key.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "brave-api",
    label: "Brave API",
    family: Family::Brave,
    access: Access::Key,
    base: "https://api.search.brave.com",
    limit_ms: 5_000,
    token: None,
    request: Template::json(
        "/res/v1/web/search",
        &[("q", Value::Query), ("count", Value::Text("20"))],
        &[("x-subscription-token", Value::Key(""))],
    ),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        // Known: a response of type `search` has no `web` member if there are no web results.
        Ok(answer) if answer.get("web").is_none() && json::text(&answer, "type") == Some("search") => {
            Answer::Nothing
        }
        Ok(answer) => {
            json::hits(answer.pointer("/web/results"), |item| json::hit(item, "url", "title", "description"))
        }
        Err(answer) => answer,
    }
}
