use std::fs;
use std::path::Path;

use scorpiox_bed::Bed;
use scorpiox_policy::{Places, Policy};

use super::*;

fn survey(root: &Path) -> Survey {
    let policy = Policy::builtin();
    let places = Places::standard(root.to_owned(), None, Path::new("/own"));
    let areas = [Area { path: root.to_owned(), write: true }];
    Survey::new(&areas, policy.shell.profiles["workspace"].denied(&places))
}

#[test]
fn everything_with_a_rule_is_found_at_any_depth() {
    let bed = Bed::new();
    for name in
        ["a/.env", ".mcp.json", "a/b/.VSCode/tasks.json", "bare/HEAD", "bare/objects/x", "bare/refs/x"]
    {
        bed.put(name, "");
    }
    bed.put("node_modules/p/.idea/x", "");
    bed.put("node_modules/p/.git", "");
    bed.link("bare", "a/.git");
    let found = survey(bed.root()).look().expect("looks");
    let at = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| bed.at(name)).collect() };
    assert_eq!(found.denied, at(&["a/.env"]));
    assert_eq!(found.names, at(&[".mcp.json", "a/b/.VSCode"]));
    assert_eq!(found.git_folders, at(&["bare"]));
    assert_eq!(found.git_pointers, at(&["a/.git", "node_modules/p/.git"]));
    assert!(found.unseen.is_empty());
}

#[test]
fn a_repository_stays_one_whatever_is_taken_out_of_it() {
    let bed = Bed::new();
    for name in ["bare/HEAD", "bare/objects/x", "bare/refs/x"] {
        bed.put(name, "");
    }
    let survey = survey(bed.root());
    assert_eq!(survey.look().expect("looks").git_folders.len(), 1);
    for name in ["HEAD", "objects", "refs"] {
        fs::rename(bed.at("bare").join(name), bed.at(name)).expect("moves");
    }
    // What was taken out is beside it now.
    let found = survey.look().expect("looks");
    assert!(found.git_folders.contains(&bed.at("bare")), "{found:?}");
}

#[test]
fn what_lies_too_deep_is_named_and_the_rest_is_looked_at() {
    let bed = Bed::new();
    bed.put("z/.env", "");
    let mut folder = bed.at("deep");
    fs::create_dir(&folder).expect("a folder");
    for name in std::iter::repeat_n("d".repeat(200), 18) {
        folder.push(name);
        fs::create_dir(&folder).expect("a folder");
    }
    let mut many = bed.at("many");
    for _ in 0..250 {
        many.push("d");
    }
    fs::create_dir_all(&many).expect("folders");
    let found = survey(bed.root()).look().expect("looks");
    assert_eq!(found.denied, [bed.at("z/.env")]);
    assert_eq!(found.unseen.len(), 2, "{:?}", found.unseen);
    assert!(found.unseen.iter().all(|unseen| unseen.why == "lies too deep"), "{:?}", found.unseen);
    assert!(found.unseen.iter().all(|unseen| unseen.path.as_os_str().len() < 4_000));
}
