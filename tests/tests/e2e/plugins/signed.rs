//! Tests of plugins signed by a signer from the policy. The signatures are created with minisign's own
//! library.

use minisign::KeyPair;
use scorpiox_tests::Program;

use super::{guest, hash_of, source};

/// Machine with the `kinds` component and a signing key.
struct Bed {
    program: Program,
    key: KeyPair,
    source: String,
}

impl Bed {
    fn new() -> Self {
        let program = Program::new();
        let component = std::fs::read(guest("kinds")).expect("the component");
        let source = source(&program, "kinds", "", &component);
        Self { program, key: KeyPair::generate_unencrypted_keypair().expect("a key"), source }
    }

    /// Signs the output of `plugin hash`, like an author who saves it to a file.
    fn sign(&self) {
        let hash = hash_of(&self.program, &self.source) + "\n";
        let signature = minisign::sign(Some(&self.key.pk), &self.key.sk, hash.as_bytes(), None, None);
        self.put(&signature.expect("a signature").to_string());
    }

    fn put(&self, signature: &str) {
        self.program.put("workspace/sources/kinds/plugin.hash.minisig", signature);
    }

    fn policy(&self, rules: &str) {
        let key = self.key.pk.to_base64();
        let text = format!("version = 1\n[plugins]\n{rules}\n[plugins.signers.acme]\nkey = \"{key}\"\n");
        self.program.put("home/.scorpiox/policy.toml", text);
    }

    /// Returns `true` if a command succeeds, and its output joined into one line.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let (status, out, err) = self.program.run(arguments);
        (status.success(), (out + &err).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn add(&self) -> (bool, String) {
        self.run(&["plugin", "add", &self.source])
    }

    fn call(&self) -> (bool, String) {
        self.run(&["call", "kinds.divide", r#"{"a": 6, "b": 3}"#])
    }
}

const ALONE: &str = "allow = [\"signer:acme\"]\napprove = \"policy\"";

#[test]
fn what_a_signer_vouches_for_is_approved_by_that_and_by_nothing_less() {
    let bed = Bed::new();
    bed.policy(ALONE);
    let (added, said) = bed.add();
    assert!(
        !added && said.contains("for \"signer:acme\" (policy.toml line 3): it has no signature"),
        "{said}"
    );
    bed.sign();
    let (added, said) = bed.add();
    assert!(added && said.contains("Signed by acme") && said.contains("kinds is approved"), "{said}");
    assert!(bed.call().0);
    let (allowed, said) = bed.run(&["policy", "why", "plugin", "kinds"]);
    assert!(allowed && said.contains("\"signer:acme\" (policy.toml line 3), which approves it"), "{said}");
    let (allowed, said) = bed.run(&["policy", "why", "plugin", "other@signer:acme"]);
    assert!(allowed, "{said}");
    let (_, line) = bed.run(&["audit", "--tool", "kinds.divide", "--json"]);
    assert!(line.contains(r#""rule":"policy.toml line 3""#), "{line}");
    // The approval is repeated with the stored copy of the signature.
    assert!(bed.run(&["plugin", "deny", "kinds"]).0);
    let (approved, said) = bed.run(&["plugin", "approve", "kinds"]);
    assert!(approved, "{said}");
}

#[test]
fn a_signature_does_not_fit_what_was_changed_or_another_key() {
    let bed = Bed::new();
    bed.policy(ALONE);
    bed.sign();
    bed.program.put(
        "workspace/sources/kinds/plugin.toml",
        "name = \"kinds\"\ncomponent = \"c.wasm\"\n[capabilities.clock]\nwhy = \"to know the time\"\n",
    );
    let (added, said) = bed.add();
    assert!(!added && said.contains("its signature does not match its hash"), "{said}");
    let other = Bed { key: KeyPair::generate_unencrypted_keypair().expect("a key"), ..bed };
    other.sign();
    let bed = Bed { key: KeyPair::generate_unencrypted_keypair().expect("a key"), ..other };
    bed.policy(ALONE);
    let (added, said) = bed.add();
    assert!(!added && said.contains("its signature is another signer's"), "{said}");
    bed.put(&"x".repeat(5000));
    let (added, said) = bed.add();
    assert!(!added && said.contains("plugin.hash.minisig") && said.contains("the limit is 4096"), "{said}");
}

#[test]
fn a_signer_who_is_taken_out_vouches_for_nothing_any_more() {
    let bed = Bed::new();
    bed.policy(ALONE);
    bed.sign();
    assert!(bed.add().0 && bed.call().0);
    bed.program.put("home/.scorpiox/policy.toml", "version = 1\n[plugins]\nallow = []\n");
    let (called, said) = bed.call();
    assert!(
        !called && said.contains("plugin kinds is not in `allow` of [plugins] (policy.toml line 3)"),
        "{said}"
    );
    // Another key under the same signer name is not accepted.
    let other = Bed { key: KeyPair::generate_unencrypted_keypair().expect("a key"), ..bed };
    other.policy(ALONE);
    let (called, said) = other.call();
    assert!(!called && said.contains("its signature is another signer's"), "{said}");
}

#[test]
fn where_a_person_approves_they_are_told_who_signed() {
    let bed = Bed::new();
    bed.policy("allow = [\"signer:acme\"]");
    bed.sign();
    let (added, said) = bed.add();
    assert!(!added && said.contains("Signed by acme") && said.contains("nobody can be asked here"), "{said}");
    assert!(!bed.call().0);
}
