//! Any results of a search: addresses that are shown stay as they are when they come again, and the same result twice is one.

#![no_main]

use std::cell::Cell;
use std::fmt::Write as _;

use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::memory::{MemoryClient, MemoryStore, Silent};
use scorpiox_tool_kit::web::{Rendered, Request, Response, Web, WebError};
use serde_json::Value;

/// Most results in a page.
const MOST: usize = 8;

struct Site {
    body: String,
    asked: Vec<(u32, String)>,
    count: u32,
}

impl Web for Site {
    fn fetch(&mut self, _: Request) -> Result<Response, WebError> {
        Err(WebError::Failed("not asked for".to_owned()))
    }

    fn begin(&mut self, request: Request) -> Result<u32, WebError> {
        self.count += 1;
        self.asked.push((self.count, request.url));
        Ok(self.count)
    }

    fn next(&mut self, _: u32) -> Option<(u32, Result<Response, WebError>)> {
        let (id, url) = self.asked.pop()?;
        let body = self.body.clone().into_bytes();
        Some((id, Ok(Response { url, status: 200, headers: Vec::new(), body })))
    }

    fn render(&mut self, _: &str, _: u32) -> Result<Rendered, WebError> {
        Err(WebError::NoBrowser("none".to_owned()))
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The results of a search whose engines find these: address, title and snippet of each.
fn search<'a>(results: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> Vec<Value> {
    let mut body = String::new();
    for (address, title, snippet) in results {
        let [address, title, snippet] = [address, title, snippet].map(escaped);
        let _ = write!(
            body,
            "<div class=web-result><h2><a href=\"{address}\">{title}</a></h2><a class=result__snippet>{snippet}</a></div>"
        );
    }
    let mut site = Site { body, asked: Vec::new(), count: 0 };
    let time = Cell::new(1_700_000_000_000_u64);
    let clock = || {
        time.set(time.get() + 1);
        time.get()
    };
    let found = web_search::call(
        &mut site,
        &[],
        &mut Silent,
        &mut MemoryStore::default(),
        &MemoryClient::default(),
        &clock,
        r#"{"query":"rust"}"#,
    );
    let Ok(output) = found else { return Vec::new() };
    assert!(!output.text.chars().any(|c| c.is_control() && c != '\n'));
    let data: Value = serde_json::from_str(&output.structured.expect("data")).expect("JSON");
    data["results"].as_array().expect("a list").clone()
}

fn text<'a>(result: &'a Value, name: &str) -> &'a str {
    result[name].as_str().unwrap_or_default()
}

fuzz_target!(|results: Vec<(&str, &str, &str)>| {
    let given = || results.iter().take(MOST).map(|(path, title, text)| (*path, *title, *text));
    let addresses: Vec<String> = given().map(|(path, ..)| format!("https://{path}")).collect();
    let with_addresses =
        || addresses.iter().zip(given()).map(|(address, (_, title, text))| (address.as_str(), title, text));
    let once = search(with_addresses());
    for result in &once {
        let url = text(result, "url");
        assert!(url.starts_with("https://") || url.starts_with("http://"), "{url}");
    }
    let twice = search(with_addresses().chain(with_addresses()));
    assert_eq!(once.len(), twice.len(), "{once:#?} {twice:#?}");
    let again = search(
        once.iter().map(|result| (text(result, "url"), text(result, "title"), text(result, "snippet"))),
    );
    let urls = |all: &[Value]| all.iter().map(|result| text(result, "url").to_owned()).collect::<Vec<_>>();
    let mut left = urls(&once);
    left.retain(|url| !urls(&again).contains(url));
    assert!(left.is_empty(), "{left:?} of {once:#?} in {again:#?}");
});
