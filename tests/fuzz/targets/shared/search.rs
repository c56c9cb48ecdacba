//! Runs a search whose engines all return the same page.

use std::cell::Cell;

use scorpiox_tool_kit::memory::{MemoryClient, MemoryStore, Silent};
use scorpiox_tool_kit::web::{Rendered, Request, Response, Web, WebError};
use serde_json::Value;

struct Site<'a> {
    body: &'a [u8],
    status: u16,
    asked: Vec<(u32, String)>,
    count: u32,
}

impl Web for Site<'_> {
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
        Some((id, Ok(Response { url, status: self.status, headers: Vec::new(), body: self.body.to_vec() })))
    }

    fn render(&mut self, _: &str, _: u32) -> Result<Rendered, WebError> {
        Err(WebError::NoBrowser("none".to_owned()))
    }
}

/// Returns the results, and asserts that they have web URLs and displayable text.
pub fn search(body: &[u8], status: u16) -> Vec<Value> {
    let mut site = Site { body, status, asked: Vec::new(), count: 0 };
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
    let results = data["results"].as_array().expect("a list");
    for result in results {
        let url = result["url"].as_str().expect("a URL");
        assert!(url.starts_with("http://") || url.starts_with("https://"), "{url}");
    }
    results.clone()
}
