//! Tests of plugin approval: unapproved components never run, and changed components stop running.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scorpiox_tests::Program;
use serde_json::json;

use super::{hash_of, install, kinds, listed, source};

fn component() -> Vec<u8> {
    fs::read(kinds()).expect("the component")
}

/// Returns a component that behaves the same but has different bytes: it has an additional custom section.
fn another() -> Vec<u8> {
    let mut bytes = component();
    bytes.extend_from_slice(&[0, 2, 1, b'x']);
    bytes
}

fn status(program: &Program) -> String {
    program.run(&["plugin", "list"]).1
}

#[test]
fn without_a_terminal_only_the_exact_hash_approves() {
    let program = Program::new();
    let source = source(&program, "kinds", "", &component());
    let (added, out, _) = program.run(&["plugin", "add", &source]);
    assert!(!added.success());
    assert!(out.contains("nothing: it can only compute"), "{out}");
    assert_eq!(status(&program), "kinds  waits for approval\n");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(listed(&mut server).is_empty());
    // The output contains exactly one hash, which is the one that approves.
    let hash = hash_of(&program, &source);
    assert!(out.contains(&format!("hash {hash}\n")), "{out}");
    assert_eq!(regex::Regex::new("[0-9a-f]{64}").expect("a pattern").find_iter(&out).count(), 1, "{out}");
    let (wrong, _, err) = program.run(&["plugin", "approve", "kinds", "--yes", &hash[..40]]);
    assert!(!wrong.success() && err.contains("is not the hash"), "{err}");
    assert!(listed(&mut server).is_empty());
    let (right, _, err) = program.run(&["plugin", "approve", "kinds", "--yes", &hash]);
    assert!(right.success(), "{err}");
    // A server that started before the approval lists the tool in its next response.
    assert!(listed(&mut server).contains(&"kinds.divide".to_owned()));
    assert_eq!(
        server.call("kinds.divide", json!({"a": 6, "b": 3}))["structuredContent"],
        json!({"result": 2})
    );
    let (denied, ..) = program.run(&["plugin", "deny", "kinds"]);
    assert!(denied.success());
    assert!(listed(&mut server).is_empty());
    let gone = server.request("tools/call", json!({"name": "kinds.divide", "arguments": {"a": 1, "b": 1}}));
    assert_eq!(server.answer(gone)["error"]["code"], -32602);
    let (removed, ..) = program.run(&["plugin", "remove", "kinds"]);
    assert!(removed.success());
    assert_eq!(status(&program), "no plugins; `scorpiox-code plugin add FILE` installs one\n");
}

#[test]
fn a_changed_file_disables_the_plugin_at_once() {
    let program = Program::new();
    let source = source(&program, "kinds", "", &component());
    install(&program, &source);
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(!listed(&mut server).is_empty());
    let installed = program.home().join(".scorpiox/plugins/kinds");
    let original = fs::read(installed.join("c.wasm")).expect("the component");
    fs::write(installed.join("c.wasm"), another()).expect("writes");
    let call = server.request("tools/call", json!({"name": "kinds.divide", "arguments": {"a": 1, "b": 1}}));
    assert_eq!(server.answer(call)["error"]["code"], -32602);
    assert!(status(&program).contains("disabled: its component is not the one that was approved"));
    fs::write(installed.join("c.wasm"), original).expect("writes");
    assert!(!listed(&mut server).is_empty());
    let manifest = fs::read_to_string(installed.join("plugin.toml")).expect("the manifest");
    fs::write(installed.join("plugin.toml"), manifest + "[capabilities.store]\nwhy = \"more\"\n")
        .expect("writes");
    assert!(listed(&mut server).is_empty());
    assert!(status(&program).contains("disabled: its plugin.toml is not the one"));
}

