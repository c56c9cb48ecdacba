//! Any answer of a server, in any format: a page or an error, within the size of a page.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::memory::MemoryClient;
use scorpiox_tool_kit::web::{Progress, Rendered, Request, Response, Web, WebError};
use serde_json::json;

const TYPES: [&str; 10] = [
    "text/html",
    "application/pdf",
    "application/json",
    "text/markdown",
    "",
    "text/html; charset=gbk",
    "text/xml",
    "text/csv",
    "application/yaml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
];
const FORMATS: [&str; 3] = ["markdown", "text", "html"];
/// A page, and what stands around it.
const MOST_CHARS: usize = 100_000 + 4096;

struct Server<'a> {
    content_type: &'static str,
    body: &'a [u8],
}

struct Silent;

impl Web for Server<'_> {
    fn fetch(&mut self, request: Request) -> Result<Response, WebError> {
        let headers = vec![("content-type".to_owned(), self.content_type.to_owned())];
        Ok(Response { url: request.url, status: 200, headers, body: self.body.to_vec() })
    }

    fn begin(&mut self, _request: Request) -> Result<u32, WebError> {
        Err(WebError::Cancelled)
    }

    fn next(&mut self, _timeout_ms: u32) -> Option<(u32, Result<Response, WebError>)> {
        None
    }

    fn render(&mut self, _url: &str, _wait_ms: u32) -> Result<Rendered, WebError> {
        Err(WebError::NoBrowser("There is no browser.".to_owned()))
    }
}

impl Progress for Silent {
    fn report(&mut self, _done: u32, _total: Option<u32>, _message: &str) {}
}

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, body) = input;
    let content_type = TYPES[usize::from(choice) % TYPES.len()];
    let format = FORMATS[usize::from(choice) / TYPES.len() % FORMATS.len()];
    let arguments = json!({ "url": "https://example.org/docs/x", "format": format }).to_string();
    if let Ok(output) =
        read_docs::call(&mut Server { content_type, body }, &mut Silent, &MemoryClient::default(), &arguments)
    {
        assert!(output.text.chars().count() <= MOST_CHARS);
        assert!(output.structured.is_some());
    }
});
