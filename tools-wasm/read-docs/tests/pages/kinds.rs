//! What is no HTML, from files that other programs made (`tests/files/make.py`).

use std::path::Path;

use crate::fake::{Fake, data};
use scorpiox_tool_kit::Output;
use serde_json::json;

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    std::fs::read(path).expect("a file of the tests")
}

fn read(content_type: &str, name: &str, format: &str) -> Output {
    let url = format!("https://example.com/files/{name}");
    Fake::new(content_type, file(name))
        .at(&url)
        .call(&json!({"url": url, "format": format}))
        .expect("a result")
}

#[test]
fn show() {
    let Ok(name) = std::env::var("SHOW") else { return };
    for format in ["markdown", "text", "html"] {
        let output = read(&std::env::var("KIND").unwrap_or_default(), &name, format);
        println!("===== {format}\n{}\n{}", output.text, data(&output));
    }
}