#[test]
fn what_can_be_no_plugin_is_refused_and_changes_nothing() {
    let program = Program::new();
    let good = source(&program, "kinds", "", &component());
    install(&program, &good);
    let core = b"\0asm\x01\0\0\0".to_vec();
    let binary = fs::read(scorpiox_tests::program::binary()).expect("the program")[..4096].to_vec();
    let broken = component()[..component().len() / 2].to_vec();
    let cases: [(&str, &[u8], &str); 7] = [
        ("", b"", "it is empty"),
        ("", b"#!/bin/sh\n", "it is not a WebAssembly component"),
        ("", &core, "it is a core module, not a component, and contains no WIT types"),
        ("", &binary, "what is compiled elsewhere is not run"),
        ("", &broken, "kinds cannot be a plugin"),
        (
            "[capabilities.web]\nhosts = [\"*\"]\nwhy = \"x\"\n",
            &component(),
            "asks for capabilities.web: hosts = [\"*\"] would be every host",
        ),
        ("[tools.multiply]\ndescription = \"x\"\n", &component(), "the component has no such function"),
    ];
    for (manifest, bytes, expected) in cases {
        let source = source(&program, "kinds", manifest, bytes);
        let (refused, _, err) = program.run(&["plugin", "add", &source]);
        assert!(!refused.success() && err.contains(expected), "{expected}: {err}");
        assert_eq!(status(&program), "kinds  approved\n", "{expected}");
    }
    for name in ["Bash", "..", "a/b"] {
        let (refused, _, err) = program.run(&["plugin", "approve", name]);
        assert!(!refused.success() && err.contains("not a plugin name"), "{err}");
    }
}

#[test]
fn a_damaged_ledger_lets_nothing_run_and_says_so() {
    let program = Program::new();
    let source = source(&program, "kinds", "", &component());
    install(&program, &source);
    fs::write(program.home().join(".scorpiox/plugins.json"), "{").expect("writes");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(listed(&mut server).is_empty());
    let (status, _, err) = program.run(&["plugin", "list"]);
    assert!(!status.success() && err.contains("plugins.json cannot be used"), "{err}");
}

#[test]
fn a_command_of_the_model_cannot_approve() {
    let program = Program::new();
    let source = source(&program, "kinds", "", &component());
    program.run(&["plugin", "add", &source]);
    let hash = hash_of(&program, &source);
    let mut server = program.start();
    server.initialize("2025-11-25");
    let binary = scorpiox_tests::program::binary();
    let home = program.home().join(".scorpiox");
    let command = format!(
        "SCORPIOX_HOME={} {} plugin approve kinds --yes {hash}; echo '{{}}' > {}/plugins.json",
        home.display(),
        binary.display(),
        home.display()
    );
    server.call("Bash", json!({ "command": command }));
    assert_eq!(status(&program), "kinds  waits for approval\n");
    assert!(listed(&mut server).is_empty());
}

#[test]
fn what_this_program_keeps_is_no_workspace_for_commands() {
    let program = Program::new();
    let own = program.home().join(".scorpiox");
    fs::create_dir_all(own.join("plugins")).expect("folders");
    for folder in [own.clone(), own.join("plugins")] {
        let mut command = program.command();
        command.env("SCORPIOX_WORKSPACE", &folder);
        let mut server = scorpiox_tests::Started::spawn(command);
        server.initialize("2025-11-25");
        let attack = format!(
            "pwd; for f in . {0}; do echo x > $f/policy.toml; echo x > $f/plugins.json; done",
            own.display()
        );
        let result = server.call("Bash", json!({ "command": attack }));
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with(&format!("{}\n", own.join("workspace").display())), "{text}");
        assert!(!own.join("policy.toml").exists() && !own.join("plugins.json").exists(), "{text}");
    }
}

