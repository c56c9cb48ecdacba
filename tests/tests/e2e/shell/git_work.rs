//! Tests of everyday work with git: branches, work trees elsewhere, and tracked files that the policy denies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use scorpiox_tests::{Program, Started};

use super::support::{TIERS, bash, git, in_each_tier, in_tier, start, with_policy};

const AUTHOR: &str = "git config --global user.name n && git config --global user.email n@example.com";

/// Returns the output of the machine's git, as the person.
fn git_output(folder: &Path, words: &[&str]) -> String {
    let ran = Command::new("git").current_dir(folder).args(words).output().expect("git");
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("a text")
}

/// Makes the workspace a clone of a repository in it, which has the branches `main` and `topic`.
fn cloned(program: &Program) -> PathBuf {
    let workspace = program.workspace();
    git(&workspace, &["init", "-q", "-b", "main", "origin"]);
    let origin = workspace.join("origin");
    git(&origin, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&origin, &["switch", "-q", "-c", "topic"]);
    fs::write(origin.join("t"), "t").expect("a file");
    git(&origin, &["add", "t"]);
    git(&origin, &["commit", "-q", "-m", "two"]);
    git(&origin, &["switch", "-q", "--detach"]);
    git(&workspace, &["clone", "-q", "-b", "main", "origin", "clone"]);
    workspace.join("clone")
}

/// Git notes the upstream of a branch in its configuration, and fails halfway if it cannot: with the files of the new
/// branch staged for the old one.
#[test]
fn branches_of_a_remote_are_checked_out() {
    for tier in TIERS {
        let program = in_tier(tier);
        let clone = cloned(&program);
        git(&clone, &["config", "branch.autoSetupMerge", "always"]);
        let mut server = start(&program);
        for (command, branch) in [
            ("git checkout -q topic", "topic"),
            ("git checkout -q -b one origin/topic", "one"),
            ("git switch -q -c two origin/main", "two"),
            ("git branch three origin/topic && git checkout -q three", "three"),
        ] {
            let status =
                format!("cd clone && git checkout -q main && {command} && git status --short --branch");
            assert_eq!(bash(&mut server, &status).succeeded(), format!("## {branch}\n"), "{tier}: {command}");
        }
    }
}

#[test]
fn a_configuration_that_git_cannot_write_is_told_with_the_command_that_helps() {
    for tier in TIERS {
        let program = in_tier(tier);
        let clone = cloned(&program);
        git(&clone, &["config", "remote.pushDefault", "origin"]);
        let mut server = start(&program);
        let ran = bash(&mut server, "cd clone && git checkout -q --track -b mine origin/topic");
        assert!(ran.is_error && ran.text.contains("git recorded no upstream branch"), "{tier}: {}", ran.text);
        assert!(!ran.text.contains("[protected: "), "{tier}: {}", ran.text);
        let finish = "cd clone && git switch -q mine && git status --short --branch";
        assert_eq!(bash(&mut server, finish).succeeded(), "## mine\n", "{tier}");
        let without =
            "cd clone && git switch -q --no-track -c other origin/topic && git push -q origin other";
        let ran = bash(&mut server, without);
        assert!(!ran.is_error && !ran.text.contains("[git: "), "{tier}: {}", ran.text);
        let ran = bash(&mut server, "cd clone && git push -q -u origin other");
        assert!(ran.text.contains("`git push origin NAME`"), "{tier}: {}", ran.text);
        let ran = bash(&mut server, "cd clone && git branch -m other renamed");
        assert!(ran.text.contains("[git: the branch was renamed; "), "{tier}: {}", ran.text);
        let ran = bash(&mut server, "cd clone && git switch -q main && git branch -D renamed");
        assert!(ran.text.contains("[git: the branch was deleted; "), "{tier}: {}", ran.text);
        let branches = git_output(&clone, &["branch", "--format=%(refname:short)"]);
        assert_eq!(branches, "main\nmine\n", "{tier}");
    }
}

