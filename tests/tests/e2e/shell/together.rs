//! What two commands do together, of which the results of neither would tell: one makes a repository that starts nothing and
//! ends, another that began before puts something there.

use std::path::Path;
use std::time::Duration;

use super::support::{background, bash, comes_true, in_each_tier, read_to_end};

/// Ways to a repository that somebody can change by a name outside of it. Each has its own folder.
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
            assert!(ran.text.contains(&format!("/s{at}/p/.git: git starts")), "{way}: {}", ran.text);
        }
    });
}

/// A file stays open when it gets another name.
#[test]
fn a_new_repository_with_a_file_that_another_command_has_open_is_told() {
    in_each_tier(|program, server| {
        let task = background(server, "exec 8>> notes; touch ready; until [ -e go ]; do sleep 0.02; done; echo x >&8");
        wait_for(&program.workspace().join("ready"));
        let ran = bash(server, "git init -q p && cat p/.git/config > notes && mv notes p/.git/config");
        assert!(ran.text.contains("/p/.git: git starts"), "{}", ran.text);
        program.put("workspace/go", "");
        read_to_end(server, task);
    });
}

/// A part that repositories share is one of git's without a `HEAD`.
#[test]
fn what_repositories_share_is_told_by_the_command_that_changed_it() {
    in_each_tier(|program, server| {
        let evil = "rm -r common/refs common/config; printf '[diff]\\n\\texternal = x\\n' > common/config; mkdir common/refs";
        let task =
            background(server, &format!("touch ready; until [ -e go ]; do sleep 0.02; done; {evil}; echo over"));
        wait_for(&program.workspace().join("ready"));
        let make = "git init -q --bare common && rm common/HEAD && mkdir new && echo 'ref: refs/heads/x' > new/HEAD && \
                    echo ../common > new/commondir";
        let ran = bash(server, make);
        assert!(!ran.text.contains("new: "), "{}", ran.text);
        program.put("workspace/go", "");
        let told = read_to_end(server, task);
        assert!(told.contains("/common: git starts"), "{told}");
    });
}
