//! Any SKILL.md: front matter or a reason, never a crash and never a hang.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let _ = invoke_skill::front_matter::parse(file);
});
