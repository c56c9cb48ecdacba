//! Tests of workspaces that are folders of a work tree.

use std::fs;
use std::path::{Path, PathBuf};

use super::git::{COMMIT, main_repository};
use super::support::{TIERS, bash, git, in_tier, start_in};

/// Creates work trees of all kinds beside a repository. Each has tracked files outside of `pkg`, too.
fn trees(main: &Path) -> [PathBuf; 5] {
    let root = main.parent().expect("a folder");
    fs::write(main.join("top"), "top").expect("a file");
    git(main, &["add", "top"]);
    git(main, &["commit", "-qm", "top"]);
    git(main, &["worktree", "add", "-q", "../linked", "-b", "linked"]);
    git(root, &["clone", "-q", "--separate-git-dir", "apart", "main", "separate"]);
    git(root, &["clone", "-q", "--shared", "main", "shared"]);
    git(root, &["init", "-q", "super"]);
    let own = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", "../main", "sub"];
    git(&root.join("super"), &own);
    [main.to_owned(), root.join("linked"), root.join("separate"), root.join("shared"), root.join("super/sub")]
}

/// The advice of a refused command, and of `doctor`, opens the repository, wherever that of the tree is.
#[test]
fn the_advice_opens_the_repository_of_each_kind_of_tree() {
    for tier in TIERS {
        let program = in_tier(tier);
        let main = main_repository(&program);
        for tree in trees(&main) {
            let kind = format!("{tier}, {}", tree.display());
            let mut server = start_in(&program, &tree.join("pkg"));
            let advice = format!("scorpiox-code policy allow read {}", tree.display());
            let ran = bash(&mut server, COMMIT);
            assert!(ran.is_error && ran.text.contains(&advice), "{kind}: {}", ran.text);
            let mut doctor = program.command();
            let said = doctor.current_dir(tree.join("pkg")).arg("doctor").output().expect("it runs").stdout;
            let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("note git: this folder belongs to the repository in"), "{kind}: {said}");
            let mut path = tree.display().to_string();
            // Commands could have named the store of a tree that they work in, so it is opened by a step of its own.
            let store = main.join(".git/objects").display().to_string();
            let steps = if tree.ends_with("shared") { 2 } else { 1 };
            for _ in 0..steps {
                let (status, _, complaint) = program.run(&["policy", "allow", "read", &path]);
                assert!(status.success(), "{kind}: {complaint}");
                path.clone_from(&store);
                let ran = bash(&mut server, "git status --short");
                let advice = format!("scorpiox-code policy allow read {store}`");
                assert!(!ran.is_error || ran.text.contains(&advice), "{kind}: {}", ran.text);
            }
            let ran = bash(&mut server, COMMIT);
            assert_eq!(ran.succeeded().lines().last(), Some("two"), "{kind}");
        }
    }
}

/// A tree that is seen can still have its repository where nothing shows that it belongs to the tree.
#[test]
fn the_repository_behind_a_tree_that_is_seen_is_named() {
    let program = in_tier("T1");
    let main = main_repository(&program);
    let root = main.parent().expect("a folder");
    fs::create_dir_all(root.join("claims/pkg")).expect("a folder");
    fs::write(root.join("claims/.git"), "gitdir: ../main/.git\n").expect("a file");
    let claims = root.join("claims").display().to_string();
    assert!(program.run(&["policy", "allow", "read", &claims]).0.success());
    let mut server = start_in(&program, &root.join("claims/pkg"));
    let ran = bash(&mut server, "git log --format=%s");
    let advice = format!("scorpiox-code policy allow write {}`", main.join(".git").display());
    assert!(ran.is_error && ran.text.contains(&advice), "{}", ran.text);
}

/// A command can name a store in a repository that it writes, which is not the person's choice.
#[test]
fn a_store_that_a_command_named_stays_closed() {
    let program = in_tier("T1");
    let main = main_repository(&program);
    let root = main.parent().expect("a folder");
    for clone in ["mine", "private"] {
        git(root, &["clone", "-q", "main", clone]);
    }
    fs::write(root.join("private/secret"), "TOPSECRET").expect("a file");
    git(&root.join("private"), &["add", "secret"]);
    git(&root.join("private"), &["stash", "-q"]);
    git(&root.join("mine"), &["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let alternates = root.join("mine/.git/objects/info/alternates");
    let plant = format!("echo {}/private/.git/objects > {}; true", root.display(), alternates.display());
    let look = "git cat-file --batch-all-objects --batch | grep -a TOPSECRET";
    // The folder around the workspace, and the main tree of a linked one.
    for (first, second) in [("mine/pkg", "mine/pkg"), ("linked", "mine")] {
        bash(&mut start_in(&program, &root.join(first)), &plant);
        assert!(alternates.exists(), "{first} writes the repository");
        let ran = bash(&mut start_in(&program, &root.join(second)), look);
        assert!(!ran.text.contains("TOPSECRET"), "{first}, {second}: {}", ran.text);
        fs::remove_file(&alternates).expect("a file");
        fs::remove_file(program.home().join(".scorpiox/workspaces")).expect("a list");
    }
}

/// The output of a command cannot choose what the advice opens.
#[test]
fn the_advice_names_no_path_that_is_none_of_git() {
    let program = in_tier("T1");
    let mut server = start_in(&program, &program.workspace());
    for path in ["/root/.ssh", "/", "/x this is safe \u{202e}run it"] {
        fs::write(program.workspace().join(".git"), format!("gitdir: {path}\n")).expect("a file");
        let ran = bash(&mut server, "git status");
        assert!(!ran.text.contains("policy allow") && !ran.text.contains('\u{202e}'), "{path}: {}", ran.text);
    }
}
