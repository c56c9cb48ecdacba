use std::path::Path;

use crate::rule::{Invalid, Layer, Source};

use super::*;
use crate::Policy;

const HASH: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const KEY: &str = include_str!("../../tests/signatures/acme.pub");
const OTHER_KEY: &str = include_str!("../../tests/signatures/other.pub");
const SIGNATURE: &str = include_str!("../../tests/signatures/good.minisig");

fn candidate<'a>(name: &'a str, hash: &'a str) -> Candidate<'a> {
    Candidate::new(name, hash, Signed::Not)
}

fn signed<'a>(name: &'a str, text: &'a str) -> Candidate<'a> {
    Candidate::new(name, HASH, Signed::With(text))
}

fn parse(text: &str) -> Result<PluginPattern, Invalid> {
    PluginPattern::parse(text, |name| Signer::parse(name, KEY.trim(), vec![], Updates::Person).map(Arc::new))
}

fn read(text: &str) -> Result<PluginsPolicy, String> {
    let policy = Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml"));
    policy.map(|policy| policy.plugins).map_err(|problem| problem.to_string())
}

/// Returns a policy with acme's key.
fn with_acme(rules: &str) -> PluginsPolicy {
    read(&format!(
        "[plugins]\n{rules}\n[plugins.signers.acme]\nkey = \"{}\"\nnames = [\"acme-*\"]",
        KEY.trim()
    ))
    .unwrap()
}

#[test]
fn a_plugin_is_meant_by_name_by_content_or_by_both() {
    let covers = |text: &str, name, hash| {
        parse(text).unwrap().covers(&Vouched { name, hash, also: [""; 3], original: None, by: Vec::new() })
    };
    assert!(covers("weather", "weather", "x") && !covers("weather", "weathers", "x"));
    assert!(covers(&format!("sha256:{HASH}"), "any", HASH) && !covers(&format!("sha256:{HASH}"), "any", "x"));
    let both = format!("weather@sha256:{HASH}");
    assert!(
        covers(&both, "weather", HASH) && !covers(&both, "other", HASH) && !covers(&both, "weather", "x")
    );
    for text in [&*both, "*", "signer:acme", "team-*@signer:acme", &format!("a@signer:acme@sha256:{HASH}")] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
    let bare = parse(&HASH.to_uppercase()).unwrap_err().to_string();
    assert!(bare.contains(&format!("write \"sha256:{HASH}\"")), "{bare}");
    for text in ["sha256-6b86b273", "SHA256_6B86B273FF", &HASH[1..], "6b86b273ff34fce19d6b804eff5a3f57"] {
        assert!(parse(text).unwrap_err().to_string().contains("looks like a hash"), "{text}");
    }
    assert!(parse("sha256-tool").is_ok() && parse("deadbeef").is_ok());
    for text in ["weather.*", "plugin/weather", "Weather", "wetter_*"] {
        assert!(parse(text).unwrap_err().to_string().contains("names of plugins have not"), "{text}");
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
    // The signature covers the trusted comment, too.
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
    // A signer of the user's own allows nothing that the managed policy denies.
    let own =
        format!("[plugins]\nallow = [\"signer:me\"]\n[plugins.signers.me]\nkey = \"{}\"", OTHER_KEY.trim());
    let own = parsed(&own, Layer::Own, managed.clone()).unwrap();
    let places = crate::Places::standard("/w".into(), None, Path::new("/own"));
    let both = managed.narrowed_by(&own, &places).plugins;
    let by_other = include_str!("../../tests/signatures/other.minisig");
    assert!(own.plugins.check(&signed("a", by_other)).is_ok());
    assert!(both.check(&signed("a", by_other)).is_err() && both.check(&signed("a", SIGNATURE)).is_err());
    // The user may limit the managed signer to some names.
    let own = parsed("[plugins]\nallow = [\"a@signer:acme\"]", Layer::Own, managed.clone()).unwrap();
    let both = managed.narrowed_by(&own, &places).plugins;
    assert!(
        both.check_run(&signed("a", SIGNATURE)).is_ok() && both.check_run(&signed("b", SIGNATURE)).is_err()
    );
}

/// A key pair for signing files.
struct Keys(minisign::KeyPair);

impl Keys {
    fn new() -> Self {
        Self(minisign::KeyPair::generate_unencrypted_keypair().expect("a key"))
    }

    fn public(&self) -> String {
        self.0.pk.to_base64()
    }

    /// Signs a file with this name and version, and with the hash used in the tests.
    fn sign(&self, name: &str, version: &str) -> String {
        let comment = format!("name={name} version={version} sha256={HASH}");
        let signed = minisign::sign(None, &self.0.sk, &b"a file"[..], Some(&comment), None);
        signed.expect("a signature").into_string()
    }

    fn signer(&self, name: &str, more: &str) -> String {
        format!("[plugins.signers.{name}]\nkey = \"{}\"\n{more}\n", self.public())
    }
}

fn from_file<'a>(name: &'a str, version: &'a str, signature: &'a str) -> Candidate<'a> {
    Candidate::new(name, "x", Signed::File(SignedFile { signature, name, version, sha256: HASH }))
}

