use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn obeyed(&self, folders: &[&str], pointers: &[&str]) -> BTreeSet<PathBuf> {
        let at = |paths: &[&str]| -> Vec<_> { paths.iter().map(|path| self.at(path)).collect() };
        let (folders, pointers, home) = (at(folders), at(pointers), self.at("home"));
        let of_user = [home.join(".gitconfig")];
        obeyed(Seen { folders: &folders, pointers: &pointers, of_user: &of_user, home: Some(&home) })
    }

    #[track_caller]
    fn has(&self, found: &BTreeSet<PathBuf>, paths: &[&str]) {
        for path in paths {
            assert!(found.contains(&self.at(path)), "{path} is not in {found:#?}");
        }
    }
}

#[test]
fn hooks_and_configurations_of_a_folder_are_obeyed_also_when_they_are_missing() {
    let bed = Bed::new();
    fs::create_dir_all(bed.at("a/.git")).unwrap();
    let found = bed.obeyed(&["a/.git"], &[]);
    bed.has(&found, &["a/.git/hooks", "a/.git/config", "a/.git/config.worktree", "a/.git/commondir"]);
    assert!(!found.contains(&bed.at("a/.git/info/attributes")));
}

#[test]
fn a_file_leads_to_a_folder_of_any_name_and_from_there_to_the_common_one() {
    let bed = Bed::new();
    bed.put("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
    bed.put("main/.git/worktrees/tree/commondir", "../..\n");
    bed.put("main/.git/config", "[core]\n\thooksPath = .githooks\n");
    let found = bed.obeyed(&[], &["tree/.git"]);
    bed.has(
        &found,
        &[
            "tree/.git",
            "main/.git/worktrees/tree/config.worktree",
            "main/.git/worktrees/tree/commondir",
            "main/.git/config",
            "main/.git/hooks",
            "tree/.githooks",
        ],
    );
}

#[test]
fn links_lead_to_folders_and_to_files_that_lead_further() {
    let bed = Bed::new();
    fs::create_dir_all(bed.at("store/one")).unwrap();
    bed.put("pointer", "gitdir: store/two");
    fs::create_dir_all(bed.at("store/two")).unwrap();
    fs::create_dir_all(bed.at("a")).unwrap();
    fs::create_dir_all(bed.at("b")).unwrap();
    symlink("../store/one", bed.at("a/.git")).unwrap();
    symlink("../pointer", bed.at("b/.git")).unwrap();
    let found = bed.obeyed(&[], &["a/.git", "b/.git"]);
    bed.has(&found, &["a/.git", "store/one/config", "b/.git", "store/two/hooks"]);
}

#[test]
fn a_pointer_to_nothing_is_obeyed_once_there_is_something() {
    let bed = Bed::new();
    bed.put("a/.git", "gitdir: meta\n");
    bed.has(&bed.obeyed(&[], &["a/.git"]), &["a/meta/config", "a/meta/hooks"]);
}

#[test]
fn what_a_configuration_names_is_obeyed_too() {
    let bed = Bed::new();
    bed.put(
        "a/.git/config",
        "[include]\npath = ../extra\n[core]\nhooksPath = .husky/_\nworktree = ../../tree\n",
    );
    bed.put("a/extra", "[core]\nfsmonitor = tools/watch.sh --fast\n[alias]\nt = !make test\n");
    bed.put("a/tools/watch.sh", "");
    bed.put("tree/tools/watch.sh", "");
    fs::create_dir_all(bed.at("a/test")).unwrap();
    let found = bed.obeyed(&["a/.git"], &[]);
    bed.has(&found, &["a/.husky", "a/.husky/_", "a/tools/watch.sh"]);
    assert!(found.iter().any(|path| path.ends_with("a/.git/../extra")), "{found:#?}");
    assert!(found.iter().any(|path| path.ends_with("tree/tools/watch.sh")), "{found:#?}");
    assert!(!found.contains(&bed.at("a/test")), "a folder is no program");
}

#[test]
fn configurations_of_the_user_hold_in_every_work_tree() {
    let bed = Bed::new();
    bed.put("home/.gitconfig", "[core]\nhooksPath = .hooks\n[include]\npath = ~/more\n");
    fs::create_dir_all(bed.at("a/.git")).unwrap();
    fs::create_dir_all(bed.at("b/.git")).unwrap();
    let found = bed.obeyed(&["a/.git", "b/.git"], &[]);
    bed.has(&found, &["a/.hooks", "b/.hooks", "home/more", "home/.gitconfig"]);
}

#[test]
fn pipes_and_endless_files_are_not_waited_for() {
    let bed = Bed::new();
    fs::create_dir_all(bed.at("a/.git")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    for path in ["a/.git/config", "a/.git/commondir", "pipe"] {
        rustix::fs::mknodat(rustix::fs::CWD, bed.at(path), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    symlink("/dev/zero", bed.at("a/.git/gitdir")).unwrap();
    bed.has(&bed.obeyed(&["a/.git"], &["pipe"]), &["a/.git/config", "pipe"]);
}
