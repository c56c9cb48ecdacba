//! Fuzzes settings files: parsing yields assignments and invalid lines, without a crash.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    for line in scorpiox_workspace_config::settings::parse::parse(file) {
        match line {
            Ok(assignment) => assert!(!assignment.key.is_empty() && !assignment.value.contains('\n')),
            Err(bad) => assert!(!format!("{bad:?}").is_empty()),
        }
    }
});
