//! Tests of `policy allow` and `policy deny`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use scorpiox_tests::Program;
use scorpiox_tests::container::Refused;
use serde_json::json;

use super::told;

const HOST: &str = "packages.example.com";

fn own(program: &Program) -> String {
    fs::read_to_string(program.home().join(".scorpiox/policy.toml")).unwrap_or_default()
}

/// Runs `policy` and returns its output. Panics if it fails.
fn policy(program: &Program, arguments: &[&str]) -> String {
    let (status, out, errors) = program.run(&[&["policy"], arguments].concat());
    assert!(status.success(), "{arguments:?}: {out}{errors}");
    out
}

/// Runs `policy`, which has to fail, and returns its message.
fn refused(program: &Program, arguments: &[&str]) -> String {
    let (status, out, errors) = program.run(&[&["policy"], arguments].concat());
    assert_eq!(status.code(), Some(2), "{arguments:?}: {out}{errors}");
    errors
}

fn put(program: &Program, text: &str) {
    program.put("home/.scorpiox/policy.toml", text);
}

#[test]
fn a_host_is_allowed_in_one_step_while_the_server_runs() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(told(&mut server, "Bash", json!({ "command": "echo yes" })).starts_with("yes"));
    let shown = policy(&program, &["allow", "host", HOST]);
    assert!(shown.contains("hosts") && shown.contains(HOST) && shown.contains("policy.toml"), "{shown}");
    assert!(policy(&program, &["why", "host", HOST, "--profile", "workspace"]).contains("allowed"));
    let shown = told(&mut server, "Bash", json!({ "command": "env | grep -i https_proxy" }));
    assert!(shown.contains("exit code 0"), "the running server has a proxy: {shown}");
    // The same wish again changes nothing.
    let text = own(&program);
    assert!(policy(&program, &["allow", "host", HOST]).contains("Nothing to change"));
    assert_eq!(own(&program), text);
}

#[test]
fn comments_and_order_stay() {
    let program = Program::new();
    let text = "# mine\nversion = 1\n\n[web]  # pages\nenabled = true\n\n[shell.profile.workspace.network]\n\
                mode = \"allowlist\" # few\nhosts = [\n    # the registry\n    \"a.example.com\",\n]\n";
    put(&program, text);
    policy(&program, &["allow", "host", HOST, "b.example.com:8443"]);
    let changed = own(&program);
    for line in text.lines() {
        assert!(changed.contains(line), "{line:?} in {changed}");
    }
    assert!(changed.contains(HOST) && changed.contains("b.example.com:8443"), "{changed}");
    policy(&program, &["deny", "host", HOST]);
    assert!(!own(&program).contains(HOST) && own(&program).contains("a.example.com"), "{}", own(&program));
}

#[test]
fn patterns_and_ports_of_hosts_are_covered() {
    let program = Program::new();
    put(&program, "version = 1\n");
    policy(
        &program,
        &["allow", "host", "*.example.com", "git.example.org:22", "git.example.org", "other.example.org"],
    );
    assert!(policy(&program, &["why", "host", "a.example.com"]).contains("allowed"));
    policy(&program, &["allow", "host", "b.example.com:8443"]);
    policy(&program, &["deny", "host", "*.example.com", "git.example.org"]);
    let kept = own(&program);
    assert!(!kept.contains("example.com") && !kept.contains("git.") && kept.contains("other."), "{kept}");
    assert!(policy(&program, &["deny", "host", "*.example.com"]).contains("Nothing to change"));
    let error = refused(&program, &["allow", "host", "https://a.example.com/x"]);
    assert!(error.contains("write its host: a.example.com"), "{error}");
}

#[test]
fn a_host_that_stays_reachable_is_never_called_denied() {
    let program = Program::new();
    let network = |value: &str| format!("version = 1\n[shell.profile.workspace]\nnetwork = {value}\n");
    for (value, subject, why) in [
        ("{ mode = \"open\" }", "*.example.com", "is open (policy.toml line 3)"),
        ("{ mode = \"open\" }", "a.example.com", "is open (policy.toml line 3)"),
        ("{ mode = \"allowlist\", hosts = [\"*.com\", \"a.example.com\"] }", "*.example.com", "\"*.com\" ("),
        ("{ mode = \"allowlist\", hosts = [\"*.example.com\"] }", "*.example.com:443", "\"*.example.com\" ("),
        (
            "{ mode = \"allowlist\", hosts = [\"*.example.com:22\"] }",
            "a.example.com",
            "\"*.example.com:22\" (",
        ),
        ("{ mode = \"allowlist\", hosts = [\"*\"] }", "*.example.com", "stands for every host"),
        ("{ mode = \"allowlist\", hosts = [] }", "*.*.example.com", "has a `*`"),
    ] {
        let text = network(value);
        put(&program, &text);
        let error = refused(&program, &["deny", "host", subject]);
        assert!(error.contains(why), "{value} {subject}: {error}");
        assert_eq!(own(&program), text);
    }
    put(&program, &network("{ mode = \"allowlist\", hosts = [\"*.com\", \"a.example.org:22\"] }"));
    policy(&program, &["deny", "host", "*.example.org"]);
    assert!(policy(&program, &["deny", "host", "*.example.org"]).contains("Nothing to change"));
}

