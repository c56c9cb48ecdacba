//! Fuzzes search results: a displayed URL is unchanged by a second pass, and a repeated result is merged.

#![no_main]

#[path = "shared/search.rs"]
mod search;

use std::fmt::Write as _;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Maximum number of results in a page.
const MOST: usize = 8;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Returns the results of a search whose engines return these URLs, titles and snippets.
fn search<'a>(results: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> Vec<Value> {
    let mut body = String::new();
    for (address, title, snippet) in results {
        let [address, title, snippet] = [address, title, snippet].map(escaped);
        let _ = write!(
            body,
            "<div class=web-result><h2><a href=\"{address}\">{title}</a></h2><a class=result__snippet>{snippet}</a></div>"
        );
    }
    search::search(body.as_bytes(), 200)
}

fn text<'a>(result: &'a Value, name: &str) -> &'a str {
    result[name].as_str().unwrap_or_default()
}

fuzz_target!(|results: Vec<(&str, &str, &str)>| {
    let given = || results.iter().take(MOST).map(|(path, title, text)| (*path, *title, *text));
    let addresses: Vec<String> = given().map(|(path, ..)| format!("https://{path}")).collect();
    let with_addresses =
        || addresses.iter().zip(given()).map(|(address, (_, title, text))| (address.as_str(), title, text));
    let once = search(with_addresses());
    let twice = search(with_addresses().chain(with_addresses()));
    assert_eq!(once.len(), twice.len(), "{once:#?} {twice:#?}");
    let again = search(
        once.iter().map(|result| (text(result, "url"), text(result, "title"), text(result, "snippet"))),
    );
    let urls = |all: &[Value]| all.iter().map(|result| text(result, "url").to_owned()).collect::<Vec<_>>();
    let mut left = urls(&once);
    left.retain(|url| !urls(&again).contains(url));
    assert!(left.is_empty(), "{left:?} of {once:#?} in {again:#?}");
});