#[test]
fn each_decision_about_a_plugin_leaves_a_line() {
    let program = Program::new();
    let old = source(&program, "kinds", "version = \"1\"\n", &component());
    program.run(&["plugin", "add", &old]);
    install(&program, &old);
    install(&program, &source(&program, "kinds", "version = \"2\"\n", &another()));
    program.run(&["plugin", "deny", "kinds"]);
    let hash = hash_of(&program, &source(&program, "kinds", "version = \"2\"\n", &another()));
    program.run(&["plugin", "approve", "kinds", "--yes", &hash]);
    program.run(&["plugin", "remove", "kinds"]);
    let lines = crate::audit::lines(&program, 6);
    let said: Vec<_> = lines.iter().map(|line| line["tool"].as_str().expect("a name")).collect();
    assert_eq!(
        said,
        ["plugin add", "plugin add", "plugin add", "plugin deny", "plugin approve", "plugin remove"]
    );
    let used = &lines[1]["uses"][0];
    assert_eq!((&used["capability"], &used["rule"]), (&json!("plugins"), &json!("approval")));
    assert!(used["what"].as_str().expect("a text").starts_with("kinds@sha256:"), "{used}");
    let old = source(&program, "kinds", "version = \"1\"\n", &component());
    // If each approval requires an audit line, a failed audit prevents the approval.
    program.put("home/.scorpiox/policy.toml", "version = 1\n[audit]\nrequired = true\n");
    std::fs::remove_dir_all(program.home().join(".scorpiox/audit")).expect("removes");
    program.put("home/.scorpiox/audit", "");
    let hash = hash_of(&program, &old);
    let (added, _, err) = program.run(&["plugin", "add", &old, "--yes", &hash]);
    assert!(!added.success() && err.contains("was not carried out"), "{err}");
    assert!(!status(&program).contains("approved"), "{}", status(&program));
}

#[test]
fn what_is_refused_of_a_plugin_leaves_lines_with_the_rule() {
    let program = Program::new();
    let folder = source(&program, "kinds", "", &component());
    install(&program, &folder);
    // First an approval without a terminal, which is a refusal, then a wrong hash.
    let (refused, ..) = program.run(&["plugin", "approve", "kinds"]);
    assert!(!refused.success());
    program.run(&["plugin", "approve", "kinds", "--yes", "0000"]);
    // The component on disk is replaced.
    let file = program.home().join(".scorpiox/plugins/kinds/c.wasm");
    std::fs::write(&file, another()).expect("writes");
    program.run(&["call", "kinds.divide", "{}"]);
    std::fs::write(&file, component()).expect("writes");
    // The operator's policy denies the plugin.
    program.put("home/.scorpiox/policy.toml", "version = 1\n[plugins]\ndeny = [\"kinds\"]\n");
    program.run(&["call", "kinds.divide", "{}"]);
    program.run(&["plugin", "add", &folder, "--yes", &hash_of(&program, &folder)]);
    let lines = crate::audit::lines(&program, 6);
    let told: Vec<_> = lines[1..]
        .iter()
        .map(|line| {
            let used = &line["uses"][0];
            (line["tool"].as_str(), line["outcome"].as_str(), line["fault"].as_str(), used["rule"].as_str())
        })
        .collect();
    let line = |tool, fault, rule| (Some(tool), Some("refused"), Some(fault), Some(rule));
    assert_eq!(
        told,
        [
            line("plugin approve", "not-approved", "approval"),
            line("plugin approve", "not-approved", "approval"),
            line("kinds.divide", "not-approved", "approval"),
            line("kinds.divide", "policy", "policy.toml line 3"),
            line("plugin add", "policy", "policy.toml line 3"),
        ],
        "{lines:#?}"
    );
    let changed = lines[3]["uses"][0]["why"].as_str().expect("a text");
    assert!(changed.contains("its component is not the one that was approved"), "{changed}");
}

#[test]
fn a_version_that_is_not_approved_leaves_the_approved_one_running() {
    let program = Program::new();
    let old = source(&program, "kinds", "version = \"1\"\n", &component());
    install(&program, &old);
    let new = source(&program, "kinds", "version = \"2\"\n", &another());
    let (refused, _, err) = program.run(&["plugin", "add", &new, "--yes", "0000"]);
    assert!(!refused.success() && err.contains("nothing was changed"), "{err}");
    let (refused, out, _) = program.run(&["plugin", "add", &new]);
    assert!(!refused.success() && out.contains("kinds stays as it was approved before"), "{out}");
    assert_eq!(status(&program), "kinds 1  approved\n");
    let hash = hash_of(&program, &new);
    let (added, out, err) = program.run(&["plugin", "add", &new, "--yes", &hash]);
    assert!(added.success(), "{out}{err}");
    assert_eq!(status(&program), "kinds 2  approved\n");
}

