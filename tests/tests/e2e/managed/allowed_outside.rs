//! Tests of refusals of pages, files and workspaces, which end with the command that allows the access.

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::told;

fn started(program: &Program) -> Started {
    let mut server = program.start();
    server.introduce("client", "2025-11-25", json!({}));
    server.notify("notifications/initialized", json!({}));
    server
}

fn program(policy: &str) -> Program {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n{policy}"));
    program
}

/// Runs the command that a refusal names.
fn obey(program: &Program, refusal: &str) -> String {
    let (_, rest) = refusal.split_once("`scorpiox-code ").expect("a command");
    let command = rest.split_once('`').expect("an end").0;
    let (status, out, err) = program.run(&command.split(' ').collect::<Vec<_>>());
    assert!(status.success(), "{command}: {out}{err}");
    out
}

#[test]
fn a_refused_file_is_read_after_the_command() {
    let program = Program::new();
    let secret = program.put("workspace/secret/a.md", "told in secret");
    let secret = secret.canonicalize().expect("a path");
    let deny = format!("deny = [{secret:?}, \"private\"] # kept");
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n# a comment\n[files]\n{deny}\n"));
    let outside = program.put("outside/notes.md", "what it says");
    let mut server = started(&program);
    for (path, text) in
        [(outside.to_str().expect("a path"), "what it says"), ("secret/a.md", "told in secret")]
    {
        let refused = told(&mut server, "ReadDocs", json!({ "url": path }));
        assert!(refused.contains("the person can allow it: `scorpiox-code policy allow file "), "{refused}");
        obey(&program, &refused);
        let read = told(&mut server, "ReadDocs", json!({ "url": path }));
        assert!(read.contains(text), "{read}");
    }
    let policy = std::fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    assert!(policy.contains("# a comment") && policy.contains("\"private\""), "{policy}");
    let (_, out, _) = program.run(&["policy", "deny", "file", "secret"]);
    assert!(out.contains("secret"), "{out}");
    let refused = told(&mut server, "ReadDocs", json!({ "url": "secret/a.md" }));
    assert!(refused.contains("denied by \"secret\""), "{refused}");
}

#[test]
fn a_refused_page_names_the_command_for_its_host() {
    let program =
        program("[web]\nallow = [\"docs.example.com\", \"bad.example.com\"]\ndeny = [\"bad.example.com\"]\n");
    let mut server = started(&program);
    for host in ["other.example.com", "docs.example.com:8443", "bad.example.com"] {
        let refused = told(&mut server, "ReadDocs", json!({ "url": format!("https://{host}/") }));
        assert!(refused.contains(&format!("`scorpiox-code policy allow page {host}`")), "{refused}");
        obey(&program, &refused);
    }
    program.put(
        "workspace/cases",
        "allow url https://other.example.com/\nallow url https://docs.example.com:8443/\n\
         allow url https://bad.example.com/\ndeny url https://third.example.com/\n",
    );
    let (status, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(status.success(), "{out}{err}");
    let (status, _, err) = program.run(&["policy", "allow", "page", "*.example.com"]);
    assert!(status.code() == Some(2) && err.contains("stands for several hosts"), "{err}");
    let (status, _, _) = program.run(&["policy", "deny", "page", "docs.example.com"]);
    assert!(status.success());
    let refused = told(&mut server, "ReadDocs", json!({ "url": "https://docs.example.com/" }));
    assert!(refused.contains("is denied by \"docs.example.com\" in `deny` of [web]"), "{refused}");
}

#[test]
fn a_refused_workspace_is_opened_by_the_command() {
    let program = program("[workspaces]\nallow = [\"/srv\"]\n");
    let mut server = started(&program);
    let refused = told(&mut server, "TaskManager", json!({ "action": "list" }));
    assert!(refused.contains("or run `scorpiox-code policy allow workspace "), "{refused}");
    obey(&program, &refused);
    let mut server = started(&program);
    let listed = told(&mut server, "TaskManager", json!({ "action": "list" }));
    assert!(listed.contains("There are no tasks"), "{listed}");
}

#[test]
fn a_file_of_a_wider_entry_is_opened_by_an_edit_alone() {
    let program = program("[files]\ndeny = [\"finance/\"]\n");
    program.put("workspace/finance/a.md", "a figure");
    let mut server = started(&program);
    let refused = told(&mut server, "ReadDocs", json!({ "url": "finance/a.md" }));
    assert!(refused.contains("denied by \"finance/\"") && !refused.contains("policy allow"), "{refused}");
    let (status, _, err) = program.run(&["policy", "allow", "file", "finance/a.md"]);
    let said = "\"finance/\" in `deny` (policy.toml line 3) covers more than this file; edit it";
    assert!(!status.success() && err.contains(said), "{err}");
    program.put("home/.scorpiox/policy.toml", "version = 1\n");
    let (status, _, err) = program.run(&["policy", "allow", "file", ".env"]);
    assert!(!status.success() && err.contains("(built-in) covers more than this file"), "{err}");
}

fn own(program: &Program) -> String {
    std::fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy")
}

#[test]
fn a_denial_is_written_although_the_present_circumstances_deny_it_too() {
    let narrow =
        "[[narrow]]\nname = \"here\"\nworkspaces = [\"/\"]\n[narrow.tools]\ndeny = [\"WebSearch\"]\n";
    for (policy, what, subject) in [
        (
            "[workspaces]\nallow = [\"/srv\"]\n[web]\nallow = [\"docs.example.com\"]\n",
            "page",
            "docs.example.com",
        ),
        ("[web]\nallow = [\"docs.example.com:8443\"]\n", "page", "docs.example.com"),
        (narrow, "tool", "WebSearch"),
    ] {
        let program = program(policy);
        let (status, out, err) = program.run(&["policy", "deny", what, subject]);
        let text = own(&program);
        assert!(status.success() && text.matches(subject).count() == 2, "{out}{err}: {text}");
        let (status, out, err) = program.run(&["policy", "deny", what, subject]);
        assert!(status.success() && out.contains("Nothing to change"), "{out}{err}");
    }
}

#[test]
fn a_host_that_a_restriction_after_reads_closes_is_not_written() {
    let narrow = "[[narrow]]\nname = \"after\"\nafter = { read = [\"finance/\"] }\n\
                  [narrow.shell.profile.workspace]\nnetwork = { mode = \"off\" }\n";
    let program = program(narrow);
    let before = own(&program);
    let (status, out, _) = program.run(&["policy", "allow", "host", "b.example.com"]);
    assert!(!status.success() && !out.contains("Wrote"), "{out}");
    assert_eq!(own(&program), before);
}

#[test]
fn changes_that_are_made_at_once_are_all_kept_or_refused() {
    let program = program("");
    let denied: Vec<_> = std::thread::scope(|scope| {
        let begun = (0..12).map(|at| {
            let (program, host) = (&program, format!("h{at}.example.com"));
            scope.spawn(move || {
                let (status, out, _) = program.run(&["policy", "deny", "page", &host]);
                (host, status.success() && out.contains("Wrote"))
            })
        });
        let begun: Vec<_> = begun.collect();
        begun.into_iter().map(|one| one.join().expect("it ran")).collect()
    });
    let text = own(&program);
    assert!(denied.iter().any(|(_, is_written)| *is_written));
    for (host, is_written) in denied {
        assert_eq!(text.contains(&format!("{host:?}")), is_written, "{host}: {text}");
    }
}
