//! Fuzzes SKILL.md files: parsing yields front matter or a reason, without a crash or a hang.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let _ = invoke_skill::front_matter::parse(file);
});
