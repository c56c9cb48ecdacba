//! Brave Search, which has its own index.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::page::{self, Shape};
use crate::request::{Template, Value};
use crate::url;

pub(super) const ENGINE: Engine = Engine {
    name: "brave",
    label: "Brave",
    family: Family::Brave,
    access: Access::Open,
    base: "https://search.brave.com",
    limit_ms: 5_000,
    token: None,
    request: Template::html("/search", &[("q", Value::Query), ("source", Value::Text("web"))]),
    read,
};

const SHAPE: Shape = Shape {
    result: "div.snippet",
    // Assumed: the usual markup of advertisements.
    ad: "[data-type='ad'], .ad",
    link: "a",
    title: &["div.title", ".title"],
    snippet: &["div.content", ".snippet-description", ".content"],
    address: url::absolute,
    // Assumed: the ID, and the sentence that the pages showed in 2024.
    nothing: "#no-results, .no-results",
    nothing_says: &["not many great matches came back for your search", "no results found for"],
    // Assumed: Brave requires a proof of work, under names that contain "captcha".
    challenge: "#captcha, .captcha, [id*='pow-captcha'], [class*='pow-captcha']",
};

fn read(response: &Response) -> Answer {
    page::read(response, &SHAPE)
}
