//! Files in a git directory that git trusts although commands write them: the index, references, and the state of
//! unfinished operations.

use std::time::Duration;

use super::support::{TIERS, background, bash, comes_true, git, in_each_tier, in_tier, read_to_end, start};

/// Writes an index with the paths of the arguments.
const INDEX: &str = r##"
index() { python3 - "$@" <<'P'
import hashlib, os, struct, subprocess, sys
name = subprocess.run(["git", "hash-object", "-w", "--stdin"], input=b"#!/bin/sh\n", capture_output=True).stdout
name = bytes.fromhex(name.decode().strip())
index = b"DIRC" + struct.pack(">II", 2, len(sys.argv) - 1)
for path in sorted(path.encode() for path in sys.argv[1:]):
    entry = bytes(24) + struct.pack(">IIII", 0o100755, 0, 0, 0) + name + struct.pack(">H", len(path)) + path
    index += entry + bytes(8 - len(entry) % 8)
index += hashlib.sha1(index).digest()
with open(".git/index.lock", "wb") as file:
    file.write(index)
os.rename(".git/index.lock", ".git/index")
P
}
"##;

#[test]
fn an_index_with_paths_that_git_refuses_in_commits_is_not_written() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        git(&workspace, &["init", "-q"]);
        git(&workspace, &["commit", "-q", "--allow-empty", "-m", "x"]);
        let ran = bash(
            server,
            "echo x > file && git add file && git -c user.name=n -c user.email=n@example.com commit -qm y && git status -s",
        );
        assert!(ran.exit_code() == 0 && !ran.text.contains("changed: "), "{}", ran.text);
        for path in [".git/hooks/post-checkout", "../beside", "/etc/x", "src/../.git/config", ".GIT/config"] {
            let ran = bash(server, &format!("{INDEX}index file '{path}'"));
            let told = format!(
                "not written: \".git/index\": the new content has \"{path}\", which git refuses elsewhere"
            );
            assert!(ran.text.contains(&told), "{path}: {}", ran.text);
        }
        let ran = bash(server, "git status -s && git fsck");
        assert!(ran.exit_code() == 0 && !ran.text.contains("changed: "), "{}", ran.text);
        let ran = bash(server, &format!("git init -q new && cd new && {INDEX}index .git/hooks/x"));
        assert!(ran.text.contains("new: \"new/.git\": git starts"), "{}", ran.text);
    });
}

#[test]
fn references_and_operations_that_lead_elsewhere_are_told() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        git(&workspace, &["init", "-q"]);
        for name in ["one", "two"] {
            program.put("workspace/file", name);
            git(&workspace, &["add", "file"]);
            git(&workspace, &["commit", "-q", "-m", name]);
        }
        let ran = bash(
            server,
            "echo 'ref: commondir' > .git/refs/heads/x.lock; mv .git/refs/heads/x.lock .git/refs/heads/x",
        );
        let told = "not written: \".git/refs/heads/x\": the new content has \"commondir\"";
        assert!(ran.text.contains(told), "{}", ran.text);
        let ran = bash(server, "echo x > .git/refs/heads/x");
        let told = "not written: \".git/refs/heads/x\": git trusts this file";
        assert!(ran.text.contains(told), "{}", ran.text);
        let ran = bash(server, "rm .git/refs/heads/x.lock; echo 'ref: commondir' > .git/ORIG_HEAD");
        let told = "not written: \".git/ORIG_HEAD\": git trusts this file";
        assert!(ran.text.contains(told), "{}", ran.text);
        let ran = bash(server, "echo 'ref: commondir' > .git/FETCH_HEAD");
        let told = "changed: \".git/FETCH_HEAD\": this reference leads to \"commondir\"";
        assert!(ran.text.contains(told), "{}", ran.text);
        let ran = bash(
            server,
            "rm .git/FETCH_HEAD; cd .git; echo x > MERGE_RR; echo x > MERGE_AUTOSTASH; mkdir rr-cache gitweb",
        );
        for name in ["MERGE_RR", "MERGE_AUTOSTASH", "rr-cache", "gitweb"] {
            assert!(
                ran.text.contains(&format!("\".git/{name}\"")) && ran.text.contains("not created: "),
                "{}",
                ran.text
            );
            assert!(!workspace.join(".git").join(name).exists(), "{name}");
        }
        let ran = bash(server, "git checkout -q -b other HEAD~1; echo x > file; git merge --autostash -");
        assert!(ran.text.contains("not created: \".git/MERGE_AUTOSTASH\""), "{}", ran.text);
        bash(server, "git checkout -q -f -");
        let ran = bash(server, "git -c user.name=n -c user.email=n@example.com rebase -q --root -x false");
        let told = "changed: \".git/rebase-merge/git-rebase-todo\": an operation of git seems to be unfinished, and git may start, write or apply something because of \"exec false\"";
        assert!(ran.text.contains(told), "{}", ran.text);
    });
}

