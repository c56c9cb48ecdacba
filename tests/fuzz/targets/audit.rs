//! Any line of the audit: a record or none, never a crash; what is shown acts on no terminal.

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
