//! Fuzzes responses of a server in all formats: each yields a page within the size limit, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::memory::{MemoryClient, MemoryFiles, MemoryWeb, Silent};
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
/// Maximum length of a page including its header and footer.
const MOST_CHARS: usize = 100_000 + 4096;

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, body) = input;
    let content_type = TYPES[usize::from(choice) % TYPES.len()];
    let format = FORMATS[usize::from(choice) / TYPES.len() % FORMATS.len()];
    // Half of the choices are files.
    let url = if usize::from(choice) / TYPES.len() / FORMATS.len() % 2 == 0 {
        "https://example.org/docs/x"
    } else {
        "docs/x.html"
    };
    let arguments = json!({ "url": url, "format": format }).to_string();
    if let Ok(output) = read_docs::call(
        &mut MemoryWeb { content_type, body },
        &mut Silent,
        &mut MemoryFiles(body),
        &MemoryClient::default(),
        &arguments,
    ) {
        assert!(output.text.chars().count() <= MOST_CHARS);
        assert!(output.structured.is_some());
    }
});
