//! Yahoo, with Bing's results.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::page::{self, Shape};
use crate::request::{Template, Value};
use crate::url;

pub(super) const ENGINE: Engine = Engine {
    name: "yahoo",
    label: "Yahoo",
    family: Family::Bing,
    access: Access::Open,
    base: "https://search.yahoo.com",
    limit_ms: 5_000,
    token: None,
    request: Template::html("/search", &[("p", Value::Query)]),
    read,
};

const SHAPE: Shape = Shape {
    result: "div.algo-sr",
    ad: ".ads, [data-adid]",
    link: ".compTitle a",
    title: &["h3 span", "h3", ".compTitle a"],
    snippet: &[".compText"],
    address,
    // Assumed: the class. The sentence is known.
    nothing: ".no-results, .zrp",
    nothing_says: &["we did not find results for"],
    // Assumed.
    challenge: "#captcha, .captcha",
};

fn read(response: &Response) -> Answer {
    page::read(response, &SHAPE)
}

/// Decodes `…/RU=ADDRESS/RK=…`. Advertisements lead to Bing's click counter.
fn address(href: &str) -> Option<String> {
    let target = match href.split_once("/RU=") {
        Some((_, after)) => url::decode(after.split("/RK=").next()?.split("/RS=").next()?),
        None => url::absolute(href)?,
    };
    let paid = target.contains("bing.com/aclick") || target.contains("search.yahoo.com/cbclk");
    (!paid).then_some(target)
}
