//! `DuckDuckGo`'s page without scripts. Its web results come from Bing.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::page::{self, Shape};
use crate::request::{Template, Value};
use crate::url;

pub(super) const ENGINE: Engine = Engine {
    name: "duckduckgo",
    label: "DuckDuckGo",
    family: Family::Bing,
    access: Access::Open,
    base: "https://html.duckduckgo.com",
    limit_ms: 5_000,
    token: None,
    request: Template::form(
        "/html/",
        &[("q", Value::Query), ("b", Value::Text("")), ("kl", Value::Text("wt-wt"))],
    ),
    read,
};

const SHAPE: Shape = Shape {
    result: "div.web-result",
    ad: ".result--ad",
    link: "h2 a",
    title: &["h2 a"],
    snippet: &["a.result__snippet", ".result__snippet"],
    address,
    // Known.
    nothing: ".no-results, .result--no-result",
    nothing_says: &[],
    // Known. The second selector is for the newer form, which lacks this ID on some pages.
    challenge: "#challenge-form, .anomaly-modal__title, form[action*='anomaly.js']",
};

fn read(response: &Response) -> Answer {
    page::read(response, &SHAPE)
}

/// Decodes `//duckduckgo.com/l/?uddg=ADDRESS`. `/y.js?` leads to advertisers.
fn address(href: &str) -> Option<String> {
    let is_redirect = href.starts_with("/l/?") || href.contains("duckduckgo.com/l/?");
    let target = if is_redirect { url::parameter(href, "uddg")? } else { url::absolute(href)? };
    (!target.contains("/y.js?")).then_some(target)
}
