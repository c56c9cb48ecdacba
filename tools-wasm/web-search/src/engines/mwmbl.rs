//! Mwmbl, a small index that volunteers maintain.

use scorpiox_tool_kit::web::Response;
use serde_json::Value as Json;

use crate::engine::{Access, Answer, Engine, Family, Hit};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "mwmbl",
    label: "Mwmbl",
    family: Family::Mwmbl,
    access: Access::Open,
    base: "https://api.mwmbl.org",
    limit_ms: 4_000,
    token: None,
    request: Template::json("/api/v1/search/", &[("s", Value::Query)], &[]),
    read,
};

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        Ok(answer) => json::hits(Some(&answer), hit),
        Err(answer) => answer,
    }
}

fn hit(item: &Json) -> Option<Hit> {
    Hit::new(json::text(item, "url")?, &joined(item, "title"), &joined(item, "extract"))
}

/// Joins a text, which is a list of plain text pieces, some of them marked as bold.
fn joined(item: &Json, name: &str) -> String {
    let pieces = item.get(name).and_then(Json::as_array).into_iter().flatten();
    pieces.filter_map(|piece| json::text(piece, "value")).collect()
}
