//! Tests of `policy suggest`.

use scorpiox_tests::Program;
use serde_json::json;

use super::told;
use crate::audit::lines;

const CURL: &str = "curl -s -o /dev/null -m 5 https://packages.example.com/; curl -s -m 5 http://git.example.com:8443/; \
                    curl -s -m 5 https://xn--e1awd7f.example.com/; true";

fn suggest(program: &Program, more: &[&str]) -> String {
    let (status, out, errors) = program.run(&[&["policy", "suggest"], more].concat());
    assert!(status.success(), "{out}{errors}");
    out
}

#[test]
fn exactly_what_was_refused_is_suggested() {
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = [\"TaskManager\"]\n");
    assert!(suggest(&program, &[]).contains("Nothing to suggest."), "an empty audit");
    let mut server = program.start();
    server.initialize("2025-11-25");
    for _ in 0..2 {
        told(&mut server, "Bash", json!({ "command": CURL }));
    }
    told(&mut server, "TaskManager", json!({ "action": "list" }));
    told(&mut server, "ReadDocs", json!({ "url": "/srv/reports/q4.md" }));
    lines(&program, 4);
    let out = suggest(&program, &[]);
    let folder = "files in /srv/reports, for ReadDocs and ReadImage: refused once, last at 20";
    assert!(out.contains(folder) && out.contains("`scorpiox-code policy allow file FILE`"), "{out}");
    assert!(!out.contains("policy allow file /srv"), "the folder is more than the file: {out}");
    for words in [
        "packages.example.com:443, for commands: refused 2 times, last at 20",
        "  scorpiox-code policy allow host packages.example.com\n",
        "  scorpiox-code policy allow host git.example.com:8443\n",
        "tool TaskManager: refused once, last at 20",
        "  scorpiox-code policy allow tool TaskManager\n",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(out.contains("xn--e1awd7f.example.com:443") && !out.contains("allow host xn--"), "{out}");
    // What is suggested has the effect, and is not suggested again.
    assert!(program.run(&["policy", "allow", "host", "packages.example.com"]).0.success());
    let out = suggest(&program, &["--since", "1h"]);
    assert!(
        !out.contains("packages.example.com") && out.contains("1 refused before are allowed now."),
        "{out}"
    );
    let (status, _, said) = program.run(&["policy", "suggest", "--since", "never"]);
    assert!(status.code() == Some(2) && said.contains("write how long ago"), "{said}");
}

#[test]
fn a_change_without_an_effect_is_not_suggested() {
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    program.put(
        "workspace/.scorpiox/policy.toml",
        "version = 1\n[tools]\ndeny = [\"TaskManager\"]\n[shell.profile.workspace]\n\
         network = { mode = \"allowlist\", hosts = [] }\n",
    );
    let mut server = program.start();
    server.initialize("2025-11-25");
    told(&mut server, "Bash", json!({ "command": CURL }));
    told(&mut server, "TaskManager", json!({ "action": "list" }));
    lines(&program, 2);
    let out = suggest(&program, &[]);
    assert!(out.contains("tool TaskManager") && !out.contains("policy allow tool"), "{out}");
    assert!(out.contains("a change of your policy.toml cannot allow it"), "{out}");
}
