//! Tests of results as a client's model receives them: complete text, within limits, and independent of the
//! parts of a result that a client keeps.

mod clients;
mod hidden;
#[cfg(unix)] // commands
mod largest;
mod structured;
#[cfg(unix)] // commands
mod waiting;

use scorpiox_tests::{Program, Served, Started};
use serde_json::{Value, json};

const NEWEST: &str = "2025-11-25";
/// Maximum number of characters in a result.
#[cfg(unix)]
const CHARS: usize = 20_000;

/// Starts a server for a client with this name.
fn of_client(program: Program, name: &str) -> Served {
    let mut server = program.serve();
    server.introduce(name, NEWEST, json!({}));
    server
}

/// Returns the only text of a result, whose other content must be images.
#[track_caller]
fn text(result: &Value) -> &str {
    let content = result["content"].as_array().unwrap_or_else(|| panic!("no content: {result}"));
    let (texts, others): (Vec<_>, Vec<_>) = content.iter().partition(|content| content["type"] == "text");
    assert_eq!(texts.len(), 1, "{result}");
    assert!(others.iter().all(|content| content["type"] == "image"), "{result}");
    assert_eq!(content[0]["type"], "text", "text first: {result}");
    texts[0]["text"].as_str().expect("a text")
}

/// Returns the length of a text in UTF-16 units, as most clients count.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

fn listed(server: &mut Started) -> Vec<Value> {
    let answer = server.ask("tools/list", json!({}));
    answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no list: {answer}")).clone()
}

/// Returns a PNG image of a single pixel.
fn dot() -> Vec<u8> {
    use base64::Engine as _;
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
    base64::engine::general_purpose::STANDARD.decode(dot).expect("base64")
}

/// Adds a policy that allows access to the local test site.
fn reaching(program: Program, more: &str) -> Program {
    let text = format!("version = 1\n[web]\nallow_private = [\"127.0.0.1/32\"]\nbrowser = false\n{more}");
    program.put("home/.scorpiox/policy.toml", text);
    program
}