#[test]
fn the_configuration_of_a_submodule_is_named() {
    let program = Program::new();
    let clone = cloned(&program);
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", "../origin", "vendor/lib"];
    git(&clone, &add);
    let mut server = start(&program);
    let ran = bash(&mut server, "cd clone && git submodule update");
    let named = "[protected: \"clone/.git/modules/vendor/lib/config\": ";
    assert!(ran.is_error && ran.text.contains(named), "{}", ran.text);
}

#[test]
fn settings_of_git_that_a_policy_gives_are_kept() {
    let set = "{ GIT_CONFIG_COUNT = \"1\", GIT_CONFIG_KEY_0 = \"alias.st\", GIT_CONFIG_VALUE_0 = \"status --short\" }";
    let program =
        with_policy(Program::new(), &format!("[shell.profile.workspace]\nenv = {{ set = {set} }}\n"));
    cloned(&program);
    let mut server = start(&program);
    let ran = bash(&mut server, "cd clone && git checkout -q topic && touch x && git st");
    assert_eq!(ran.succeeded(), "?? x\n");
}

/// Creates a repository in the workspace with a work tree beside it, which has an old administrative folder and a file
/// that is not committed. Returns the work tree.
fn with_tree_elsewhere(program: &Program, name: &str) -> PathBuf {
    let workspace = program.workspace();
    if !workspace.join(".git").exists() {
        git(&workspace, &["init", "-q", "-b", "main"]);
        git(&workspace, &["commit", "-q", "--allow-empty", "-m", "one"]);
    }
    git(&workspace, &["worktree", "add", "-q", "-b", name, &format!("../{name}")]);
    let tree = workspace.parent().expect("a folder").join(name);
    fs::write(tree.join("work"), "not committed").expect("a file");
    let own = workspace.join(".git/worktrees").join(name);
    let aged = Command::new("find").arg(own).args(["-exec", "touch", "-d", "2020-01-01", "{}", "+"]).status();
    assert!(aged.expect("find").success());
    tree
}

#[track_caller]
fn is_intact(program: &Program, tree: &Path, ran: &str) {
    assert_eq!(git_output(tree, &["status", "--short"]), "?? work\n", "{ran}");
    let list = git_output(&program.workspace(), &["worktree", "list"]);
    assert!(list.contains(&tree.display().to_string()) && !list.contains("prunable"), "{list}\n{ran}");
}

/// The commands of T1b see no file below `/tmp`, where these folders are.
#[test]
fn a_work_tree_that_commands_do_not_see_is_not_gone() {
    for tier in ["T1", "T2"] {
        let program = in_tier(tier);
        let tree = with_tree_elsewhere(&program, "feature");
        let mut server = start(&program);
        let ran =
            bash(&mut server, "git worktree list; git worktree prune -v; git worktree prune -v --expire now");
        assert!(!ran.is_error && !ran.text.contains("prun"), "{tier}: {}", ran.text);
        is_intact(&program, &tree, &ran.text);
        // A server that runs notices a new one.
        let second = with_tree_elsewhere(&program, "second");
        let ran =
            bash(&mut server, "git worktree prune -v; git worktree remove --force ../second; git gc -q");
        assert!(!ran.text.contains("Removing"), "{tier}: {}", ran.text);
        is_intact(&program, &second, &ran.text);
        is_intact(&program, &tree, &ran.text);
        // Nothing of it can be read, and no other command works in it.
        let ran =
            bash(&mut server, "cat ../feature/work; cat ../feature/.git; git -C ../feature add -A; true");
        assert!(!ran.text.contains("not committed") && !ran.text.contains("gitdir"), "{tier}: {}", ran.text);
        is_intact(&program, &tree, &ran.text);
    }
}

#[test]
fn no_collection_of_garbage_prunes_a_work_tree() {
    in_each_tier(|program, server| {
        let tree = with_tree_elsewhere(program, "feature");
        let collect = format!(
            "{AUTHOR}; git -c gc.auto=1 commit -q --allow-empty -m two; git gc -q; git maintenance run"
        );
        let ran = bash(server, &collect);
        is_intact(program, &tree, &ran.text);
    });
}

