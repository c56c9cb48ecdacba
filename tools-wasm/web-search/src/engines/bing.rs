//! Bing.

use scorpiox_tool_kit::web::Response;

use crate::engine::{Access, Answer, Engine, Family};
use crate::page::{self, Shape};
use crate::request::{Template, Value};
use crate::url;

pub(super) const ENGINE: Engine = Engine {
    name: "bing",
    label: "Bing",
    family: Family::Bing,
    access: Access::Open,
    base: "https://www.bing.com",
    limit_ms: 5_000,
    token: None,
    request: Template::html("/search", &[("q", Value::Query)]),
    read,
};

const SHAPE: Shape = Shape {
    result: "li.b_algo",
    ad: ".b_ad, .b_adTop",
    link: "h2 a",
    title: &["h2 a", "h2"],
    snippet: &["p"],
    address,
    // Known.
    nothing: "li.b_no",
    nothing_says: &["there are no results for"],
    // Known.
    challenge: "#turnstile-widget, .captcha_header, .captcha",
};

fn read(response: &Response) -> Answer {
    page::read(response, &SHAPE)
}

/// Decodes `/ck/a?…&u=a1ADDRESS`, in base64. `/aclk` leads to advertisers.
fn address(href: &str) -> Option<String> {
    if href.contains("/aclk?") {
        return None;
    }
    if !href.contains("/ck/a?") {
        return url::absolute(href);
    }
    let wrapped = url::parameter(href, "u")?;
    let target = url::base64url(wrapped.strip_prefix("a1")?)?;
    url::absolute(&target)
}
