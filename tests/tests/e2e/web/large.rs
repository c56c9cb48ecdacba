//! Tests of pages of the maximum size.

use scorpiox_tests::site::{Answer, Site};
use serde_json::json;

use super::support::{program, start, success};
use crate::faults::support::{mebibytes, memory};

/// Length just below the download limit.
const LENGTH: usize = 10 * 1024 * 1024 - 1000;
/// Maximum memory of the server while it reads a page.
const MOST_MEMORY: u64 = 128 * 1024 * 1024;

fn page(piece: &str) -> String {
    let body = piece.repeat(LENGTH / piece.len());
    format!("<html><head><title>Long</title></head><body><main>{body}</main></body></html>")
}

#[test]
fn a_page_of_ten_mebibytes_is_read_in_little_memory() {
    let sentence = "The table says when the sea is high, for each day of the year. ".repeat(10);
    let pages = [
        ("paragraphs", page(&format!("<p>{sentence}</p>\n"))),
        ("elements", page("<div><p>a b c</p><ul><li><a href=/x>x y z</a></li></ul></div>")),
        ("cells", page("<table><tr><td>a b</td><td>c d</td><td>e</td></tr></table>")),
    ];
    let program = program("browser = false\n");
    for (name, page) in pages {
        let site = Site::start(move |_| Answer::html(page.clone()));
        let mut server = start(&program);
        let result = server.call("ReadDocs", json!({ "url": site.url("/") }));
        assert!(success(&result).contains("Page 1 of "), "{name}");
        let (_, peak) = memory(rustix::process::Pid::from_child(&server.child));
        eprintln!("{name}: memory at most {}", mebibytes(peak));
        assert!(peak < MOST_MEMORY, "{name}: {}", mebibytes(peak));
    }
}
