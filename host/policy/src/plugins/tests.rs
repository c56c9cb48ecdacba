use std::path::Path;

use scorpiox_rules::{Invalid, Layer, Source};

use super::*;
use crate::Policy;

const HASH: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const KEY: &str = include_str!("../../tests/signatures/acme.pub");
const OTHER_KEY: &str = include_str!("../../tests/signatures/other.pub");
const SIGNATURE: &str = include_str!("../../tests/signatures/good.minisig");

fn candidate<'a>(name: &'a str, hash: &'a str) -> Candidate<'a> {
    Candidate { name, hash, signature: Signed::Not }
}

fn signed<'a>(name: &'a str, text: &'a str) -> Candidate<'a> {
    Candidate { name, hash: HASH, signature: Signed::With(text) }
}

fn parse(text: &str) -> Result<PluginPattern, Invalid> {
    PluginPattern::parse(text, |name| Signer::parse(name, KEY.trim(), vec![]).map(Arc::new))
}

fn read(text: &str) -> Result<PluginsPolicy, String> {
    let policy = Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml"));
    policy.map(|policy| policy.plugins).map_err(|problem| problem.to_string())
}

/// A policy that has acme's key.
fn with_acme(rules: &str) -> PluginsPolicy {
    read(&format!(
        "[plugins]\n{rules}\n[plugins.signers.acme]\nkey = \"{}\"\nnames = [\"acme-*\"]",
        KEY.trim()
    ))
    .unwrap()
}

