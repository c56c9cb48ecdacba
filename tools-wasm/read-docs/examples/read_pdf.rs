//! Writes what `ReadDocs` makes of PDF files: `cargo run --release --example read_pdf -- OUT FILE…`
//! makes `OUT/NAME.md` of each, and prints how long each took.

#![expect(clippy::print_stdout, reason = "it is a program")]

use std::path::PathBuf;
use std::time::Instant;

use scorpiox_tool_kit::memory::MemoryClient;
use scorpiox_tool_kit::web::{Progress, Rendered, Request, Response, Web, WebError};
use serde_json::json;

struct File(Vec<u8>);

struct Silent;

impl Web for File {
    fn fetch(&mut self, request: Request) -> Result<Response, WebError> {
        let headers = vec![("content-type".to_owned(), "application/pdf".to_owned())];
        Ok(Response { url: request.url, status: 200, headers, body: std::mem::take(&mut self.0) })
    }

    fn begin(&mut self, _request: Request) -> Result<u32, WebError> {
        Err(WebError::Cancelled)
    }

    fn next(&mut self, _timeout_ms: u32) -> Option<(u32, Result<Response, WebError>)> {
        None
    }

    fn render(&mut self, _url: &str, _wait_ms: u32) -> Result<Rendered, WebError> {
        Err(WebError::Cancelled)
    }
}

impl Progress for Silent {
    fn report(&mut self, _done: u32, _total: Option<u32>, _message: &str) {}
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let out = arguments.next().expect("a folder for what is read");
    std::fs::create_dir_all(&out).expect("a folder");
    for path in arguments {
        let mut web = File(std::fs::read(&path).expect("a file"));
        let start = Instant::now();
        let client = MemoryClient { room: 20_000_000, prefix: "" };
        let asked = json!({"url": "https://example.com/x.pdf"}).to_string();
        let text = match read_docs::call(&mut web, &mut Silent, &client, &asked) {
            Ok(output) => output.text,
            Err(failure) => format!("{failure:?}"),
        };
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        println!("{name}: {:.1} ms, {} characters", start.elapsed().as_secs_f64() * 1e3, text.len());
        std::fs::write(out.join(name).with_extension("md"), text).expect("written");
    }
}
