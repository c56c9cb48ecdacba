//! Fuzzes host lists: only names in a rule, or below one, are allowed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_policy::{HostDecision, HostRule, HostRules, Source};

fuzz_target!(|input: (Vec<String>, String, u16)| {
    let (list, host, port) = input;
    let rules: Vec<HostRule> =
        list.iter().filter_map(|text| HostRule::parse(text, Source::Builtin).ok()).collect();
    let written: Vec<String> = list.iter().map(|text| text.to_lowercase()).collect();
    if let HostDecision::Allowed(_) = HostRules::from(rules).decide(&host, port) {
        let name = host.to_lowercase();
        let name = name.trim_end_matches('.').trim_matches(['[', ']']);
        let is_listed = |rule: &String| {
            let rule = rule.trim_end_matches('.');
            match rule.strip_prefix("*.") {
                Some(suffix) => {
                    let suffix = suffix.split(':').next().unwrap_or(suffix).trim_end_matches('.');
                    name.strip_suffix(suffix).is_some_and(|below| below.ends_with('.') && below.len() > 1)
                }
                None => rule.contains(name) || name.contains(':'),
            }
        };
        assert!(written.iter().any(is_listed), "{host} is allowed by {list:?}");
    }
});