/// A tool may look for such a folder, as `git instaweb` does for its programs.
#[test]
fn a_new_folder_of_an_unknown_name_in_a_git_directory_is_told() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        git(&workspace, &["init", "-q"]);
        std::fs::create_dir(workspace.join(".git/earlier")).expect("a folder");
        // Takes longer than a step of the clock of files.
        assert_eq!(bash(server, "git status").exit_code(), 0);
        let ran = bash(server, "mkdir .git/tool .git/lfs; touch .git/earlier/x; ln -s x .git/link");
        let told = "changed: \".git/tool\": git creates nothing of this name";
        assert!(ran.text.contains(told) && ran.text.matches("changed: ").count() == 1, "{}", ran.text);
        assert!(ran.text.contains("not created: \".git/link\""), "{}", ran.text);
    });
}

#[test]
fn a_repository_that_was_there_stays_where_it_is_and_the_result_says_so() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        std::fs::create_dir(workspace.join("old")).expect("a folder");
        git(&workspace.join("old"), &["init", "-q"]);
        let ran = bash(server, "mv old new");
        assert!(ran.exit_code() != 0 && ran.text.contains("not moved: \"old\""), "{}", ran.text);
        assert!(workspace.join("old/.git/HEAD").exists());
    });
}

/// Git trusts the trees in an index at the next commit, and shows no difference.
#[test]
fn caches_of_an_index_are_not_taken_over() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        git(&workspace, &["init", "-q"]);
        program.put("workspace/folder/file", "x");
        git(&workspace, &["add", "-A"]);
        git(&workspace, &["commit", "-q", "-m", "x"]);
        let has_trees = || {
            let index = std::fs::read(workspace.join(".git/index")).expect("an index");
            index.windows(4).any(|part| part == b"TREE")
        };
        assert!(has_trees());
        let ran = bash(server, "touch new; git add new && git status -s && git fsck && git diff --quiet");
        assert!(ran.exit_code() == 0 && ran.text.contains("A  new") && !has_trees(), "{}", ran.text);
        git(&workspace, &["commit", "-q", "-m", "y"]);
        assert!(has_trees());
    });
}

/// Git replaces the index and references in many ways.
#[test]
fn git_works_in_a_repository_that_was_there() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        program.put("workspace/file", "one");
        for words in [&["init", "-q", "-b", "main"][..], &["add", "file"], &["commit", "-q", "-m", "one"]] {
            git(&workspace, words);
        }
        let ran = bash(
            server,
            r#"set -e; export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=n@example.com
            export GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=n@example.com
            git switch -qc topic/deep; echo two > file; git commit -qam two; git tag -a v1 -m v1; git tag v2
            git switch -q main; echo other > other; git add other; git commit -qm three; git merge -q topic/deep -m m
            echo x >> file; git stash -q; git stash pop -q; git commit -qa --amend -m m2
            git branch -m topic/deep topic || true; git branch copy; git branch -D copy -q; git pack-refs --all; git gc -q
            git rebase -q HEAD~1; git cherry-pick --allow-empty --keep-redundant-commits HEAD >/dev/null
            git reset -q --hard HEAD~1; git checkout -q --detach v1; git switch -q main
            git update-index --split-index; echo y > y; git add y; git update-index --no-split-index
            git update-index --index-version 4; 
            git worktree add -q tree topic; (cd tree; echo z > z; git add z; git commit -qm z)
            git worktree remove tree; git symbolic-ref refs/remotes/o/HEAD refs/heads/main; git update-ref -d refs/tags/v2
            git notes add -m n; git replace HEAD~1 HEAD; git replace -d HEAD~1 >/dev/null; git bisect start HEAD HEAD~1 >/dev/null
            git bisect reset >/dev/null; git fsck --no-dangling; git status -s; echo finished"#,
        );
        assert!(ran.exit_code() == 0 && ran.text.contains("finished\n"), "{}", ran.text);
        assert!(!ran.text.contains("not written"), "{}", ran.text);
        git(&workspace, &["fsck"]);
    });
}

