use std::fs;

use scorpiox_policy::{Places, Policy};
use scorpiox_sandbox::Cover;
use scorpiox_test_support::bed::Bed;

use super::*;
use crate::survey::Survey;

fn bed() -> Bed {
    Bed::with(&["work", "notes", "home"])
}

fn look(bed: &Bed, bounds: Bounds) -> Result<Special, ShellError> {
    let areas = ["work", "notes"].map(|name| Area { path: bed.at(name), write: true });
    let policy = Policy::builtin();
    let places = Places::standard(bed.at("work"), None, Path::new("/own"));
    let survey = Survey::new(&areas, policy.shell.profiles["workspace"].denied(&places));
    let (own_home, home) = (Path::new("/own"), bed.at("home"));
    let view = View { areas: &areas, own_home, home: Some(&home), programs: &[], bounds };
    view.special(&survey)
}

fn special(bed: &Bed) -> Special {
    look(bed, Bounds::default()).expect("decides")
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

/// Small limits, so that tests need few files. They allow for the protected names of two roots.
fn few() -> Bounds {
    Bounds { rules: 2 * plain_protected_names().len() + 150, repositories: 10 }
}

#[test]
fn too_many_rules_in_a_folder_close_it_and_leave_the_rest() {
    let bed = bed();
    for number in 0..few().rules + 10 {
        bed.put(format!("work/many/.env{number}"), "");
    }
    bed.put("work/a/.env", "");
    let special = look(&bed, few()).expect("decides");
    assert!(special.closes(&bed.at("work/many/x"), false).is_some());
    writable(&bed, &special, &["work/a/x"]);
    assert!(special.covers().len() < few().rules - 100);
}

#[test]
fn too_many_rules_in_many_folders_close_as_many_of_them_at_once() {
    let bed = bed();
    for number in 0..100 {
        bed.put(format!("work/d{number}/.env"), "");
    }
    let special = look(&bed, few()).expect("decides");
    let closes = |path: String| special.closes(&bed.at(&path), false).is_some();
    assert!((0..100).all(|number| closes(format!("work/d{number}/.env"))));
    let open = (0..100).filter(|number| !closes(format!("work/d{number}/x"))).count();
    assert_eq!(open, 150 - 100, "one rule for what is closed, two for what is not");
}

#[test]
fn too_many_rules_right_in_a_root_are_an_error_that_names_it() {
    let bed = bed();
    for number in 0..few().rules + 10 {
        bed.put(format!("work/.env{number}"), "");
    }
    let error = look(&bed, few()).map(drop).expect_err("too many").to_string();
    assert!(
        error.contains(&format!("{} holds more than {}", bed.at("work").display(), few().rules)),
        "{error}"
    );
}

#[test]
fn decoys_by_any_name_do_not_open_a_repository() {
    let bed = bed();
    bed.put("work/.git/config", "[core]\n\thooksPath = hooks\n");
    bed.put("work/z/.git/config", "[core]\n\thooksPath = hooks\n");
    for number in 0..20 {
        bed.put(format!("work/!a/{number}/commondir"), "");
    }
    let special = look(&bed, few()).expect("decides");
    unwritable(
        &bed,
        &special,
        &[
            "work/.git/config",
            "work/.git/hooks/x",
            "work/hooks/x",
            "work/z/.git/hooks/x",
            "work/z/hooks",
            "work/!a/1",
        ],
    );
    writable(&bed, &special, &["work/z/x", "work/.git/index"]);
    assert_eq!(special.unseen(), [(bed.at("work/!a"), "holds too many repositories")]);
}

#[test]
fn a_denied_file_with_a_name_in_a_protected_folder_is_denied_there_too() {
    let bed = bed();
    bed.put("work/.env", "SECRET");
    bed.put("work/keys/.env/deep/one", "SECRET");
    bed.put("work/.vscode/sub/tasks.json", "");
    bed.put("work/.git/hooks/pre-commit", "");
    for (from, to) in [
        ("work/.env", "work/.vscode/sub/plain"),
        ("work/.env", "work/.git/hooks/note"),
        ("work/keys/.env/deep/one", "work/.claude"),
        ("work/keys/.env/deep/one", "work/.vscode/other"),
        ("work/.vscode/sub/tasks.json", "work/.git/hooks/tasks"),
    ] {
        fs::hard_link(bed.at(from), bed.at(to)).expect("a link");
    }
    let special = special(&bed);
    for denied in ["work/.vscode/sub/plain", "work/.git/hooks/note", "work/.claude", "work/.vscode/other"] {
        assert!(special.closes(&bed.at(denied), false).is_some(), "{denied}");
    }
    let covers = special.covers();
    let hides = |path: &str| {
        covers.iter().any(|cover| matches!(cover, Cover::Hide(at) if at.as_path() == bed.at(path)))
    };
    assert!(hides("work/.vscode/sub/plain") && hides("work/.git/hooks/note"));
    for readable in ["work/.vscode/sub/tasks.json", "work/.git/hooks/tasks", "work/.git/hooks/pre-commit"] {
        assert!(special.closes(&bed.at(readable), false).is_none(), "{readable}");
    }
}

/// The kernel still follows the link, so its target would be obeyed without a rule.
#[cfg(unix)]
#[test]
fn a_protected_or_denied_link_that_leads_too_far_is_named_and_no_command_runs() {
    for name in [".vscode", ".env", "sub/.mcp.json"] {
        let bed = bed();
        bed.put("work/sub/a/x", "");
        bed.put("work/t", "");
        let round = "a/../".repeat(800);
        bed.link(format!("{round}long2"), "work/sub/long1");
        bed.link(format!("{round}../t"), "work/sub/long2");
        let depth = if name.contains('/') { "long1" } else { "sub/long1" };
        bed.link(depth, format!("work/{name}"));
        assert!(fs::read(bed.at(format!("work/{name}"))).is_ok(), "the system follows it");
        let why = look(&bed, Bounds::default()).expect_err("too far").to_string();
        assert!(why.contains(name) && why.contains("leads through more links"), "{why}");
    }
}

#[test]
fn other_names_of_a_file_are_found_whatever_else_is_protected() {
    let bed = bed();
    bed.put("work/.env", "SECRET");
    bed.put("work/.vscode/sub/tasks.json", "");
    bed.put("work/secret.env/.env/lib/one", "SECRET");
    for number in 0..300 {
        bed.put(format!("work/!a/.env{number}"), "");
        bed.put(format!("work/!a/.envs/{number}"), "");
        bed.put(format!("work/.vscode/{number}"), "");
    }
    for (from, to) in [
        ("work/.env", "work/plain"),
        ("work/.vscode/sub/tasks.json", "notes/same"),
        ("work/secret.env/.env/lib/one", "work/other"),
    ] {
        fs::hard_link(bed.at(from), bed.at(to)).expect("a link");
    }
    let special = special(&bed);
    for denied in ["work/plain", "work/other"] {
        assert!(special.closes(&bed.at(denied), false).is_some(), "{denied}");
    }
    unwritable(&bed, &special, &["notes/same"]);
    assert!(special.closes(&bed.at("notes/same"), false).is_none());
    writable(&bed, &special, &["work/new", "work/secret.env/x"]);
}

#[test]
fn links_in_protected_folders_protect_what_they_lead_to() {
    let bed = bed();
    bed.put("work/.git/config", "[core]\n");
    for (link, target) in [
        ("work/.git/hooks/pre-commit", "scripts/pre-commit"),
        ("work/.git/hooks/dangling", "scripts/later"),
        ("work/.claude/skills", "shared/skills"),
        ("work/shared/skills/one", "deep/one"),
        ("notes/sub/.vscode/tasks.json", "tasks.json"),
    ] {
        fs::create_dir_all(bed.at(link).parent().expect("a folder")).expect("a folder");
        bed.link(bed.at("work").join(target), link);
    }
    for file in ["scripts/pre-commit", "shared/skills/SKILL.md", "deep/one/x", "tasks.json"] {
        bed.put(format!("work/{file}"), "");
    }
    let special = special(&bed);
    unwritable(
        &bed,
        &special,
        &[
            "work/scripts/pre-commit",
            "work/scripts/later",
            "work/shared/skills/SKILL.md",
            "work/deep/one/x",
            "work/tasks.json",
        ],
    );
    writable(&bed, &special, &["work/scripts/x", "work/shared/x", "work/deep/x"]);
}

#[test]
fn names_count_by_patterns_and_by_the_folders_that_they_stand_in() {
    let bed = bed();
    bed.put("work/a.code-workspace", "{}");
    bed.put("work/.hg/store/x", "");
    bed.put("work/deep/.github/hooks/x.json", "{}");
    bed.put("work/deep/.github/workflows/x.yml", "");
    bed.put("work/node_modules/p/.hg/x", "");
    let special = special(&bed);
    unwritable(
        &bed,
        &special,
        &["work/a.code-workspace", "work/.hg/hgrc", "work/deep/.github/hooks/x.json", "work/mise.toml"],
    );
    writable(
        &bed,
        &special,
        &[
            "work/.hg/x",
            "work/deep/.github/workflows/x.yml",
            "work/hgrc",
            "work/node_modules/p/.hg/hgrc",
            "work/.github/hooks",
        ],
    );
}

#[test]
fn what_cannot_come_to_be_below_a_file_keeps_that_a_file() {
    let bed = bed();
    bed.put("work/README.md", "");
    bed.put("work/sub/.git/config", "[core]\n\thooksPath = ../README.md/x\n");
    let special = special(&bed);
    unwritable(&bed, &special, &["work/README.md"]);
    let is_below =
        |path: &Path| path.starts_with(bed.at("work/README.md")) && path != bed.at("work/README.md");
    assert!(!special.covers().iter().any(|cover| is_below(cover.path())), "{special:#?}");
}

#[test]
fn a_repository_with_more_than_is_read_is_closed_and_the_workspace_is_not() {
    let bed = bed();
    bed.put("work/.git/config", "[core]\n\thooksPath = hooks\n");
    bed.put("work/sub/.git/config", &"# long\n".repeat(2_500_000));
    let special = special(&bed);
    unwritable(&bed, &special, &["work/hooks/x", "work/sub/x"]);
    writable(&bed, &special, &["work/x"]);
}