#[test]
fn a_call_of_a_plugin_that_waits_says_so() {
    let program = Program::new();
    let folder = source(&program, "kinds", "", &component());
    program.run(&["plugin", "add", &folder]);
    let (_, _, err) = program.run(&["call", "kinds.divide", "{}"]);
    assert!(err.contains("plugin kinds waits for approval"), "{err}");
    install(&program, &folder);
    program.run(&["plugin", "deny", "kinds"]);
    let (_, _, err) = program.run(&["call", "kinds.divide", "{}"]);
    assert!(err.contains("plugin kinds was denied"), "{err}");
}

/// Runs the program at a terminal, types `before` immediately and `answer` at the question. Returns `true` if
/// the program succeeded, and the screen's content.
pub(super) fn at_a_terminal(
    program: &Program,
    arguments: &[&str],
    before: &str,
    answer: &str,
) -> (bool, String) {
    answering("[y/N] ", program, arguments, before, answer)
}

/// Like [`at_a_terminal`], for a question with a different ending.
pub(super) fn answering(
    question: &str,
    program: &Program,
    arguments: &[&str],
    before: &str,
    answer: &str,
) -> (bool, String) {
    watching(question, program, arguments, before, |person, _| {
        person.write_all(answer.as_bytes()).expect("types");
    })
}

/// Like [`at_a_terminal`], but runs `then` as soon as `awaited` is on the screen.
pub(crate) fn watching(
    awaited: &str,
    program: &Program,
    arguments: &[&str],
    before: &str,
    then: impl FnOnce(&mut fs::File, &std::process::Child),
) -> (bool, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("it can be opened");
    let name = ptsname(&person, Vec::new()).expect("a name").into_string().expect("UTF-8");
    let open = || fs::File::options().read(true).write(true).open(&name).expect("opens");
    let mut person = fs::File::from(person);
    let (input, output, errors) = (open(), open(), open());
    person.write_all(before.as_bytes()).expect("types");
    let mut command = program.command();
    let mut child =
        command.args(arguments).stdin(input).stdout(output).stderr(errors).spawn().expect("it starts");
    drop(command);
    let mut screen = Vec::new();
    while !String::from_utf8_lossy(&screen).contains(awaited) {
        assert!(read_within(&mut person, &mut screen), "{}", String::from_utf8_lossy(&screen));
    }
    then(&mut person, &child);
    // Reads until the end of the terminal, which all processes that have it open have closed by then.
    while read_within(&mut person, &mut screen) {}
    let status = child.wait().expect("it ends");
    (status.success(), String::from_utf8_lossy(&screen).into_owned())
}

/// Reads more output, within a timeout; `false` at the end of the output.
fn read_within(person: &mut fs::File, screen: &mut Vec<u8>) -> bool {
    let patience = Timespec { tv_sec: 30, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(person, PollFlags::IN)], Some(&patience)).expect("a look");
    let mut bytes = [0; 4096];
    match person.read(&mut bytes) {
        Ok(length) if ready > 0 => screen.extend_from_slice(&bytes[..length]),
        _ => return false,
    }
    true
}

#[test]
fn a_person_at_a_terminal_is_asked_and_only_yes_is_yes() {
    let program = Program::new();
    let folder = source(&program, "kinds", "", &component());
    for answer in ["n\n", "\n", "what\n", "Yes please\n"] {
        let (added, screen) = at_a_terminal(&program, &["plugin", "add", &folder], "", answer);
        assert!(!added && screen.contains("May kinds run, with all of this? [y/N]"), "{answer:?}: {screen}");
        assert_eq!(status(&program), "kinds  waits for approval\n", "{answer:?}");
    }
    let (added, screen) = at_a_terminal(&program, &["plugin", "add", &folder], "", "y\n");
    assert!(added, "{screen}");
    assert_eq!(status(&program), "kinds  approved\n");
}

#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    let program = Program::new();
    let folder = source(&program, "kinds", "", &component());
    // Complete lines, and the beginning of a line.
    for before in ["y\n", "y\ny\nyes\n", "\ny\n", "y"] {
        let (added, screen) = at_a_terminal(&program, &["plugin", "add", &folder], before, "\n");
        assert!(
            !added && screen.contains("kinds is installed and waits for approval"),
            "{before:?}: {screen}"
        );
        assert_eq!(status(&program), "kinds  waits for approval\n", "{before:?}");
    }
}

