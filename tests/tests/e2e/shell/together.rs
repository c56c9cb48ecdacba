//! Tests of two cooperating commands, neither of whose results would reveal the attack: one creates a
//! harmless repository and ends, and another, started before, adds content to it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::support::{
    TIERS, background, bash, comes_true, git, in_each_tier, in_tier, read_to_end, read_until, start,
};

/// Ways to create a repository that can be changed through a name outside of it. Each uses its own directory.
const SHARED: [&str; 9] = [
    "git init -q p; ln p/.git/config notes",
    "git init -q p; mv p/.git/config notes; ln -s ../../notes p/.git/config",
    "git init -q p; rm -rf p/.git/hooks; mkdir h; ln -s ../../h p/.git/hooks",
    "git init -q p; touch notes; mkdir -p p/.git/hooks; ln notes p/.git/hooks/new.sample",
    "git init -q p; mkdir i; rm -rf p/.git/info; ln -s ../../i p/.git/info",
    "git init -q q; mkdir p; echo 'gitdir: ../q/.git' > notes; ln notes p/.git",
    "git init -q p; mv p/.git q; ln -s ../q p/.git",
    "git init -q q; ln -s q l; mkdir p; echo 'gitdir: ../l/.git' > p/.git",
    "mkdir p q; echo 'gitdir: ../q' > p/.git",
];

fn wait_for(path: &Path) {
    assert!(comes_true(Duration::from_secs(20), || path.exists()), "{} does not come", path.display());
}

#[test]
fn a_new_repository_that_can_be_changed_by_another_name_is_told() {
    in_each_tier(|_, server| {
        for (at, way) in SHARED.iter().enumerate() {
            let ran = bash(server, &format!("mkdir s{at} && cd s{at} && {way}"));
            assert_eq!(ran.exit_code(), 0, "{way}: {}", ran.text);
            assert!(ran.text.contains(&format!("s{at}/p/.git\": git starts")), "{way}: {}", ran.text);
        }
    });
}

/// A file stays open after it is renamed.
#[test]
fn a_new_repository_with_a_file_that_another_command_has_open_is_told() {
    in_each_tier(|program, server| {
        let task = background(
            server,
            "exec 8>> notes; touch ready; until [ -e go ]; do sleep 0.02; done; echo x >&8",
        );
        wait_for(&program.workspace().join("ready"));
        let ran = bash(server, "git init -q p && cat p/.git/config > notes && mv notes p/.git/config");
        assert!(ran.text.contains("p/.git\": git starts"), "{}", ran.text);
        program.put("workspace/go", "");
        read_to_end(server, task);
    });
}

/// Somebody may make a repository of the folder later, after all commands.
#[test]
fn a_configuration_that_can_change_by_another_name_or_an_open_file_is_told() {
    in_each_tier(|program, server| {
        for make in [
            "mkdir linked && echo > linked/config && ln linked/config data",
            "mkdir old && echo > old/config",
        ] {
            let ran = bash(server, make);
            assert_eq!(ran.text.contains("new: "), make.contains("ln "), "{}", ran.text);
        }
        let ran = bash(server, "ln old/config more && rm more data");
        assert!(!ran.text.contains("new: "), "nothing can change it any more: {}", ran.text);
        let changes = "ln old/config more && printf '[core]\n\tfsmonitor = x\n' > more && rm more";
        let ran = bash(server, changes);
        assert!(ran.text.contains("new: \"old\": git starts"), "{}", ran.text);
        let task = background(
            server,
            "exec 8>> notes; touch ready; until [ -e go ]; do sleep 0.02; done; echo x >&8",
        );
        wait_for(&program.workspace().join("ready"));
        let ran = bash(server, "mkdir p && mv notes p/config");
        assert!(ran.text.contains("new: \"p\": git starts"), "{}", ran.text);
        program.put("workspace/go", "");
        read_to_end(server, task);
    });
}

/// The hook removes itself when it has run.
#[test]
fn a_repository_that_another_process_makes_around_hooks_of_a_command_is_told() {
    in_each_tier(|program, server| {
        let at = |name: &str| program.workspace().join(name);
        fs::create_dir(at("old")).expect("a folder");
        let task = background(
            server,
            "touch ready; until [ -d fresh ]; do sleep 0.02; done; mkdir fresh/.git; mkdir staged; mv staged fresh/.git; \
             mkdir -p old/.git/hooks; echo x > old/.git/hooks/pre-commit; touch made; \
             until [ -e go ]; do sleep 0.02; done; rm old/.git/hooks/pre-commit",
        );
        wait_for(&at("ready"));
        fs::create_dir(at("fresh")).expect("a folder");
        wait_for(&at("made"));
        assert!(!at("fresh/.git").exists());
        git(&at("old"), &["init", "-q"]);
        program.put("workspace/go", "");
        let told = read_to_end(server, task);
        assert!(told.contains("new: \"old/.git\": another process made a repository there"), "{told}");
        assert!(told.contains("not created: \"fresh/.git\""), "{told}");
    });
}

