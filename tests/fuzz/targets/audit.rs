//! Fuzzes audit lines: each parses as a record or is rejected without a crash, and its display contains no
//! terminal control characters.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_audit::Record;
use scorpiox_text::line;

fuzz_target!(|line: &str| {
    let _ = Record::parse(line);
    let shown = line::escaped(line);
    assert!(!shown.chars().any(line::is_unsafe));
    assert!(line::clean(line, 100).len() <= 100 + 3);
});
