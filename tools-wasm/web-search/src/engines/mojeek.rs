//! Mojeek, which has its own index.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::page::{self, Shape};
use crate::request::{Template, Value};
use crate::url;

pub(super) const ENGINE: Engine = Engine {
    name: "mojeek",
    label: "Mojeek",
    family: Family::Mojeek,
    access: Access::Open,
    base: "https://www.mojeek.com",
    limit_ms: 5_000,
    token: None,
    request: Template::html("/search", &[("q", Value::Query)]),
    read,
};

const SHAPE: Shape = Shape {
    result: "ul.results-standard > li",
    ad: ".ad, .sponsored",
    link: "a.ob, h2 a",
    title: &["h2 a", "a.title"],
    snippet: &["p.s"],
    address: url::absolute,
    // Assumed: the sentences. No class of Mojeek is known to mark empty results.
    nothing: ".no-results",
    nothing_says: &["no pages found matching", "no results found for", "did not match any"],
    // Known to be ALTCHA, which is checked for all engines; and a page that explains itself.
    challenge: "#altcha, form.altcha",
};

fn read(response: &Response) -> Answer {
    page::read(response, &SHAPE)
}
