//! Wiby, a small index of simple personal pages.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "wiby",
    label: "Wiby",
    family: Family::Wiby,
    access: Access::Open,
    base: "https://wiby.me",
    limit_ms: 4_000,
    token: None,
    request: Template::json("/json/", &[("q", Value::Query)], &[]),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        Ok(answer) => json::hits(Some(&answer), |item| json::hit(item, "URL", "Title", "Snippet")),
        Err(answer) => answer,
    }
}
