//! English Wikipedia, over its REST search API.

use scorpiox_tool_kit::web::Response;
use serde_json::Value as Json;

use crate::engine::{Access, Answer, Engine, Family, Hit};
use crate::request::{Template, Value};
use crate::{json, url};

pub(super) const ENGINE: Engine = Engine {
    name: "wikipedia",
    label: "Wikipedia",
    family: Family::Wikipedia,
    access: Access::Open,
    base: "https://en.wikipedia.org",
    limit_ms: 4_000,
    token: None,
    request: Template::json(
        "/w/rest.php/v1/search/page",
        &[("q", Value::Query), ("limit", Value::Text("10"))],
        &[],
    ),
    read,
};

const ARTICLES: &str = "https://en.wikipedia.org/wiki/";

fn read(response: &Response) -> Answer {
    match json::parse(response) {
        Ok(answer) => json::hits(answer.get("pages"), hit),
        Err(answer) => answer,
    }
}

fn hit(item: &Json) -> Option<Hit> {
    let address = format!("{ARTICLES}{}", article(json::text(item, "key")?));
    let description = json::plain(item, "description");
    let excerpt = json::plain(item, "excerpt");
    let between = if description.is_empty() || excerpt.is_empty() { "" } else { ": " };
    Hit::new(&address, &json::plain(item, "title"), &format!("{description}{between}{excerpt}"))
}

/// Formats an article's key as in Wikipedia's own links.
fn article(key: &str) -> String {
    let part = |part: &str| {
        let encoded = url::encode(part);
        [("%28", "("), ("%29", ")"), ("%2C", ","), ("%3A", ":"), ("%27", "'"), ("%21", "!")]
            .iter()
            .fold(encoded, |text, (escape, plain)| text.replace(escape, plain))
    };
    key.split('/').map(part).collect::<Vec<_>>().join("/")
}
