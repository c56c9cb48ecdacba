//! Converts PDF files with `ReadDocs`: `cargo run --release --example read_pdf -- OUT FILE…` writes an
//! `OUT/NAME.md` for each file, and prints the time of each conversion.

#![expect(clippy::print_stdout, reason = "it is a program")]

use std::path::PathBuf;
use std::time::Instant;

use scorpiox_tool_kit::memory::{MemoryClient, MemoryFiles, MemoryWeb, Silent};
use serde_json::json;

fn main() {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let out = arguments.next().expect("a folder for what is read");
    std::fs::create_dir_all(&out).expect("a folder");
    for path in arguments {
        let body = std::fs::read(&path).expect("a file");
        let mut web = MemoryWeb { content_type: "application/pdf", body: &body };
        let start = Instant::now();
        let client = MemoryClient { room: 20_000_000, prefix: "" };
        let asked = json!({"url": "https://example.com/x.pdf"}).to_string();
        let text = match read_docs::call(&mut web, &mut Silent, &mut MemoryFiles(&body), &client, &asked) {
            Ok(output) => output.text,
            Err(failure) => format!("{failure:?}"),
        };
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        println!("{name}: {:.1} ms, {} characters", start.elapsed().as_secs_f64() * 1e3, text.len());
        std::fs::write(out.join(name).with_extension("md"), text).expect("written");
    }
}