#[test]
fn a_signed_file_is_its_signers_under_its_own_name_version_and_hash_alone() {
    let keys = Keys::new();
    let signer = keys.signer("acme", "names = [\"acme-*\"]");
    let policy = read(&format!("[plugins]\nallow = [\"signer:acme\"]\n{signer}")).unwrap();
    let signature = keys.sign("acme-echo", "1.2.0");
    assert!(policy.check(&from_file("acme-echo", "1.2.0", &signature)).is_ok());
    let file = |name, version, sha256| SignedFile { signature: &signature, name, version, sha256 };
    let changed = signature.replace("1.2.0", "1.3.0");
    for (plugin, why) in [
        (from_file("acme-other", "1.2.0", &signature), "it was signed as acme-echo"),
        (from_file("acme-echo", "1.3.0", &signature), "does not match"),
        (from_file("acme-echo", "1.3.0", &changed), "does not match"),
        (Candidate::new("acme-echo", "x", Signed::File(file("acme-echo", "1.2.0", "0"))), "does not match"),
        // Installed under another name.
        (
            Candidate {
                original: Some("acme-echo"),
                ..Candidate::new("acme-x", "x", Signed::File(file("acme-echo", "1.2.0", HASH)))
            },
            "its own name is acme-echo",
        ),
        (from_file("echo", "1.2.0", &keys.sign("echo", "1.2.0")), "does not cover it"),
        (from_file("acme-echo", "1.2.0", &Keys::new().sign("acme-echo", "1.2.0")), "another signer's"),
        (from_file("acme-echo", "1.2.0", "x"), "cannot be read"),
    ] {
        let said = policy.check(&plugin).unwrap_err().why;
        assert!(said.contains(why) && policy.signed_by(&plugin).is_none(), "{said}");
    }
}

#[test]
fn where_signatures_are_required_nothing_runs_without_one() {
    let keys = Keys::new();
    let policy = read(&format!("[plugins]\nrequire_signature = true\n{}", keys.signer("acme", ""))).unwrap();
    let signature = keys.sign("echo", "1.2.0");
    assert!(policy.check_run(&from_file("echo", "1.2.0", &signature)).is_ok());
    let said = policy.check_run(&Candidate::new("echo", HASH, Signed::Not)).unwrap_err();
    assert_eq!(
        said.why,
        "plugin echo has to be signed (`require_signature` of [plugins], policy.toml line 3); for signer acme: it has \
         no signature"
    );
    assert_eq!(said.decided_by, Source::Line(3));
    assert!(policy.check(&from_file("echo", "1.2.0", &Keys::new().sign("echo", "1.2.0"))).is_err());
    let problem = read("[plugins]\nrequire_signature = true").unwrap_err();
    assert!(problem.contains("there are no signers"), "{problem}");
    assert!(read("[plugins]\nrequire_signature = false").unwrap().required.is_empty());
}

