//! Tests of plugins in a single file: packing, signing, adding and updating.

use std::fs;
use std::path::PathBuf;
#[cfg(unix)]
use std::process::Command;

use minisign::KeyPair;
use scorpiox_tests::Program;

use super::{guest, hash_of, source};

/// Author's machine with the `kinds` component in a directory.
pub(super) struct Bed {
    pub(super) program: Program,
    key: KeyPair,
    source: String,
}

pub(super) const CALL: [&str; 3] = ["call", "kinds.divide", r#"{"a": 6, "b": 3}"#];

impl Bed {
    pub(super) fn new() -> Self {
        let program = Program::new();
        let source = source(&program, "kinds", "version = \"1.0.0\"\n", &component());
        Self { program, key: KeyPair::generate_unencrypted_keypair().expect("a key"), source }
    }

    /// Returns `true` if a command succeeds, and its output joined into one line.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let (status, out, err) = self.program.run(arguments);
        (status.success(), (out + &err).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    pub(super) fn done(&self, arguments: &[&str]) -> String {
        let (success, said) = self.run(arguments);
        assert!(success, "{arguments:?}: {said}");
        said
    }

    pub(super) fn refused(&self, arguments: &[&str], why: &str) -> String {
        let (success, said) = self.run(arguments);
        assert!(!success && said.contains(why), "{arguments:?}: {said}");
        said
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.program.workspace().join(name).display().to_string()
    }

    /// Packs a version of the plugin.
    pub(super) fn pack(&self, version: &str, more: &str) -> String {
        source(&self.program, "kinds", &format!("version = \"{version}\"\n{more}"), &component());
        let out = self.path(&format!("kinds-{version}.plugin"));
        self.done(&["plugin", "pack", &self.source, "--out", &out]);
        out
    }

    fn sign(&self, file: &str) {
        let secret = self.key.sk.to_box(None).expect("a box").into_string();
        self.program.put("workspace/key.sec", secret);
        self.done(&["plugin", "sign", file, "--key", &self.path("key.sec")]);
    }

    pub(super) fn signed(&self, version: &str, more: &str) -> String {
        let file = self.pack(version, more);
        self.sign(&file);
        file
    }

    pub(super) fn policy(&self, rules: &str, signer: &str) {
        let key = self.key.pk.to_base64();
        let text =
            format!("version = 1\n[plugins]\n{rules}\n[plugins.signers.acme]\nkey = \"{key}\"\n{signer}\n");
        self.program.put("home/.scorpiox/policy.toml", text);
    }

    /// Adds a file with the hash that a reviewer would pass.
    pub(super) fn add(&self, file: &str) -> String {
        let hash = hash_of(&self.program, file);
        self.done(&["plugin", "add", file, "--yes", &hash])
    }

    pub(super) fn version(&self) -> String {
        let list = self.done(&["plugin", "list"]);
        list.split_whitespace().nth(1).unwrap_or_default().to_owned()
    }
}

pub(super) fn component() -> Vec<u8> {
    fs::read(guest("kinds")).expect("the component")
}

const CLOCK: &str = "[capabilities.clock]\nwhy = \"to know the time\"\n";

#[test]
fn a_pack_is_the_same_bytes_each_time_and_is_added_as_its_folder_is() {
    let bed = Bed::new();
    for (file, text) in [("README.md", "# Kinds"), ("LICENSE", "free"), ("Makefile", "all:"), ("src/x", "x")]
    {
        bed.program.put(&format!("workspace/sources/kinds/{file}"), text);
    }
    let one = bed.path("one.plugin");
    let said = bed.done(&["plugin", "pack", &bed.source, "--out", &one]);
    assert!(said.contains("It has plugin.toml, c.wasm, LICENSE, README.md"), "{said}");
    assert!(said.contains("Left out Makefile, src/"), "{said}");
    let other = bed.path("other.plugin");
    bed.done(&["plugin", "pack", &bed.source, "--out", &other]);
    assert!(fs::read(&one).expect("a pack") == fs::read(&other).expect("a pack"));
    // Repacking over the same package leaves it unchanged; overwriting another file is refused.
    bed.done(&["plugin", "pack", &bed.source, "--out", &one]);
    bed.program.put("workspace/other.plugin", "precious");
    bed.refused(&["plugin", "pack", &bed.source, "--out", &other], "exists and is another file");
    assert_eq!(fs::read(&other).expect("a file"), b"precious");
    assert_eq!(bed.done(&["plugin", "hash", &one]), bed.done(&["plugin", "hash", &bed.source]));
    bed.add(&one);
    assert!(bed.done(&CALL).contains('2'));
    let shown = bed.done(&["plugin", "show", "kinds"]);
    assert!(shown.contains("From ") && shown.contains("one.plugin sha256 "), "{shown}");
    // Only the files needed at run time are installed.
    let installed = bed.program.home().join(".scorpiox/plugins/kinds");
    let mut names: Vec<_> = fs::read_dir(installed)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["c.wasm", "origin.json", "plugin.toml"]);
}

#[test]
fn what_cannot_be_packed_is_said() {
    let bed = Bed::new();
    for (version, why) in
        [("", "has version = \"\"; write a version with three numbers"), ("1.0", "three numbers")]
    {
        source(&bed.program, "kinds", &format!("version = \"{version}\"\n"), &component());
        bed.refused(&["plugin", "pack", &bed.source], why);
    }
    bed.refused(
        &["plugin", "pack", &bed.path("none")],
        "none does not exist; name a folder with plugin.toml",
    );
    assert!(!bed.program.workspace().join("kinds-1.0.plugin").exists());
}

#[test]
fn a_damaged_pack_installs_nothing() {
    let bed = Bed::new();
    let file = bed.pack("1.0.0", "");
    let whole = fs::read(&file).expect("a pack");
    let mut longer = whole.clone();
    longer.extend_from_slice(&[0; 512]);
    // Turns the second entry into a symbolic link.
    let mut link = whole.clone();
    link[1024 + 156] = b'2';
    for bytes in [&whole[..whole.len() / 2], &whole[..1030], &longer, &link] {
        bed.program.put("workspace/bad.plugin", bytes);
        let said = bed.refused(&["plugin", "add", &bed.path("bad.plugin")], "bad.plugin");
        assert!(said.contains("pack"), "{said}");
    }
    let plugins = bed.program.home().join(".scorpiox/plugins");
    let left = fs::read_dir(plugins)
        .map_or(0, |entries| entries.flatten().filter(|entry| entry.file_name() != *".lock").count());
    assert_eq!(left, 0);
}

#[test]
fn a_signature_is_verified_with_the_key_a_pub_file_or_a_signer() {
    let bed = Bed::new();
    let file = bed.pack("1.0.0", "");
    bed.refused(&["plugin", "verify", &file], "has no signature");
    bed.sign(&file);
    bed.refused(&["plugin", "verify", &file], "no signer of the policy has");
    let key = bed.key.pk.to_base64();
    let said = bed.done(&["plugin", "verify", &file, "--key", &key]);
    assert!(said.contains("is kinds 1.0.0, signed by the key RW"), "{said}");
    bed.program.put("workspace/acme.pub", format!("untrusted comment: x\n{key}\n"));
    bed.done(&["plugin", "verify", &file, "--key", &bed.path("acme.pub")]);
    bed.policy("", "names = [\"kinds\"]");
    bed.done(&["plugin", "verify", &file]);
    bed.done(&["plugin", "verify", &file, "--signer", "acme"]);
    bed.refused(&["plugin", "verify", &file, "--signer", "other"], "has no \"other\"; it has: acme");
    bed.policy("", "names = [\"acme-*\"]");
    bed.refused(&["plugin", "verify", &file], "does not cover kinds");
    let other = KeyPair::generate_unencrypted_keypair().expect("a key").pk.to_base64();
    bed.refused(&["plugin", "verify", &file, "--key", &other], "made with another key");
    // The signature of another file, and a modified one.
    bed.policy("", "");
    let second = bed.pack("1.1.0", "");
    fs::copy(format!("{file}.minisig"), format!("{second}.minisig")).expect("copies");
    bed.refused(&["plugin", "verify", &second], "does not match");
    bed.refused(&["plugin", "add", &second], "the signature by acme does not count");
    fs::write(format!("{second}.minisig"), "x").expect("writes");
    bed.refused(&["plugin", "add", &second], "it is not a minisign signature");
}

#[test]
fn a_component_alone_is_signed_by_the_name_and_version_that_its_signer_says() {
    let bed = Bed::new();
    bed.program.put("workspace/download.wasm", component());
    bed.program.put("workspace/key.sec", bed.key.sk.to_box(None).expect("a box").into_string());
    let (file, key) = (bed.path("download.wasm"), bed.path("key.sec"));
    bed.refused(&["plugin", "sign", &file, "--key", &key], "say it with --version");
    bed.done(&["plugin", "sign", &file, "--key", &key, "--name", "kinds", "--version", "2.0.0"]);
    bed.policy("require_signature = true", "");
    let hash = bed.done(&["plugin", "hash", &file]);
    let said = bed.done(&["plugin", "add", &file, "--yes", &hash]);
    assert!(said.contains("Signed by acme") && said.contains("kinds is approved"), "{said}");
    assert_eq!(bed.version(), "2.0.0");
    bed.done(&CALL);
}

#[test]
fn a_protected_key_takes_its_password_from_a_file_or_standard_input() {
    let bed = Bed::new();
    let file = bed.pack("1.0.0", "");
    let key = KeyPair::generate_encrypted_keypair(Some("open sesame".to_owned())).expect("a key");
    bed.program.put("workspace/key.sec", key.sk.to_box(None).expect("a box").into_string());
    bed.program.put("workspace/good", "open sesame\n");
    bed.program.put("workspace/bad", "open barley\n");
    let (secret, bad, good) = (bed.path("key.sec"), bed.path("bad"), bed.path("good"));
    let sign = ["plugin", "sign", &file, "--key", &secret, "--password-file"];
    bed.refused(&[&sign[..], &[&bad]].concat(), "the password is wrong");
    assert!(!PathBuf::from(format!("{file}.minisig")).exists());
    bed.done(&[&sign[..], &[&good]].concat());
    bed.done(&["plugin", "verify", &file, "--key", &key.pk.to_base64()]);
    bed.refused(&["plugin", "sign", &file, "--key", &good], "is not a minisign secret key");
}

/// `minisign` is the reference implementation of the format. The test runner installs it.
#[cfg(unix)]
#[test]
fn minisign_verifies_what_is_signed_here_and_the_other_way_around() {
    let bed = Bed::new();
    let run = |arguments: &[&str]| {
        let output = Command::new("minisign").args(arguments).output().expect("minisign is installed");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let (public, secret) = (bed.path("k.pub"), bed.path("k.sec"));
    run(&["-G", "-W", "-p", &public, "-s", &secret]);
    let file = bed.pack("1.0.0", "");
    bed.done(&["plugin", "sign", &file, "--key", &secret]);
    run(&["-V", "-H", "-p", &public, "-m", &file]);
    let said = bed.done(&["plugin", "verify", &file, "--key", &public]);
    let sha256 = said.split_whitespace().last().expect("a hash");
    let comment = format!("name=kinds version=1.0.0 sha256={sha256}");
    run(&["-S", "-s", &secret, "-m", &file, "-t", &comment]);
    bed.done(&["plugin", "verify", &file, "--key", &public]);
    run(&["-S", "-s", &secret, "-m", &file, "-t", "something else"]);
    bed.refused(&["plugin", "verify", &file, "--key", &public], "is not `name=NAME");
    // The legacy signature algorithm.
    run(&["-S", "-l", "-s", &secret, "-m", &file, "-t", &comment]);
    bed.refused(&["plugin", "verify", &file, "--key", &public], "of the old kind");
}

/// The keys made here and those of `minisign` are the same kind of files.
#[cfg(unix)]
#[test]
fn minisign_uses_a_key_made_here() {
    use std::os::unix::fs::PermissionsExt as _;

    let bed = Bed::new();
    let run = |arguments: &[&str]| {
        let output = Command::new("minisign").args(arguments).output().expect("minisign is installed");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let said = bed.done(&["plugin", "keygen", "acme", "--no-password"]);
    let (public, secret) = (bed.path("acme.pub"), bed.path("acme.key"));
    let mode = fs::metadata(&secret).expect("a key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    bed.refused(&["plugin", "keygen", "acme", "--no-password"], "acme.key exists, and no key is overwritten");
    let rules = &said[said.find("[plugins.signers.acme] key = \"RW").expect("the policy's lines")..];
    let rules = rules.replacen("] ", "]\n", 1);
    let file = bed.pack("1.0.0", "");
    bed.done(&["plugin", "sign", &file, "--key", &secret]);
    run(&["-V", "-H", "-p", &public, "-m", &file]);
    let verified = bed.done(&["plugin", "verify", &file, "--key", &public]);
    let sha256 = verified.split_whitespace().last().expect("a hash");
    let comment = format!("name=kinds version=1.0.0 sha256={sha256}");
    run(&["-S", "-s", &secret, "-m", &file, "-t", &comment]);
    // The printed lines of the policy trust the key.
    bed.program.put("home/.scorpiox/policy.toml", format!("version = 1\n{rules}\n"));
    let said = bed.done(&["plugin", "verify", &file]);
    assert!(said.contains("is kinds 1.0.0, signed by acme (policy.toml line 2)"), "{said}");
    // A pack is signed at once, and a folder by its hash.
    fs::remove_file(&file).and_then(|()| fs::remove_file(format!("{file}.minisig"))).expect("removed");
    bed.done(&["plugin", "pack", &bed.source, "--out", &file, "--sign", &secret]);
    run(&["-V", "-H", "-p", &public, "-m", &file]);
    bed.refused(&["plugin", "sign", &bed.source, "--key", &secret, "--version", "2.0.0"], "is a folder");
    bed.done(&["plugin", "sign", &bed.source, "--key", &secret]);
    run(&["-V", "-p", &public, "-m", &format!("{}/plugin.hash", bed.source)]);
    let (_, said) = bed.run(&["plugin", "add", &bed.source]);
    assert!(said.contains("Signed by acme ([plugins.signers], policy.toml line 2)"), "{said}");
}

#[test]
fn a_new_key_takes_its_password_from_a_file_or_standard_input() {
    let bed = Bed::new();
    let file = bed.pack("1.0.0", "");
    bed.refused(&["plugin", "keygen", "acme"], "--no-password makes a key without one");
    bed.program.put("workspace/password", "open sesame\n");
    let password = bed.path("password");
    bed.done(&["plugin", "keygen", "acme", "--password-file", &password]);
    let (key, public) = (bed.path("acme.key"), bed.path("acme.pub"));
    bed.refused(&["plugin", "sign", &file, "--key", &key], "the password is wrong");
    bed.done(&["plugin", "sign", &file, "--key", &key, "--password-file", &password]);
    bed.done(&["plugin", "verify", &file, "--key", &public]);
}

#[test]
fn where_signatures_are_required_nothing_unsigned_is_added_or_runs() {
    let bed = Bed::new();
    let unsigned = bed.pack("1.0.0", "");
    bed.add(&unsigned);
    bed.done(&CALL);
    bed.policy("require_signature = true", "");
    bed.refused(&CALL, "has to be signed");
    let list = bed.done(&["plugin", "list"]);
    assert!(list.contains("the policy closes it") && list.contains("has to be signed"), "{list}");
    bed.refused(&["plugin", "add", &bed.source], "has to be signed");
    bed.sign(&unsigned);
    bed.add(&unsigned);
    bed.done(&CALL);
}

#[test]
fn a_signer_who_is_taken_out_leaves_a_plugin_that_waits_for_a_person() {
    let bed = Bed::new();
    bed.policy("", "");
    let said = bed.add(&bed.signed("1.0.0", ""));
    assert!(said.contains("Signed by acme"), "{said}");
    bed.done(&CALL);
    bed.program.put("home/.scorpiox/policy.toml", "version = 1\n");
    bed.refused(&CALL, "it waits for approval again");
    for command in [&["plugin", "list"][..], &["doctor"]] {
        let (_, said) = bed.run(command);
        assert!(said.contains("it waits for approval again"), "{said}");
    }
    let hash = bed.done(&["plugin", "hash", &bed.path("kinds-1.0.0.plugin")]);
    bed.done(&["plugin", "approve", "kinds", "--yes", &hash]);
    bed.done(&CALL);
}

#[test]
fn a_signed_update_needs_no_question_if_it_asks_for_no_more() {
    let bed = Bed::new();
    bed.policy("", "approve = \"signed\"");
    let first = bed.signed("1.0.0", "");
    // The first version needs the user's approval, even if it is signed.
    bed.refused(&["plugin", "add", &first], "nobody can be asked here");
    bed.add(&first);
    let second = bed.signed("1.1.0", "description = \"Kinds of things\"\n");
    let said = bed.done(&["plugin", "update", "kinds", "--from", &second]);
    assert!(said.contains("It asks for no more.") && said.contains("kinds is approved"), "{said}");
    assert_eq!(bed.version(), "1.1.0");
    let (_, line) = bed.run(&["audit", "--json"]);
    assert!(line.contains("plugin update") && line.contains("policy.toml line"), "{line}");
    // More permissions, higher limits and weaker statements about side effects need the user's approval.
    for (version, more, sign) in [
        ("1.2.0", CLOCK, "+ clock"),
        ("1.2.1", "[limits]\ncpu_seconds = 9\n", "+ limit cpu_seconds: 5 before, 9 now"),
        (
            "1.2.2",
            "[tools.divide]\nread_only = true\n",
            "+ tool divide: now says that it changes nothing (read_only)",
        ),
        ("1.2.3", "[secrets]\nKEY = \"of x\"\n", "+ secret KEY: of x"),
    ] {
        let file = bed.signed(version, more);
        let said = bed.refused(&["plugin", "update", "kinds", "--from", &file], "nobody can be asked here");
        assert!(said.contains(sign) && said.contains("Nothing was changed"), "{said}");
    }
    // An unsigned version and a version signed with another key are not accepted.
    let unsigned = bed.pack("1.3.0", "");
    bed.refused(&["plugin", "add", &unsigned], "nobody can be asked here");
    assert_eq!(bed.version(), "1.1.0");
    bed.done(&CALL);
    // Under a policy in which the user approves each version, the same signature is not sufficient.
    bed.policy("", "");
    let third = bed.signed("1.4.0", "");
    bed.refused(&["plugin", "add", &third], "nobody can be asked here");
}

#[test]
fn an_older_version_is_taken_by_a_person_alone() {
    let bed = Bed::new();
    bed.policy("", "approve = \"signed\"");
    let (old, new) = (bed.signed("1.9.0", ""), bed.signed("1.10.0", ""));
    bed.add(&new);
    bed.refused(&["plugin", "add", &old], "kinds 1.9.0 is older than 1.10.0, which is approved");
    let hash = bed.done(&["plugin", "hash", &old]);
    bed.refused(&["plugin", "add", &old, "--yes", &hash], "--allow-downgrade asks about it");
    bed.refused(&["plugin", "add", &old, "--allow-downgrade"], "nobody can be asked here");
    assert_eq!(bed.version(), "1.10.0");
    bed.done(&["plugin", "add", &old, "--allow-downgrade", "--yes", &hash]);
    assert_eq!(bed.version(), "1.9.0");
    // A signature that approves automatically does not approve an older version.
    bed.add(&new);
    bed.policy("allow = [\"signer:acme\"]\napprove = \"policy\"", "");
    bed.refused(&["plugin", "add", &old, "--allow-downgrade"], "a signature approves no older version");
    bed.done(&CALL);
    // A hash in the policy approves this exact version, at any position in the list.
    for allow in [
        format!("\"signer:acme\", \"kinds@sha256:{hash}\""),
        format!("\"kinds@sha256:{hash}\", \"signer:acme\""),
    ] {
        bed.policy(&format!("allow = [{allow}]\napprove = \"policy\""), "");
        bed.done(&["plugin", "add", &old]);
        assert_eq!(bed.version(), "1.9.0");
        bed.done(&["plugin", "add", &new]);
        assert_eq!(bed.version(), "1.10.0");
    }
}

#[test]
fn without_an_index_an_update_of_all_looks_where_each_came_from() {
    let bed = Bed::new();
    assert_eq!(bed.done(&["plugin", "update"]), "No plugin is installed.");
    let file = bed.pack("1.0.0", "");
    bed.add(&file);
    assert_eq!(
        bed.done(&["plugin", "update"]),
        "kinds 1.0.0 is current: exactly this is installed and approved."
    );
    let newer = bed.pack("1.1.0", "");
    fs::copy(&newer, &file).expect("another version in the same place");
    let said = bed.refused(&["plugin", "update"], "kinds stays as it was approved before");
    assert!(said.contains("kinds 1.1.0"), "{said}");
    assert_eq!(bed.version(), "1.0.0");
    fs::remove_file(&file).expect("removed");
    bed.refused(&["plugin", "update"], "scorpiox-code: kinds: ");
}

#[test]
fn an_index_says_what_is_newer_and_an_update_is_what_it_lists() {
    let bed = Bed::new();
    bed.add(&bed.pack("1.0.0", ""));
    let file = bed.pack("1.1.0", "");
    bed.refused(&["plugin", "outdated"], "the policy names no index");
    let index = bed.path("index.json");
    bed.program.put("home/.scorpiox/policy.toml", format!("version = 1\n[plugins]\nindex = {index:?}\n"));
    let sha256 = {
        use sha2::{Digest as _, Sha256};
        let digest = Sha256::digest(fs::read(&file).expect("a pack"));
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let listed_as = |version: &str, address: &str, sha256: &str| {
        let entry = format!(
            "{{\"name\": \"kinds\", \"version\": \"{version}\", \"description\": \"Kinds of things\", \
             \"address\": \"{address}\", \"sha256\": \"{sha256}\"}}"
        );
        bed.program.put("workspace/index.json", format!("{{\"version\": 1, \"plugins\": [{entry}]}}"));
    };
    let listed = |address: &str, sha256: &str| listed_as("1.1.0", address, sha256);
    listed("kinds-1.1.0.plugin", &sha256);
    let said = bed.done(&["plugin", "outdated"]);
    assert!(said.contains("kinds 1.0.0: 1.1.0 is there"), "{said}");
    let said = bed.done(&["plugin", "search", "THINGS"]);
    assert!(said.contains("kinds 1.1.0 (installed) | Kinds of things"), "{said}");
    assert!(bed.done(&["plugin", "search", "weather"]).contains("nothing with these words"));
    for (address, sha256, why) in [
        ("kinds-1.1.0.plugin", &*"0".repeat(64), "and the index lists 0000"),
        ("../kinds-1.1.0.plugin", &sha256, "without .."),
        ("none.plugin", &sha256, "does not exist"),
        (
            "ftp://plugins.example.com/x",
            &sha256,
            "it is no address of a plugin; write oci://REGISTRY/NAME:TAG, or one with https://",
        ),
    ] {
        listed(address, sha256);
        bed.refused(&["plugin", "update", "kinds"], why);
    }
    listed_as("3.0.0", "kinds-1.1.0.plugin", &sha256);
    bed.refused(&["plugin", "update", "kinds"], "is kinds 1.1.0, and the index lists it as kinds 3.0.0");
    listed("kinds-1.1.0.plugin", &sha256);
    let hash = bed.done(&["plugin", "hash", &file]);
    bed.done(&["plugin", "update", "kinds", "--yes", &hash]);
    assert_eq!(bed.version(), "1.1.0");
    assert!(bed.done(&["plugin", "outdated"]).contains("Nothing that is installed has a newer version"));
    bed.program.put("workspace/index.json", "{");
    bed.refused(&["plugin", "outdated"], "the index cannot be used");
}

#[test]
fn another_name_does_not_lead_around_a_rule_about_a_plugin() {
    let bed = Bed::new();
    bed.program.put("home/.scorpiox/policy.toml", "version = 1\n[plugins]\ndeny = [\"kinds\"]\n");
    let add = ["plugin", "add", &bed.source, "--name", "sorts"];
    bed.refused(&add, "plugin sorts is denied by \"kinds\"");
    bed.refused(&add, "its own name is kinds");
    // The plugin was added before the rule existed.
    bed.program.put("home/.scorpiox/policy.toml", "version = 1\n");
    let hash = bed.done(&["plugin", "hash", &bed.source, "--name", "sorts"]);
    bed.done(&[&add[..], &["--yes", &hash]].concat());
    let call = ["call", "sorts.divide", r#"{"a": 6, "b": 3}"#];
    bed.done(&call);
    bed.program.put("home/.scorpiox/policy.toml", "version = 1\n[plugins]\ndeny = [\"kinds\"]\n");
    bed.refused(&call, "its own name is kinds");
}
