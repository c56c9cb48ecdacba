//! Any plugin.toml: a manifest within all bounds or an error in words, never a crash.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_plugin::Manifest;
use scorpiox_text::is_deceptive;

fuzz_target!(|text: &str| {
    match Manifest::parse(text) {
        Ok(manifest) => {
            assert!(!manifest.component.contains('/') && !manifest.component.starts_with('.'));
            for (_, details, why) in manifest.capabilities.lines() {
                assert!(!why.trim().is_empty());
                assert!(!details.chars().chain(why.chars()).any(is_deceptive));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