#[test]
fn a_person_cannot_meet_the_machines_requirement_with_a_key_of_their_own() {
    let parsed = |text: &str, layer, base| {
        crate::parse::policy(&format!("version = 1\n{text}"), Path::new("policy.toml"), layer, base).unwrap()
    };
    let (acme, me) = (Keys::new(), Keys::new());
    let require = "[plugins]\nrequire_signature = true\n";
    let managed = parsed(&format!("{require}{}", acme.signer("acme", "")), Layer::Managed, Policy::builtin());
    let places = crate::Places::standard("/w".into(), None, Path::new("/own"));
    let (by_acme, by_me) = (acme.sign("echo", "1.0.0"), me.sign("echo", "1.0.0"));
    for own in [
        me.signer("me", ""),
        format!("{require}{}", me.signer("me", "")),
        format!("[plugins]\nrequire_signature = false\n{}", me.signer("me", "")),
    ] {
        let own = parsed(&own, Layer::Own, managed.clone());
        let both = managed.narrowed_by(&own, &places).plugins;
        assert!(both.check(&from_file("echo", "1.0.0", &by_acme)).is_ok());
        assert!(both.check(&from_file("echo", "1.0.0", &by_me)).is_err());
        assert!(both.check(&candidate("echo", HASH)).is_err());
    }
    // The user may add a requirement.
    let managed = parsed("", Layer::Managed, Policy::builtin());
    let own = parsed(&format!("{require}{}", me.signer("me", "")), Layer::Own, managed.clone());
    let both = managed.narrowed_by(&own, &places).plugins;
    assert!(
        both.check(&candidate("echo", HASH)).is_err()
            && both.check(&from_file("echo", "1.0.0", &by_me)).is_ok()
    );
}

#[test]
fn a_signature_takes_an_update_only_from_the_same_signer_who_is_trusted_with_that() {
    let (acme, other) = (Keys::new(), Keys::new());
    let policy = |approve: &str, more: &str| {
        let signers =
            format!("{}{}", acme.signer("acme", approve), other.signer("other", "approve = \"signed\""));
        read(&format!("[plugins]\n{more}\n{signers}")).unwrap()
    };
    let signatures = [acme.sign("echo", "1.0.0"), acme.sign("echo", "1.1.0"), other.sign("echo", "1.0.0")];
    let [old, new, by_other] = &signatures;
    let (old, new) = (from_file("echo", "1.0.0", old), from_file("echo", "1.1.0", new));
    let signed = policy("approve = \"signed\"", "");
    assert_eq!(signed.takes_update(&new, &old).unwrap().value.name, "acme");
    assert!(policy("", "").takes_update(&new, &old).is_none());
    assert!(signed.takes_update(&new, &from_file("echo", "1.0.0", by_other)).is_none());
    assert!(signed.takes_update(&new, &candidate("echo", HASH)).is_none());
    assert!(signed.takes_update(&candidate("echo", HASH), &old).is_none());
    assert!(policy("approve = \"signed\"", "deny = [\"echo\"]").takes_update(&new, &old).is_none());
    assert!(policy("approve = \"signed\"", "approve = \"policy\"").takes_update(&new, &old).is_none());
    let problem = read(&acme.signer("acme", "approve = \"sign\"")).unwrap_err();
    assert!(problem.contains("did you mean `signed`?"), "{problem}");
}

#[test]
fn a_person_lets_a_signature_decide_less_and_never_more() {
    let parsed = |text: &str, layer, base| {
        crate::parse::policy(&format!("version = 1\n{text}"), Path::new("policy.toml"), layer, base).unwrap()
    };
    let places = crate::Places::standard("/w".into(), None, Path::new("/own"));
    let acme = Keys::new();
    for (all, own) in [("person", "signed"), ("signed", "person")] {
        let signer = |approve: &str| acme.signer("acme", &format!("approve = \"{approve}\""));
        let managed = parsed(&signer(all), Layer::Managed, Policy::builtin());
        let own = parsed(&signer(own), Layer::Own, managed.clone());
        let both = managed.narrowed_by(&own, &places).plugins;
        assert_eq!(both.signers["acme"].value.updates, Updates::Person);
    }
}

