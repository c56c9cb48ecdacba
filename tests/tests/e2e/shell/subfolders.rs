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
        for tree in trees(&main_repository(&program)) {
            let kind = format!("{tier}, {}", tree.display());
            let mut server = start_in(&program, &tree.join("pkg"));
            let advice = format!("scorpiox-code policy allow read {}", tree.display());
            let ran = bash(&mut server, COMMIT);
            assert!(ran.is_error && ran.text.contains(&advice), "{kind}: {}", ran.text);
            let mut doctor = program.command();
            let said = doctor.current_dir(tree.join("pkg")).arg("doctor").output().expect("it runs").stdout;
            let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("note git: this folder belongs to the repository in"), "{kind}: {said}");
            let path = tree.display().to_string();
            let (status, _, complaint) = program.run(&["policy", "allow", "read", &path]);
            assert!(status.success(), "{kind}: {complaint}");
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
