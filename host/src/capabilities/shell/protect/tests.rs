use std::fs;
use std::os::unix::fs::symlink;

use scorpiox_policy::{Places, Policy};

use super::*;
use crate::capabilities::shell::survey::Survey;

struct Bed {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for name in ["work", "notes", "home"] {
            fs::create_dir(root.join(name)).expect("a folder");
        }
        Self { _folder: folder, root }
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn link(&self, target: &str, path: &str) {
        symlink(target, self.root.join(path)).expect("a link");
    }

    fn special(&self) -> Special {
        let areas = ["work", "notes"].map(|name| Area { path: self.root.join(name), write: true });
        let policy = Policy::builtin();
        let places = Places::standard(self.root.join("work"), None, Path::new("/own"));
        let survey = Survey::new(&areas, policy.shell.profiles["workspace"].denied(&places));
        let view = View {
            areas: &areas,
            own_home: Path::new("/own"),
            home: Some(&self.root.join("home")),
            programs: &[],
        };
        view.special(&survey.look().expect("looks")).expect("decides")
    }

    #[track_caller]
    fn unwritable(&self, special: &Special, paths: &[&str]) {
        for path in paths {
            assert!(
                special.closes(&self.root.join(path), true).is_some(),
                "{path} may be written: {special:#?}"
            );
        }
    }

    #[track_caller]
    fn writable(&self, special: &Special, paths: &[&str]) {
        for path in paths {
            assert_eq!(special.closes(&self.root.join(path), true), None, "{path}: {special:#?}");
        }
    }
}

#[test]
fn git_is_followed_wherever_it_is_led() {
    let bed = Bed::new();
    bed.put("work/.git", "gitdir: meta/one\n");
    bed.put("work/meta/one/HEAD", "ref: refs/heads/main\n");
    bed.put("work/meta/one/commondir", "../two\n");
    bed.put("work/meta/two/config", "[core]\n\thooksPath = scripts/hooks\n[include]\npath = ../../more\n");
    bed.put("work/sub/HEAD-away", "ref: refs/heads/main\n");
    bed.put("work/sub/config", "[core]\n\tbare = true\n");
    bed.link("real", "work/sub/hooks");
    bed.put("work/sub/real/pre-commit", "");
    let special = bed.special();
    bed.unwritable(
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
    bed.writable(
        &special,
        &["work/meta/one/HEAD", "work/meta/two/index", "work/scripts/x", "work/sub/objects"],
    );
}

#[test]
fn names_hold_in_every_area_and_along_chains_of_links() {
    let bed = Bed::new();
    bed.put("notes/deep/.vscode/tasks.json", "");
    bed.link("one", "work/.claude");
    bed.link("two", "work/one");
    bed.put("work/two/settings.json", "");
    bed.link("later", "work/.mcp.json");
    let special = bed.special();
    bed.unwritable(
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
    bed.writable(&special, &["notes/deep/x", "work/three"]);
}

#[test]
fn all_names_of_a_file_have_the_rule_of_one() {
    let bed = Bed::new();
    bed.put("work/.claude/settings.json", "{}");
    bed.put("work/.env", "SECRET");
    fs::hard_link(bed.root.join("work/.claude/settings.json"), bed.root.join("work/same.json"))
        .expect("a link");
    fs::hard_link(bed.root.join("work/.env"), bed.root.join("notes/same")).expect("a link");
    let special = bed.special();
    bed.unwritable(&special, &["work/same.json", "notes/same"]);
    assert!(special.closes(&bed.root.join("notes/same"), false).is_some());
    assert!(special.closes(&bed.root.join("work/same.json"), false).is_none());
}

#[test]
fn too_many_rules_in_a_folder_close_it_and_leave_the_rest() {
    let bed = Bed::new();
    for number in 0..21_000 {
        bed.put(&format!("work/many/.env{number}"), "");
    }
    bed.put("work/a/.env", "");
    let special = bed.special();
    assert!(special.closes(&bed.root.join("work/many/x"), false).is_some());
    bed.writable(&special, &["work/a/x"]);
    assert!(special.covers().len() < 1_000);
}