#[test]
fn line_ends_and_the_byte_order_mark_stay_and_a_read_only_file_is_not_written() {
    let program = Program::new();
    put(&program, "\u{feff}# mine\r\nversion = 1\r\n");
    policy(&program, &["allow", "host", HOST]);
    let text = own(&program);
    assert!(text.starts_with("\u{feff}# mine\r\n") && text.contains(HOST), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
    let file = program.home().join(".scorpiox/policy.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).expect("set");
    assert!(refused(&program, &["deny", "host", HOST]).contains("is read-only"));
    assert_eq!(own(&program), text);
}

#[test]
fn paths_are_allowed_and_denied() {
    let program = Program::new();
    policy(&program, &["allow", "write", "~/builds"]);
    assert!(policy(&program, &["why", "write", "~/builds/x"]).contains("allowed"));
    assert!(policy(&program, &["why", "write", "x"]).contains("allowed"), "the workspace stays");
    policy(&program, &["deny", "read", "**/*.pem"]);
    let (status, said, _) = program.run(&["policy", "why", "read", "a.pem"]);
    assert!(!status.success() && said.contains("denied"), "{said}");
    let (status, ..) = program.run(&["policy", "why", "read", ".env"]);
    assert!(!status.success(), "the built-in globs stay");
    let opened = policy(&program, &["allow", "read", "a.pem"]);
    let told = "This opens all files that \"**/*.pem\" covers, in every folder, not only one.";
    assert!(opened.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{opened}");
    let single = policy(&program, &["deny", "read", "b"]) + &policy(&program, &["allow", "write", "~/more"]);
    assert!(!single.contains("This opens"), "{single}");
    assert!(policy(&program, &["why", "read", "a.pem"]).contains("allowed"));
}

#[test]
fn tools_are_denied_and_allowed() {
    let program = Program::new();
    policy(&program, &["deny", "tool", "WebSearch"]);
    let (status, ..) = program.run(&["policy", "why", "tool", "WebSearch"]);
    assert!(!status.success());
    policy(&program, &["allow", "tool", "WebSearch"]);
    policy(&program, &["why", "tool", "WebSearch"]);
    assert!(refused(&program, &["deny", "tool", "WebSerch"]).contains("did you mean WebSearch?"));
}

#[test]
fn a_change_that_cannot_help_writes_nothing() {
    let program = Program::new();
    put(&program, "version = 1\n");
    let error = refused(&program, &["allow", "write", ".git/hooks/pre-commit"]);
    assert!(error.contains("cannot allow it") && error.contains("protected"), "{error}");
    let error = refused(&program, &["allow", "host", "a b"]);
    assert!(error.contains("\"a b\" is not a host name"), "{error}");
    assert_eq!(own(&program), "version = 1\n");
    put(&program, "version = 1\n[tools\n");
    assert!(refused(&program, &["allow", "host", HOST]).contains("policy.toml line 2"));
    assert_eq!(own(&program), "version = 1\n[tools\n");
}

#[test]
fn a_link_to_the_policy_stays() {
    let program = Program::new();
    let kept = program.put("home/settings/policy.toml", "version = 1\n");
    fs::set_permissions(kept.parent().expect("a folder"), fs::Permissions::from_mode(0o700)).expect("set");
    fs::create_dir_all(program.home().join(".scorpiox")).expect("made");
    let link = program.home().join(".scorpiox/policy.toml");
    std::os::unix::fs::symlink(&kept, &link).expect("a link");
    policy(&program, &["allow", "host", HOST]);
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&kept).expect("the file").contains(HOST));
}

#[test]
fn a_list_of_hosts_is_not_written_where_no_sandbox_can_enforce_it() {
    let program = Program::new().refusing(Refused::AllNamespaces);
    let error = refused(&program, &["allow", "host", HOST]);
    assert!(error.contains("nothing was written"), "{error}");
    assert_eq!(own(&program), "");
}

#[test]
fn print_shows_the_change_and_writes_nothing() {
    let program = Program::new();
    let shown = policy(&program, &["allow", "host", HOST, "--print"]);
    assert!(shown.contains(HOST) && !shown.contains("Wrote"), "{shown}");
    assert_eq!(own(&program), "");
}
