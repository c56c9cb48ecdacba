//! Fuzzes plugin.toml files: parsing yields a manifest within all limits or an error message, without a
//! crash.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_plugin::Manifest;
use scorpiox_text::is_deceptive;

fuzz_target!(|text: &str| {
    match Manifest::parse(text) {
        Ok(manifest) => {
            assert!(!manifest.component.contains('/') && !manifest.component.starts_with('.'));
            for ask in manifest.capabilities.lines() {
                assert!(!ask.why.trim().is_empty());
                let details = ask.details.iter().flat_map(|(_, values)| values);
                assert!(!details.flat_map(|value| value.chars()).chain(ask.why.chars()).any(is_deceptive));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