/// A file cannot prove that a folder elsewhere exists if a command wrote it.
#[test]
fn a_folder_that_names_no_repository_stays_unknown() {
    let program = Program::new();
    let tree = with_tree_elsewhere(&program, "feature");
    let root = tree.parent().expect("a folder");
    fs::create_dir(root.join("private")).expect("a folder");
    fs::write(root.join("private/.git"), "gitdir: elsewhere\n").expect("a file");
    let mut server = start(&program);
    let lead = "mkdir .git/worktrees/x && cd .git/worktrees/x && cp ../feature/HEAD . && echo ../.. > commondir; \
                sed s,feature,private, ../feature/gitdir > gitdir; cat gitdir";
    bash(&mut server, lead);
    let ran = bash(&mut server, "ls -a ..; ls -a ../private");
    assert!(ran.text.contains("feature") && !ran.text.contains("private/"), "{}", ran.text);
    assert!(!ran.text.lines().any(|line| line == "private"), "{}", ran.text);
}

/// Git removes a work tree halfway if it does not find it. The note then says how the work tree is kept.
#[test]
fn the_note_about_a_work_tree_that_is_there_keeps_it() {
    let program = in_tier("T1b");
    let tree = with_tree_elsewhere(&program, "feature");
    let mut server = start(&program);
    let ran = bash(&mut server, "git worktree prune");
    let repair = format!("`git worktree repair {}`", tree.display());
    assert!(ran.text.contains(&repair) && ran.text.contains("so keep it"), "{}", ran.text);
    assert!(!ran.text.contains("rm -r") && !ran.text.contains("`git worktree prune`"), "{}", ran.text);
}

/// Tracks a file, with a second branch that has another version of a different one.
fn tracking(server: &mut Started, program: &Program, name: &str) {
    let workspace = program.workspace();
    git(&workspace, &["init", "-q", "-b", "main"]);
    fs::write(workspace.join(name), "KEY=\n").expect("a file");
    fs::write(workspace.join("a"), "a\n").expect("a file");
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-q", "-m", "one"]);
    git(&workspace, &["switch", "-q", "-c", "other"]);
    fs::write(workspace.join(name), "KEY=\nMORE=\n").expect("a file");
    git(&workspace, &["commit", "-q", "-a", "-m", "two"]);
    git(&workspace, &["switch", "-q", "main"]);
    bash(server, AUTHOR);
}

#[test]
fn templates_of_secrets_are_files_like_others() {
    in_each_tier(|program, server| {
        tracking(server, program, ".env.example");
        fs::write(program.workspace().join(".env.local.dist"), "KEY=\n").expect("a file");
        let ran =
            bash(server, "git status --short && git switch -q other && cat .env.example .env.local.dist");
        assert_eq!(ran.succeeded(), "?? .env.local.dist\nKEY=\nMORE=\nKEY=\n");
        for name in [".env", ".env.test", ".envrc", ".env.example.local", "a.env.d/.ENV.prod"] {
            let path = program.workspace().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "SECRET").expect("a file");
            let ran = bash(server, &format!("cat {name}"));
            assert!(ran.is_error && !ran.text.contains("SECRET"), "{name}: {}", ran.text);
        }
    });
}

#[test]
fn a_tracked_file_that_the_policy_denies_is_named_where_git_fails() {
    in_each_tier(|program, server| {
        tracking(server, program, ".env.test");
        for command in [
            "git status --short",
            "git status",
            "git checkout other",
            "git stash",
            "git rebase other",
            "git merge other",
            "git commit -qam x",
            "git reset --hard other",
        ] {
            let ran = bash(server, command);
            let named = ran.text.contains("[git: .env.test: tracked, and closed to commands by \"**/.env!(");
            let opened = format!(
                "`scorpiox-code policy allow read {}",
                program.workspace().join(".env.test").display()
            );
            assert!(named && ran.text.contains(&opened), "{command}: {}", ran.text);
        }
        let ran = bash(server, "git log --oneline; cat a");
        assert!(!ran.text.contains("[git: "), "{}", ran.text);
    });
}