/// The shared part of a repository lacks a `HEAD`.
#[test]
fn what_repositories_share_is_only_changed_by_the_command_that_made_it() {
    in_each_tier(|program, server| {
        let evil = "rm -r common/refs common/config; printf '[diff]\\n\\texternal = x\\n' > common/config; mkdir common/refs";
        let task = background(
            server,
            &format!("touch ready; until [ -e go ]; do sleep 0.02; done; {evil}; echo over"),
        );
        wait_for(&program.workspace().join("ready"));
        let make = "git init -q --bare common && rm common/HEAD && mkdir new && echo 'ref: refs/heads/x' > new/HEAD && \
                    echo ../common > new/commondir";
        let ran = bash(server, make);
        assert!(!ran.text.contains("new: "), "{}", ran.text);
        program.put("workspace/go", "");
        let told = read_to_end(server, task);
        assert!(told.contains("not created: \"common/config\", \"common/refs\""), "{told}");
        assert!(!program.workspace().join("common/config").exists(), "{told}");
    });
}

/// The user's `core.hooksPath = .githooks` applies to repositories that are created while a command runs.
#[test]
fn names_that_the_persons_configuration_leads_to_are_protected_and_told() {
    for tier in TIERS {
        let program = in_tier(tier);
        program
            .put("home/.gitconfig", "[core]\n\thooksPath = .githooks\n[diff]\n\texternal = tools/differ\n");
        program.put("workspace/old/file", "");
        let mut server = start(&program);
        let put = "for folder in made persons cloned old; do mkdir -p $folder/.githooks $folder/tools
            echo evil > $folder/.githooks/pre-commit; echo evil > $folder/tools/differ
            echo evil > x; mv x $folder/.githooks; mkdir -p y/.githooks; mv y/.githooks $folder; done";
        let task = background(
            &mut server,
            &format!("mkdir own; touch ready; until [ -e go ]; do sleep 0.02; done; {put}; echo over"),
        );
        wait_for(&program.workspace().join("ready"));
        let ran = bash(&mut server, "git init -q made");
        assert!(ran.exit_code() == 0 && !ran.text.contains("new: "), "{tier}: {}", ran.text);
        for name in ["persons", "cloned"] {
            program.put(&format!("workspace/{name}/.git/HEAD"), "ref: refs/heads/x\n");
        }
        program.put("workspace/cloned/.githooks/pre-push", "theirs");
        program.put("workspace/cloned/tools/other", "theirs");
        program.put("workspace/go", "");
        let told = read_to_end(&mut server, task);
        assert!(told.contains("over") && told.contains("not created: "), "{tier}: {told}");
        for folder in ["made", "persons", "cloned", "old"] {
            for file in [".githooks/pre-commit", ".githooks/x"] {
                assert!(!program.workspace().join(folder).join(file).exists(), "{tier}: {folder}/{file}");
            }
            // A name in a directory that the command created itself is reported.
            let new = told.split_once("[new: ").expect("something new").1;
            let is_told = new.contains(&format!("\"{folder}/tools/differ"));
            assert_eq!(is_told, folder != "cloned", "{tier}: {folder}: {told}");
        }
        let pushed = fs::read_to_string(program.workspace().join("cloned/.githooks/pre-push"));
        assert_eq!(pushed.expect("the hook"), "theirs", "{tier}");
        assert!(!program.workspace().join("cloned/tools/differ").exists(), "{tier}");
        // The result reports names in new directories.
        let ran = bash(&mut server, "mkdir -p new/.githooks new/tools && echo x > new/tools/differ");
        let is_told = |name: &str| ran.text.contains(&format!("new/{name}\""));
        assert!(
            ran.text.contains("new: ") && is_told(".githooks") && is_told("tools/differ"),
            "{}",
            ran.text
        );
    }
}

#[test]
fn where_the_persons_configuration_is_not_known_no_command_runs() {
    in_each_tier(|program, server| {
        program.put("home/.gitconfig", "[core]\n\thooksPath = ~nobody-has-this-name/hooks\n");
        let ran = super::support::Ran::of(&server.call("Bash", serde_json::json!({ "command": "true" })));
        assert!(ran.refused().contains("git config --list"), "{}", ran.text);
        program.put("home/.gitconfig", "[core]\n\thooksPath = .githooks\n");
        assert_eq!(bash(server, "true").exit_code(), 0);
    });
}

/// A new directory that another command created does not belong to this command.
#[test]
fn protected_names_in_new_folders_of_others_are_not_the_commands_to_change() {
    in_each_tier(|program, server| {
        let put = "echo evil > theirs/.mcp.json; mkdir theirs/.vscode; echo evil > theirs/.vscode/tasks.json
            echo own > own/.mcp.json; mkdir own/.vscode; echo own > own/.vscode/tasks.json; echo more >> own/.mcp.json";
        let task = background(
            server,
            &format!(
                "mkdir own; touch ready; until [ -e go ]; do sleep 0.02; done; {put}; echo over; sleep 300"
            ),
        );
        wait_for(&program.workspace().join("ready"));
        program.put("workspace/theirs/.vscode/settings.json", "{}");
        program.put("workspace/theirs/.mcp.json", "theirs");
        program.put("workspace/go", "");
        read_until(server, task, "over");
        let read = |path: &str| fs::read_to_string(program.workspace().join(path)).unwrap_or_default();
        assert_eq!(
            (read("theirs/.mcp.json"), read("theirs/.vscode/tasks.json")),
            ("theirs".into(), "".into())
        );
        assert_eq!(
            (read("own/.mcp.json"), read("own/.vscode/tasks.json")),
            ("own\nmore\n".into(), "own\n".into())
        );
        let killed = server.text("KillBgTask", serde_json::json!({ "task_id": task }));
        assert!(killed.contains("own/.mcp.json"), "{killed}");
    });
}
