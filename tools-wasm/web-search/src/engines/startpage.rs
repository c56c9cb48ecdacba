//! Startpage, with Google's results. Its home page provides a token, `sc`, without which a search counts as a
//! robot's. The results are the argument of a React component.

use scorpiox_tool_kit::web::Response;
use serde_json::{Deserializer, Value as Json};

use crate::engine::{Access, Answer, Engine, Family, Hit, Token};
use crate::request::{Template, Value};
use crate::{html, json, page};

pub(super) const ENGINE: Engine = Engine {
    name: "startpage",
    label: "Startpage",
    family: Family::Google,
    access: Access::Open,
    base: "https://www.startpage.com",
    // Two consecutive requests.
    limit_ms: 6_000,
    token: Some(Token { request: Template::html("/", &[]), read: read_token }),
    request: Template::form(
        "/sp/search",
        &[("query", Value::Query), ("cat", Value::Text("web")), ("sc", Value::Token)],
    ),
    read,
};

/// Name of the component; a comma and its properties, a JSON object, follow.
const COMPONENT: &str = "UIStartpage.AppSerpWeb";
/// Type of blocks with web results. Other blocks have news, images and advertisements.
const WEB: &str = "web-google";

fn read_token(response: &Response) -> Result<String, Answer> {
    let html = String::from_utf8_lossy(&response.body);
    let document = html::parse(&html).map_err(Answer::Unreadable)?;
    let field = document.select_single("input[name='sc']");
    let value = field.attr("value").filter(|value| !value.is_empty());
    if let Some(value) = value {
        return Ok(value.to_string());
    }
    if page::has_challenge(&document) {
        return Err(Answer::Challenge);
    }
    Err(Answer::Unreadable("its first page has no value for sc; the engine may have changed".to_owned()))
}

fn read(response: &Response) -> Answer {
    if response.body.len() > html::MAX_BYTES {
        return Answer::Unreadable(format!("the page has more than {} bytes", html::MAX_BYTES));
    }
    let html = String::from_utf8_lossy(&response.body);
    let Some(properties) = properties(&html) else {
        if page::is_challenge(response) {
            return Answer::Challenge;
        }
        return Answer::Unreadable(format!("its page has no {COMPONENT}; the engine may have changed"));
    };
    let Some(blocks) = properties.pointer("/render/presenter/regions/mainline").and_then(Json::as_array)
    else {
        return Answer::Unreadable("its page has no list of results; the engine may have changed".to_owned());
    };
    let web = blocks.iter().filter(|block| json::text(block, "display_type") == Some(WEB));
    let items: Vec<&Json> = web.filter_map(|block| block.get("results")?.as_array()).flatten().collect();
    if items.is_empty() {
        // Assumed: without Google results, the list of blocks exists but has no web block.
        return Answer::Nothing;
    }
    Answer::of(items.len(), items.iter().filter_map(|item| hit(item)))
}

/// Returns the object after the component's name. The page continues after it.
fn properties(page: &str) -> Option<Json> {
    let (_, after) = page.split_once(COMPONENT)?;
    let object = after.trim_start().strip_prefix(',')?;
    Deserializer::from_str(object).into_iter().next()?.ok()
}

fn hit(item: &Json) -> Option<Hit> {
    json::hit(item, "clickUrl", "title", "description")
}