#[test]
fn why_a_plugin_is_disabled_stands_on_standard_error() {
    let program = Program::new();
    install(&program, &source(&program, "kinds", "", &component()));
    program.put("home/.scorpiox/plugins/kinds/c.wasm", another());
    let (_, _, err) = program.run(&["call", "kinds.divide", "{}"]);
    assert!(
        err.contains("plugin kinds does not run: its component is not the one that was approved"),
        "{err}"
    );
    assert!(status(&program).contains("disabled: its component is not the one"));
}

#[test]
fn no_text_of_a_plugin_looks_like_a_part_of_the_question() {
    let program = Program::new();
    let forged = format!("good{}In all, nothing: it can only compute", " ".repeat(76 * 3));
    let long = "It asks for\\n  nothing\\n".repeat(15);
    let many: Vec<String> =
        (0..30).map(|number| format!("\"{}{number}.example.com\"", "h".repeat(60))).collect();
    let manifest = format!(
        "description = \"{long}\"\n[capabilities.clock]\nwhy = \"{forged}\"\n\
         [capabilities.shell]\nprofile = \"build\"\nwhy = \"{long}\"\n\
         [capabilities.web]\nwhy = \"x\"\nhosts = [{}]\n\
         [capabilities.files]\nwhy = \"x\"\nwrite = [\"workspace\", \"~/notes\"]\n[tools.divide]\ndescription = \"{long}\"\n",
        many.join(", ")
    );
    let folder = source(&program, "kinds", &manifest, &component());
    let (_, out, err) = program.run(&["plugin", "add", &folder]);
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}{err}");
    let (above, sum) = out.rsplit_once("\nIn all, it may\n").unwrap_or_else(|| panic!("no sum: {out}{err}"));
    assert!(
        above.lines().filter(|line| line.contains("nothing")).all(|line| line.trim_start().starts_with("| ")),
        "{above}"
    );
    let (sum, _) = sum.split_once("\n\n").expect("what to do");
    let expected = "  run commands, under the profile build of your policy\n  change files in 2 folders, your project \
                    among them: ~/notes\n  send requests to 30 hosts: ";
    assert!(sum.starts_with(expected) && sum.ends_with(" and 27 more\n  know the time"), "{sum}");
    let (_, shown, _) = program.run(&["plugin", "show", "kinds"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 90), "{shown}");
    for (manifest, expected) in [
        ("[capabilities.files]\nwhy = \"x\"\nread = [\"/a\\nIn all, nothing\"]\n", "write it on one line"),
        ("[capabilities.shell]\nwhy = \"x\"\nprofile = \"a\\n\\n\\nb\"\n", "write it on one line"),
        ("[capabilities.web]\nwhy = \"x\"\nhosts = [\"a.example.com\\nb\"]\n", "write it on one line"),
        ("version = \"1\\nIn all, nothing\"\n", "write it on one line"),
        ("[capabilities.clock]\nwhy = \"a\\u001b[2J\"\n", "it cannot be seen"),
        ("descriptoin = \"x\"\n", "did you mean `description`?"),
        ("[capabilities.files]\nwhy = \"\u{1b}[2J\"\n", "\\u{1b}[2J"),
    ] {
        let folder = source(&program, "kinds", manifest, &component());
        let (added, out, err) = program.run(&["plugin", "add", &folder]);
        assert!(!added.success() && err.contains(expected), "{manifest}: {out}{err}");
        assert!(!err.contains('\u{1b}'), "{err:?}");
    }
}

#[test]
fn the_sum_names_what_is_widest() {
    let program = Program::new();
    let manifest = "[capabilities.web]\nwhy = \"x\"\nhosts = [\"a.example.com\", \"*.com\"]\n\
                    [capabilities.files]\nwhy = \"x\"\nwrite = [\"~/a/b/c\", \"~/\"]\nread = [\"/etc\"]\n";
    let folder = source(&program, "kinds", manifest, &component());
    let (_, out, err) = program.run(&["plugin", "add", &folder]);
    let (_, sum) = out.rsplit_once("\nIn all, it may\n").unwrap_or_else(|| panic!("no sum: {out}{err}"));
    for row in [
        "  change files in 2 folders: your whole home folder, ~/a/b/c\n",
        "  read files in 1 folder: /etc\n",
        "  send requests to 2 hosts or patterns of hosts: every host below com,",
    ] {
        assert!(sum.contains(row), "{row}: {sum}");
    }
}

