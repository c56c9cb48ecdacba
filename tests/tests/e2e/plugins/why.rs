//! Tests of `plugin why`, which names the deciding policy line.

use std::fs;

use scorpiox_tests::Program;

use super::{guest, install, source};

const MANIFEST: &str = "[capabilities.files]\nwhy = \"reads\"\nread = [\"workspace\"]\n\
    [capabilities.web]\nwhy = \"pages\"\nhosts = [\"*.example.com\", \"127.0.0.1:9\"]\n\
    [capabilities.env]\nwhy = \"who\"\nnames = [\"USER\"]\n\
    [capabilities.shell]\nwhy = \"runs\"\nprofile = \"readonly\"\n";

#[test]
fn each_capability_is_explained() {
    let program = Program::new();
    program.put("workspace/.env", "");
    program.put("workspace/a.txt", "");
    let bytes = fs::read(guest("outsider")).expect("the component");
    let folder = source(&program, "outsider", MANIFEST, &bytes);
    install(&program, &folder);
    let why = |arguments: &[&str]| {
        let arguments = [&["plugin", "why", "outsider"], arguments].concat();
        let (status, out, err) = program.run(&arguments);
        (status.success(), out + &err)
    };
    for (arguments, allowed, expected) in [
        (vec!["files", "a.txt"], true, "write"),
        (vec!["files", "a.txt"], true, "outside of the folders that were granted to be written"),
        (vec!["files", ".env"], false, "denied by \"**/.env!("),
        (vec!["files", "/etc/passwd"], false, "outside of the folders"),
        (vec!["env", "USER"], true, "Its reason: who"),
        (vec!["env", "PATH"], false, "PATH is none of them"),
        (vec!["web", "https://example.org/"], false, "none of the hosts that were approved"),
        (vec!["web", "http://127.0.0.1:9/"], false, "allow_private"),
        (vec!["shell"], true, "profile readonly"),
        (vec!["clock"], false, "plugin.toml has no [capabilities.clock]"),
    ] {
        let (success, said) = why(&arguments);
        assert_eq!(success, allowed, "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let (_, said) = why(&["files", "a.txt"]);
    assert!(said.starts_with("read ") && said.contains("a.txt: yes."), "{said}");
    let (success, said) = why(&["env"]);
    assert!(!success && said.contains("name the variable"), "{said}");
}
