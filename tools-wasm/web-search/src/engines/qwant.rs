//! Qwant, over the API of its own pages.

use scorpiox_tool_kit::web::Response;
use serde_json::Value as Json;

use crate::engine::{Access, Answer, Engine, Family};
use crate::json;
use crate::request::{Template, Value};

pub(super) const ENGINE: Engine = Engine {
    name: "qwant",
    label: "Qwant",
    family: Family::Qwant,
    access: Access::Open,
    base: "https://api.qwant.com",
    limit_ms: 5_000,
    token: None,
    // The API refuses counts other than 10.
    request: Template::json(
        "/v3/search/web",
        &[
            ("q", Value::Query),
            ("count", Value::Text("10")),
            ("offset", Value::Text("0")),
            ("locale", Value::Text("en_US")),
        ],
        &[],
    ),
    read,
};

/// Error code that comes with a captcha.
const CAPTCHA: u64 = 27;

fn read(response: &Response) -> Answer {
    let answer = match json::parse(response) {
        Ok(answer) => answer,
        Err(answer) => return answer,
    };
    if json::text(&answer, "status") != Some("success") {
        return error(&answer);
    }
    let Some(blocks) = answer.pointer("/data/result/items/mainline").and_then(Json::as_array) else {
        return json::hits(None, |_| None);
    };
    // Other blocks are advertisements, news and images.
    let web = blocks.iter().filter(|block| json::text(block, "type") == Some("web"));
    let items: Vec<Json> =
        web.filter_map(|block| block.get("items")?.as_array()).flatten().cloned().collect();
    json::hits(Some(&Json::Array(items)), |item| json::hit(item, "url", "title", "desc"))
}

fn error(answer: &Json) -> Answer {
    let code = answer.pointer("/data/error_code").and_then(Json::as_u64);
    let captcha = answer.pointer("/data/error_data/captchaUrl").is_some();
    match code {
        _ if captcha => Answer::Challenge,
        Some(CAPTCHA) => Answer::Challenge,
        Some(code) => Answer::Unreadable(format!("it gives the error {code}")),
        None => Answer::Unreadable("it gives an error without a number".to_owned()),
    }
}