/// The result of the command that planted it is never read.
#[test]
fn a_trap_of_a_command_without_a_reader_is_told_with_the_next_result() {
    let program = in_tier("T1");
    git(&program.workspace(), &["init", "-q"]);
    let mut server = start(&program);
    background(&mut server, "echo 'ref: hooks/x' > .git/FETCH_HEAD; touch done");
    let ran = bash(&mut server, "until [ -e done ]; do sleep 0.02; done; sleep 0.2");
    let next = bash(&mut server, "true");
    let told = [ran.text, next.text].concat();
    assert!(told.contains("changed: \".git/FETCH_HEAD\": this reference leads to \"hooks/x\""), "{told}");
}

/// The person's git may have met it.
#[test]
fn a_trap_that_a_command_takes_back_after_some_seconds_is_told() {
    in_each_tier(|program, server| {
        git(&program.workspace(), &["init", "-q"]);
        // It prints all the time.
        let plants = "echo 'ref: hooks/x' > .git/FETCH_HEAD; for i in $(seq 60); do echo; sleep 0.05; done; rm .git/FETCH_HEAD";
        let ran = bash(server, plants);
        let told = "changed: \".git/FETCH_HEAD\": this reference leads to \"hooks/x\"";
        assert!(ran.text.contains(told), "{}", ran.text);
        let task = background(server, plants);
        let read = read_to_end(server, task);
        assert!(read.contains(told), "{read}");
    });
}

/// Every command has a sandbox of its own there.
#[test]
fn a_work_tree_of_an_earlier_command_excuses_nothing() {
    for tier in TIERS {
        let program = in_tier(tier);
        let mut server = start(&program);
        let ran = bash(&mut server, "git init -q project");
        assert!(!ran.text.contains("new: "), "{tier}: {}", ran.text);
        let ran = bash(&mut server, "mkdir project/hooks && echo x > project/hooks/post-update");
        assert!(ran.text.contains("new: \"project\": git starts"), "{tier}: {}", ran.text);
    }
}

/// A large configuration with many names is judged again and again.
#[test]
fn the_end_of_a_command_takes_a_bounded_time() {
    let program = in_tier("T1");
    let mut server = start(&program);
    let task = background(
        &mut server,
        "python3 -c '
import os
open(\"data\", \"w\").write(\"[a]\\n\" + \"b = c\\n\" * 170000)
for at in range(300):
    os.mkdir(f\"d{at}\")
    os.link(\"data\", f\"d{at}/config\")'",
    );
    let begun = std::time::Instant::now();
    let told = read_to_end(&mut server, task);
    assert!(begun.elapsed().as_secs() < 20, "{:?}: {told}", begun.elapsed());
    assert!(told.contains("more repositories"), "{told}");
}

/// Hooks that the command prepared may have run.
#[test]
fn a_repository_of_another_process_that_the_command_replaces_is_told() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        program.put("workspace/old/file", "one");
        let task = background(
            server,
            "mkdir -p old/.git/hooks; touch ready; until [ -e go ]; do sleep 0.02; done
             mkdir new; cp old/file new; git -C new init -q; rm -r old; mv new old",
        );
        assert!(comes_true(Duration::from_secs(20), || workspace.join("ready").exists()));
        git(&workspace.join("old"), &["init", "-q"]);
        // Longer than a look at the folders takes.
        let looked = bash(server, "sleep 0.5");
        assert_eq!(looked.exit_code(), 0);
        program.put("workspace/go", "");
        let told = read_to_end(server, task);
        assert!(told.contains("another process made a repository there"), "{told}");
    });
}

/// Git applies what such a file names at the end of the operation.
#[test]
fn the_state_of_an_operation_that_another_process_began_is_not_the_commands() {
    in_each_tier(|program, server| {
        let workspace = program.workspace();
        git(&workspace, &["init", "-q"]);
        let own =
            bash(server, "mkdir .git/sequencer && echo x > .git/sequencer/todo && rm -r .git/sequencer");
        assert_eq!(own.exit_code(), 0, "{}", own.text);
        let task = background(
            server,
            "touch ready; until [ -e .git/rebase-merge ]; do sleep 0.02; done
             echo x > .git/rebase-merge/autostash; mkdir .git/rebase-merge/x; ls -A .git/rebase-merge; echo finished",
        );
        assert!(comes_true(Duration::from_secs(20), || workspace.join("ready").exists()));
        std::fs::create_dir(workspace.join(".git/rebase-merge")).expect("a folder");
        let told = read_to_end(server, task);
        assert!(told.contains("not created: \".git/rebase-merge/autostash\""), "{told}");
        assert!(told.matches("Permission denied").count() == 2 && told.contains("finished"), "{told}");
    });
}