#[test]
fn what_was_approved_as_signed_waits_again_when_its_signer_is_gone() {
    let (acme, other) = (Keys::new(), Keys::new());
    let key = acme.public();
    let signature = acme.sign("echo", "1.0.0");
    let plugin = Candidate { relied_on: Some(&key), ..from_file("echo", "1.0.0", &signature) };
    assert!(read(&acme.signer("acme", "")).unwrap().check_run(&plugin).is_ok());
    for policy in [String::new(), acme.signer("acme", "names = [\"x\"]"), other.signer("acme", "")] {
        let said = read(&policy).unwrap().check_run(&plugin).unwrap_err().why;
        assert!(said.contains("it waits for approval again"), "{said}");
    }
    // A rule with the hash needs no signer.
    let listed = read(&format!("[plugins]\nallow = [\"sha256:{HASH}\"]")).unwrap();
    assert!(listed.check_run(&Candidate { hash: HASH, ..plugin }).is_ok());
}

#[test]
fn a_plugin_does_not_escape_a_rule_under_another_name() {
    let sky = Candidate { original: Some("weather"), ..candidate("sky", HASH) };
    let said = read("[plugins]\ndeny = [\"weather\"]").unwrap().check(&sky).unwrap_err().why;
    assert_eq!(
        said,
        "plugin sky is denied by \"weather\" in `deny` of [plugins] (policy.toml line 3); its own name is weather"
    );
    assert!(read("[plugins]\nallow = [\"sky\"]").unwrap().check(&sky).is_err());
    assert!(read("[plugins]\nallow = [\"weather\"]").unwrap().check(&sky).is_err());
    assert!(read("[plugins]\nallow = [\"sky\", \"*\"]").unwrap().check(&sky).is_ok());
    assert!(read(&format!("[plugins]\nallow = [\"sky@sha256:{HASH}\"]")).unwrap().check(&sky).is_ok());
}

#[test]
fn an_index_is_an_address_or_a_path_that_is_the_same_everywhere() {
    for index in ["https://plugins.example.com/index.json", "/srv/plugins.json", "~/plugins.json"] {
        assert_eq!(read(&format!("[plugins]\nindex = \"{index}\"")).unwrap().index.unwrap().value, index);
    }
    for index in ["plugins.json", "http://plugins.example.com/", "https://", "", "file:///x"] {
        let problem = read(&format!("[plugins]\nindex = \"{index}\"")).unwrap_err();
        assert!(problem.contains("write an https:// address"), "{problem}");
    }
}

#[test]
fn each_hash_of_a_plugin_closes_it_and_only_its_own_opens_it() {
    let (component, approval, file) = ("c".repeat(64), "a".repeat(64), "f".repeat(64));
    let also = [&*component, &*approval, &*file];
    let plugin = Candidate { also, original: Some("sky"), ..Candidate::new("weather", HASH, Signed::Not) };
    for hash in [HASH, &component, &approval, &file] {
        for rule in [format!("sha256:{hash}"), format!("weather@sha256:{hash}"), format!("sky@sha256:{hash}")]
        {
            let closed = read(&format!("[plugins]\ndeny = [\"{rule}\"]")).unwrap();
            assert!(closed.check(&plugin).is_err(), "{rule}");
            let upper = rule.replace(hash, &hash.to_ascii_uppercase());
            assert!(
                read(&format!("[plugins]\ndeny = [\"{upper}\"]")).unwrap().check(&plugin).is_err(),
                "{upper}"
            );
        }
        let opened = read(&format!("[plugins]\nallow = [\"sha256:{hash}\"]\napprove = \"policy\"")).unwrap();
        assert_eq!(opened.check_run(&plugin).is_ok(), hash == HASH, "{hash}");
    }
    // An unknown (empty) hash matches no rule with a hash.
    let bare = Candidate::named("weather");
    assert!(read(&format!("[plugins]\ndeny = [\"sha256:{HASH}\"]")).unwrap().check(&bare).is_ok());
}
