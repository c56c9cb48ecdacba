//! Fuzzes texts of commands: a program before a text is found, whatever the text is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_programs::{Found, MAX_BYTES, Match, ProgramPattern};

fuzz_target!(|text: &str| {
    let pattern = ProgramPattern::parse("git push *").expect("a pattern");
    pattern.judge(&Found::in_text(text));
    let text = format!("git push;{text}");
    let judged = pattern.judge(&Found::in_text(&text));
    let is_read = text.len() <= MAX_BYTES && !text.contains('\0');
    assert_eq!(judged, if is_read { Match::Yes } else { Match::Unknown });
});
