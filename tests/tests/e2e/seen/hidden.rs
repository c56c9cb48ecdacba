//! Tests that models receive no invisible or text-reordering characters, but all characters that scripts
//! need.

use scorpiox_tests::Program;
use scorpiox_tests::program::ALLOWS_COMMANDS;
use scorpiox_tests::site::{Answer, Site};
use serde_json::json;

use super::{NEWEST, reaching, text};
use crate::plugins::install_kinds;

/// Characters to remove: overrides, isolates, zero-width spaces, tags and other non-letters.
const HIDDEN: &str =
    "\u{202e}\u{202a}\u{2066}\u{2069}\u{200b}\u{2060}\u{feff}\u{200e}\u{ad}\u{e0041}\u{e007f}\u{fff9}";
/// Texts to preserve.
const HONEST: [&str; 5] =
    ["שלום עולם", "می\u{200c}خواهم", "👩\u{200d}👩\u{200d}👧", "❤\u{fe0f}", "1\u{fe0f}\u{20e3}"];

fn hostile() -> String {
    format!("a{HIDDEN}b {} x\u{200d}y", HONEST.join(" "))
}

#[track_caller]
fn is_clean(text: &str) {
    let found: Vec<_> = text.chars().filter(|c| HIDDEN.contains(*c)).collect();
    assert!(found.is_empty(), "{found:?} in {text:?}");
    for honest in HONEST {
        assert!(text.contains(honest), "{honest} is not in {text:?}");
    }
    assert!(text.contains("ab ") && text.contains("xy"), "{text:?}");
}

#[test]
fn pages_plugins_commands_and_files_are_clean() {
    let page = format!("<title>T</title><article><p>{}</p><p>{}", hostile(), "More words. ".repeat(50));
    let site = Site::start(move |_| Answer::html(page.clone()));
    let program = reaching(Program::as_shipped(), ALLOWS_COMMANDS);
    program.put("workspace/file", hostile());
    install_kinds(&program, "");
    let mut server = program.start();
    server.initialize(NEWEST);
    is_clean(text(&server.call("ReadDocs", json!({"url": site.url("/")}))));
    is_clean(text(&server.call("Bash", json!({"command": "cat file"}))));
    let result = server.call("kinds.echo.text", json!({"value": hostile()}));
    is_clean(text(&result));
    // Some models receive only the structured data.
    let data = result["structuredContent"]["result"].as_str().expect("a text");
    assert!(!data.contains(|c| c != '\u{ad}' && HIDDEN.contains(c)), "{data:?}");
}

#[test]
fn an_error_that_repeats_what_it_was_given_is_clean() {
    let mut server = Program::as_shipped().serve();
    server.initialize(NEWEST);
    let result = server.call("PlanMode", json!({"action": format!("dance\u{202e}{HIDDEN}")}));
    assert_eq!(result["isError"], true);
    assert!(!text(&result).contains(|c| HIDDEN.contains(c)), "{result}");
}
