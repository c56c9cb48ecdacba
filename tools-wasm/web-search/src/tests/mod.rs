//! Tests complete calls against a scripted web that advances a clock, and tests their parts.

mod breaker;
mod definition;
mod fake;
mod hostile;
mod identity;
mod merge;
mod pages;
mod rounds;
mod search;
mod settings;
mod snippet;
mod speed;
mod text;
mod url;

use scorpiox_tool_kit::web::Response;
use serde_json::Value;

use crate::engine::{Engine, Hit};
use crate::engines::ENGINES;

/// The eleven engines without requirements.
const OPEN: [&str; 11] = [
    "duckduckgo",
    "brave",
    "startpage",
    "bing",
    "mojeek",
    "qwant",
    "yahoo",
    "yep",
    "mwmbl",
    "wikipedia",
    "wiby",
];

fn engine(name: &str) -> &'static Engine {
    ENGINES.iter().find(|engine| engine.name == name).expect("a known engine")
}

/// Reads a page of `pages/` with any extension.
fn page(engine: &str, name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("pages").join(engine);
    let read = |ending: &str| std::fs::read(folder.join(format!("{name}.{ending}"))).ok();
    read("html").or_else(|| read("json")).unwrap_or_else(|| panic!("pages/{engine}/{name} is missing"))
}

fn response(status: u16, body: impl Into<Vec<u8>>) -> Response {
    Response { url: "http://engines.test/".to_owned(), status, headers: Vec::new(), body: body.into() }
}

fn hit(url: &str, title: &str, snippet: &str) -> Hit {
    Hit::new(url, title, snippet).expect("usable")
}

fn data(structured: Option<&str>) -> Value {
    serde_json::from_str(structured.expect("data")).expect("JSON")
}
