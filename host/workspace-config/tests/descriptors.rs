//! A search for skills without file descriptors. The limit holds for the whole process, so this test is alone in
//! its program.

#![cfg(unix)]

use std::fs::{self, File};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use scorpiox_workspace_config::{OperatorError, SkillFolders};

#[test]
fn a_search_without_descriptors_fails_and_names_the_limit() {
    let bed = tempfile::tempdir().expect("a folder");
    let (workspace, home) = (bed.path().join("ws"), bed.path().join("home"));
    for skill in [workspace.join(".scorpiox/skills/a"), home.join(".claude/skills/b")] {
        fs::create_dir_all(&skill).expect("a folder");
        fs::write(skill.join("SKILL.md"), "---\nname: x\n---\n").expect("a file");
    }
    fs::write(workspace.join(".scorpiox/skills/required_skills.txt"), "a\n").expect("a file");
    let folders = SkillFolders::new(&workspace, Some(&home), &home.join(".scorpiox"), &[]);
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum }).expect("a limit");
    let mut held: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    let told = folders.sources().expect_err("no descriptor is left").to_string();
    assert!(told.contains("open files") && told.contains("ulimit -n"), "{told}");
    assert!(folders.required().is_err() && folders.sources_outside().is_err());
    assert!(OperatorError::Skills(folders.sources().expect_err("none is left")).may_pass());
    // One descriptor finds the folders, and not what is below them.
    held.pop();
    assert!(folders.sources().is_err());
    held.clear();
    let found: Vec<_> = folders.sources().expect("found").into_iter().map(|source| source.name).collect();
    assert_eq!(found, ["b", "a"]);
    assert_eq!(folders.required().expect("read").by_workspace, ["a"]);
}