#[test]
fn a_plugin_is_meant_by_name_by_content_or_by_both() {
    let covers =
        |text: &str, name, hash| parse(text).unwrap().covers(&Vouched { name, hash, by: Vec::new() });
    assert!(covers("weather", "weather", "x") && !covers("weather", "weathers", "x"));
    assert!(covers(&format!("sha256:{HASH}"), "any", HASH) && !covers(&format!("sha256:{HASH}"), "any", "x"));
    let both = format!("weather@sha256:{HASH}");
    assert!(
        covers(&both, "weather", HASH) && !covers(&both, "other", HASH) && !covers(&both, "weather", "x")
    );
    for text in [&*both, "*", "signer:acme", "team-*@signer:acme", &format!("a@signer:acme@sha256:{HASH}")] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
    for text in [
        "sha256:12",
        &format!("a b@sha256:{HASH}"),
        &format!("weathersha256:{HASH}"),
        "weather@sha256:",
        "weather@",
        "weather@other",
        "a@signer:acme@signer:acme",
        &format!("sha256:{HASH}@signer:acme"),
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn only_what_is_listed_with_its_hash_is_approved_by_that() {
    let mut policy = PluginsPolicy::builtin();
    let weather = candidate("weather", HASH);
    assert!(policy.check(&weather).is_ok() && policy.approves(&weather).is_none());
    let rule = parse(&format!("weather@sha256:{HASH}")).unwrap();
    policy.rules.allow = vec![Sourced::new(rule, Source::Managed(3))];
    assert!(policy.approves(&weather).is_some() && policy.approves(&candidate("weather", "x")).is_none());
    let listed = |policy: &PluginsPolicy, name| policy.listed(name).count();
    assert!(listed(&policy, "weather") == 1 && listed(&policy, "other") == 0);
    policy.rules.deny = vec![Sourced::new(parse("weather").unwrap(), Source::Line(9))];
    assert!(policy.approves(&weather).is_none() && listed(&policy, "weather") == 0);
    assert_eq!(
        policy.check(&weather).unwrap_err().why,
        "plugin weather is denied by \"weather\" in `deny` of [plugins] (policy.toml line 9)"
    );
}

#[test]
fn a_signer_vouches_for_what_it_signed_and_for_nothing_else() {
    let policy = with_acme("allow = [\"signer:acme\"]\napprove = \"policy\"");
    assert!(policy.check(&signed("acme-echo", SIGNATURE)).is_ok());
    assert!(policy.approves(&signed("acme-echo", SIGNATURE)).is_some());
    assert_eq!(policy.signed_by(&signed("acme-echo", SIGNATURE)).unwrap().value.name, "acme");
    let legacy = include_str!("../../tests/signatures/legacy.minisig");
    let unfit = include_str!("../../tests/signatures/unfit.minisig");
    let by_another = include_str!("../../tests/signatures/other.minisig");
    // The comment is signed, too.
    let commented = SIGNATURE.replace("timestamp:1790000000", "timestamp:1790000001");
    let other_hash = Candidate { hash: "x", ..signed("acme-echo", SIGNATURE) };
    for (plugin, why) in [
        (candidate("acme-echo", HASH), "it has no signature"),
        (signed("echo", SIGNATURE), "does not cover it"),
        (signed("acme-echo", by_another), "another signer's"),
        (signed("acme-echo", legacy), "of the old kind"),
        (signed("acme-echo", unfit), "does not match its hash"),
        (signed("acme-echo", &commented), "does not match its hash"),
        (signed("acme-echo", "untrusted comment: x\nRUQ"), "cannot be read"),
        (signed("acme-echo", ""), "cannot be read"),
        (other_hash, "does not match its hash"),
    ] {
        let said = policy.check(&plugin).unwrap_err().why;
        assert!(said.contains(why) && said.contains("\"signer:acme\" (policy.toml line 3)"), "{said}");
        assert!(policy.check_run(&plugin).is_err() && policy.approves(&plugin).is_none());
        assert!(policy.signed_by(&plugin).is_none());
    }
}

#[test]
fn a_signature_is_no_approval_where_a_person_approves() {
    let policy = with_acme("allow = [\"signer:acme\"]");
    assert!(policy.check_run(&signed("acme-echo", SIGNATURE)).is_ok());
    assert!(policy.approves(&signed("acme-echo", SIGNATURE)).is_none());
    let all = with_acme("approve = \"policy\"");
    let said = all.check_run(&signed("acme-echo", SIGNATURE)).unwrap_err().why;
    assert!(said.contains("not listed with its hash or a signer"), "{said}");
}

#[test]
fn who_is_no_signer_is_named() {
    let key = KEY.trim();
    for (text, said) in [
        ("[plugins]\nallow = [\"signer:acme\"]", "there is no signer \"acme\"; write [plugins.signers.acme]"),
        ("[plugins]\nallow = [\"signer:acm\"]\nSIGNER", "did you mean `acme`?"),
        ("[plugins]\ndeny = [\"signer:acme\"]\nSIGNER", "a signature can be left out"),
        (
            "[plugins.signers.acme]\nkey = \"RWQ\"",
            "line 3: `key` in [plugins.signers.acme]: \"RWQ\" is not a minisign public key",
        ),
        ("[plugins.signers.acme]\nnames = [\"a*\"]", "[plugins.signers.acme] has no `key`"),
        ("[plugins.signers.Acme]\nkey = \"x\"", "small letters"),
        ("[plugins.signers.acme]\nkeys = \"x\"", "did you mean `key`?"),
    ] {
        let signer = format!("[plugins.signers.acme]\nkey = \"{key}\"");
        let problem = read(&text.replace("SIGNER", &signer)).unwrap_err();
        assert!(problem.contains(said), "{problem}");
    }
}

#[test]
fn a_person_makes_nobody_else_the_machines_signer() {
    let parsed = |text: &str, layer, base| {
        crate::parse::policy(&format!("version = 1\n{text}"), Path::new("policy.toml"), layer, base)
    };
    let acme = |key: &str| format!("[plugins.signers.acme]\nkey = \"{}\"", key.trim());
    let rules = "[plugins]\nallow = [\"signer:acme\"]\napprove = \"policy\"\n";
    let managed = parsed(&format!("{rules}{}", acme(KEY)), Layer::Managed, Policy::builtin()).unwrap();
    let problem = parsed(&acme(OTHER_KEY), Layer::Own, managed.clone()).unwrap_err().to_string();
    assert!(problem.contains("signer \"acme\" is another one in "), "{problem}");
    // Another one of the person's own opens nothing that is closed for all.
    let own =
        format!("[plugins]\nallow = [\"signer:me\"]\n[plugins.signers.me]\nkey = \"{}\"", OTHER_KEY.trim());
    let own = parsed(&own, Layer::Own, managed.clone()).unwrap();
    let places = crate::Places::standard("/w".into(), None, Path::new("/own"));
    let both = managed.narrowed_by(&own, &places).plugins;
    let by_other = include_str!("../../tests/signatures/other.minisig");
    assert!(own.plugins.check(&signed("a", by_other)).is_ok());
    assert!(both.check(&signed("a", by_other)).is_err() && both.check(&signed("a", SIGNATURE)).is_err());
    // The machine's signer may be narrowed to some names.
    let own = parsed("[plugins]\nallow = [\"a@signer:acme\"]", Layer::Own, managed.clone()).unwrap();
    let both = managed.narrowed_by(&own, &places).plugins;
    assert!(
        both.check_run(&signed("a", SIGNATURE)).is_ok() && both.check_run(&signed("b", SIGNATURE)).is_err()
    );
}
