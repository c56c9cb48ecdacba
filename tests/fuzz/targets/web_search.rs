//! Fuzzes pages of search engines: each engine's parser receives the same bytes.
#![no_main]

#[path = "shared/search.rs"]
mod search;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &[u8])| {
    let (is_fine, body) = input;
    search::search(body, if is_fine { 200 } else { 202 });
});
