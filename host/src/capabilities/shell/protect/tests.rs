use std::fs;

use scorpiox_bed::Bed;
use scorpiox_policy::{Places, Policy};

use super::*;
use crate::capabilities::shell::survey::Survey;

fn bed() -> Bed {
    Bed::with(&["work", "notes", "home"])
}

fn special(bed: &Bed) -> Special {
    let areas = ["work", "notes"].map(|name| Area { path: bed.at(name), write: true });
    let policy = Policy::builtin();
    let places = Places::standard(bed.at("work"), None, Path::new("/own"));
    let survey = Survey::new(&areas, policy.shell.profiles["workspace"].denied(&places));
    let view =
        View { areas: &areas, own_home: Path::new("/own"), home: Some(&bed.at("home")), programs: &[] };
    view.special(&survey.look().expect("looks")).expect("decides")
}

#[track_caller]
fn unwritable(bed: &Bed, special: &Special, paths: &[&str]) {
    for path in paths {
        assert!(special.closes(&bed.at(path), true).is_some(), "{path} may be written: {special:#?}");
    }
}

#[track_caller]
fn writable(bed: &Bed, special: &Special, paths: &[&str]) {
    for path in paths {
        assert_eq!(special.closes(&bed.at(path), true), None, "{path}: {special:#?}");
    }
}

#[test]
fn git_is_followed_wherever_it_is_led() {
    let bed = bed();
    bed.put("work/.git", "gitdir: meta/one\n");
    bed.put("work/meta/one/HEAD", "ref: refs/heads/main\n");
    bed.put("work/meta/one/commondir", "../two\n");
    bed.put("work/meta/two/config", "[core]\n\thooksPath = scripts/hooks\n[include]\npath = ../../more\n");
    bed.put("work/sub/HEAD-away", "ref: refs/heads/main\n");
    bed.put("work/sub/config", "[core]\n\tbare = true\n");
    bed.link("real", "work/sub/hooks");
    bed.put("work/sub/real/pre-commit", "");
    let special = special(&bed);
    unwritable(
        &bed,
        &special,
        &[
            "work/.git",
            "work/meta/one/commondir",
            "work/meta/one/config.worktree",
            "work/meta/two/config",
            "work/meta/two/hooks/pre-commit",
            "work/scripts/hooks/pre-commit",
            "work/more",
            "work/sub/config",
            "work/sub/hooks",
            "work/sub/real/pre-commit",
            "work/sub/commondir",
        ],
    );
    writable(
        &bed,
        &special,
        &["work/meta/one/HEAD", "work/meta/two/index", "work/scripts/x", "work/sub/objects"],
    );
}

#[test]
fn names_hold_in_every_area_and_along_chains_of_links() {
    let bed = bed();
    bed.put("notes/deep/.vscode/tasks.json", "");
    bed.link("one", "work/.claude");
    bed.link("two", "work/one");
    bed.put("work/two/settings.json", "");
    bed.link("later", "work/.mcp.json");
    let special = special(&bed);
    unwritable(
        &bed,
        &special,
        &[
            "notes/deep/.vscode/tasks.json",
            "notes/.mcp.json",
            "work/.vscode/x",
            "work/.claude",
            "work/one",
            "work/two/settings.json",
            "work/.mcp.json",
            "work/later",
        ],
    );
    writable(&bed, &special, &["notes/deep/x", "work/three"]);
}

#[test]
fn all_names_of_a_file_have_the_rule_of_one() {
    let bed = bed();
    bed.put("work/.claude/settings.json", "{}");
    bed.put("work/.env", "SECRET");
    fs::hard_link(bed.at("work/.claude/settings.json"), bed.at("work/same.json")).expect("a link");
    fs::hard_link(bed.at("work/.env"), bed.at("notes/same")).expect("a link");
    let special = special(&bed);
    unwritable(&bed, &special, &["work/same.json", "notes/same"]);
    assert!(special.closes(&bed.at("notes/same"), false).is_some());
    assert!(special.closes(&bed.at("work/same.json"), false).is_none());
}

#[test]
fn too_many_rules_in_a_folder_close_it_and_leave_the_rest() {
    let bed = bed();
    for number in 0..21_000 {
        bed.put(&format!("work/many/.env{number}"), "");
    }
    bed.put("work/a/.env", "");
    let special = special(&bed);
    assert!(special.closes(&bed.at("work/many/x"), false).is_some());
    writable(&bed, &special, &["work/a/x"]);
    assert!(special.covers().len() < 1_000);
}
