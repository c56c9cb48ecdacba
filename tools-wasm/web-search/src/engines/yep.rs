//! Yep, which has its own index, over the API of its own pages.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "yep",
    label: "Yep",
    family: Family::Yep,
    access: Access::Open,
    base: "https://api.yep.com",
    limit_ms: 5_000,
    token: None,
    request: Template::json("/search", &[("query", Value::Query), ("limit", Value::Text("20"))], &[]),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        // The response is `["Ok", {"results": [...]}]`.
        Ok(answer) => {
            json::hits(answer.pointer("/1/results"), |item| json::hit(item, "url", "title", "snippet"))
        }
        Err(answer) => answer,
    }
}
