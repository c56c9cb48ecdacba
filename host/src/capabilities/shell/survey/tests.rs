use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use scorpiox_policy::{Places, Policy};

use super::*;

fn survey(root: &Path) -> Survey {
    let policy = Policy::builtin();
    let places = Places::standard(root.to_owned(), None, Path::new("/own"));
    let areas = [Area { path: root.to_owned(), write: true }];
    Survey::new(&areas, policy.shell.profiles["workspace"].denied(&places))
}

fn bed() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    (folder, root)
}

fn put(path: &Path) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, "").expect("a file");
}

#[test]
fn everything_with_a_rule_is_found_at_any_depth() {
    let (_bed, root) = bed();
    for name in
        ["a/.env", ".mcp.json", "a/b/.VSCode/tasks.json", "bare/HEAD", "bare/objects/x", "bare/refs/x"]
    {
        put(&root.join(name));
    }
    put(&root.join("node_modules/p/.idea/x"));
    put(&root.join("node_modules/p/.git"));
    symlink("bare", root.join("a/.git")).expect("a link");
    let found = survey(&root).look().expect("looks");
    let at = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| root.join(name)).collect() };
    assert_eq!(found.denied, at(&["a/.env"]));
    assert_eq!(found.names, at(&[".mcp.json", "a/b/.VSCode"]));
    assert_eq!(found.git_folders, at(&["bare"]));
    assert_eq!(found.git_pointers, at(&["a/.git", "node_modules/p/.git"]));
    assert!(found.unseen.is_empty());
}

#[test]
fn a_repository_stays_one_whatever_is_taken_out_of_it() {
    let (_bed, root) = bed();
    for name in ["bare/HEAD", "bare/objects/x", "bare/refs/x"] {
        put(&root.join(name));
    }
    let survey = survey(&root);
    assert_eq!(survey.look().expect("looks").git_folders.len(), 1);
    for name in ["HEAD", "objects", "refs"] {
        fs::rename(root.join("bare").join(name), root.join(name)).expect("moves");
    }
    // What was taken out is beside it now.
    let found = survey.look().expect("looks");
    assert!(found.git_folders.contains(&root.join("bare")), "{found:?}");
}

#[test]
fn what_lies_too_deep_is_named_and_the_rest_is_looked_at() {
    let (_bed, root) = bed();
    put(&root.join("z/.env"));
    let mut folder = root.join("deep");
    fs::create_dir(&folder).expect("a folder");
    for name in std::iter::repeat_n("d".repeat(200), 18) {
        folder.push(name);
        fs::create_dir(&folder).expect("a folder");
    }
    let mut many = root.join("many");
    for _ in 0..250 {
        many.push("d");
    }
    fs::create_dir_all(&many).expect("folders");
    let found = survey(&root).look().expect("looks");
    assert_eq!(found.denied, [root.join("z/.env")]);
    assert_eq!(found.unseen.len(), 2, "{:?}", found.unseen);
    assert!(found.unseen.iter().all(|unseen| unseen.why == "lies too deep"), "{:?}", found.unseen);
    assert!(found.unseen.iter().all(|unseen| unseen.path.as_os_str().len() < 4_000));
}
