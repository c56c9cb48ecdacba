//! Compares `ReadDocs` with Readability and Turndown on the samples in `tests/data`.

#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)] // only part of it is used
mod support;

use std::path::{Path, PathBuf};

use support::readability::HEADS;
use support::{readability, turndown};

/// Cases with a rendering that differs from Turndown's, each with a reason.
const OTHERWISE: [(&str, &str); 4] = [
    ("escaping ~~~", "a <pre> is code here, with or without <code> in it"),
    ("preformatted code with leading whitespace", "white space in <code> collapses, as it does in a browser"),
    ("preformatted code with trailing whitespace", "the same"),
    ("preformatted code with newlines", "the same"),
];

/// Minimum F1 score of words for each page.
const LEAST: f64 = 0.9;

/// Pages below it: text with `visibility: hidden` is read here, and Readability leaves it out.
const BELOW: [&str; 1] = ["visibility-hidden"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[test]
fn small_pages_are_read_as_readability_reads_them() {
    let pages = readability::measure(&data("readability"));
    assert_eq!(pages.len(), 13);
    let shown: Vec<String> = pages.iter().map(ToString::to_string).collect();
    let below: Vec<&str> =
        pages.iter().filter(|page| page.f1 < LEAST).map(|page| page.name.as_str()).collect();
    assert_eq!(below, BELOW, "{HEADS}\n{}", shown.join("\n"));
}

#[test]
fn fragments_are_rendered_as_turndown_has_them() {
    let cases = turndown::cases(&data("turndown"));
    assert_eq!(cases.len(), 147);
    let failing: Vec<_> = cases.iter().filter(|case| !case.agrees()).collect();
    let names: Vec<&str> = failing.iter().map(|case| case.name.as_str()).collect();
    let shown: Vec<String> = failing.iter().map(ToString::to_string).collect();
    assert_eq!(names, OTHERWISE.map(|(name, _)| name), "{}", shown.join("\n"));
}