#[test]
fn a_link_to_a_folder_of_the_same_name_elsewhere_is_shown_and_part_of_the_hash() {
    let program = Program::new();
    let manifest = "[capabilities.files]\nwhy = \"x\"\nread = [\"~/notes\"]\n";
    let folder = source(&program, "kinds", manifest, &component());
    let link = program.home().join("notes");
    let mut hashes = Vec::new();
    for place in ["server/private/notes", "other/notes"] {
        program.put(&format!("{place}/file"), "");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(program.home().join("..").join(place), &link).expect("a link");
        let (_, out, err) = program.run(&["plugin", "add", &folder]);
        assert!(out.contains("which leads to") && out.contains(place), "{out}{err}");
        hashes.push(hash_of(&program, &folder));
    }
    assert_ne!(hashes[0], hashes[1]);
}

/// Returns a manifest section that requests access to these hosts.
fn web(hosts: &str) -> String {
    format!("[capabilities.web]\nwhy = \"x\"\nhosts = [{hosts}]\n")
}

#[test]
fn what_takes_the_place_of_an_approved_plugin_says_so() {
    let program = Program::new();
    install(&program, &source(&program, "kinds", "[capabilities.store]\nwhy = \"x\"\n", &component()));
    let other = "[capabilities.store]\nwhy = \"x\"\n[capabilities.clock]\nwhy = \"x\"\n";
    let folder = source(&program, "kinds", other, &another());
    let (_, out, _) = program.run(&["plugin", "add", &folder]);
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "It replaces kinds, which was approved today, and keeps its stored data.",
        "+ clock",
        "store data, and read what a plugin of its name stored before",
    ] {
        assert!(said.contains(part), "{part}: {out}");
    }
    // Additions are listed directly above the question and the full list further up. An additional host
    // counts as an addition.
    install(&program, &source(&program, "kinds", &web("\"a.example.com\""), &component()));
    let folder = source(&program, "kinds", &web("\"a.example.com\", \"b.example.com\""), &component());
    let (_, out, _) = program.run(&["plugin", "update", "kinds", "--from", &folder]);
    let (_, below) = out.split_once("\nIn all, it may\n").expect("the sum");
    let expected = "(+ added, - removed, ~ changed)\n  + web, hosts: b.example.com\n\nNot approved: ";
    assert!(below.contains(expected) && !out.contains("MiB stored"), "{out}");
    // The approved manifest is known even after its files have been overwritten.
    let installed = program.home().join(".scorpiox/plugins/kinds/plugin.toml");
    fs::copy(Path::new(&folder).join("plugin.toml"), installed).expect("copies");
    let (_, out, _) = program.run(&["plugin", "approve", "kinds"]);
    assert!(out.contains("\n  + web, hosts: b.example.com\n"), "{out}");
    let (_, out, _) = program.run(&["plugin", "remove", "kinds"]);
    assert!(out.contains("Its stored data is kept, for the next plugin of this name"), "{out}");
}

#[test]
fn who_adds_and_who_removes_at_the_same_moment_leave_something_whole() {
    let program = Program::new();
    let folder = source(&program, "kinds", "", &component());
    let hash = hash_of(&program, &folder);
    for _ in 0..8 {
        let (mut add, mut remove) = (program.command(), program.command());
        let mut add = add
            .args(["plugin", "add", &folder, "--yes", &hash])
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        remove.args(["plugin", "remove", "kinds"]).output().expect("it runs");
        let added = add.wait().expect("it ends");
        assert!(added.success(), "{added}");
        let status = status(&program);
        let whole = ["kinds  approved\n", "no plugins; `scorpiox-code plugin add FILE` installs one\n"];
        assert!(whole.contains(&&*status), "{status}");
    }
}
