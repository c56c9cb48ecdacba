use std::fs;
use std::path::Path;

use scorpiox_policy::{Places, Policy};
use scorpiox_test_support::bed::Bed;

use super::*;

/// Returns a survey with another limit on folders.
fn survey_of(root: &Path, most_folders: usize) -> Survey {
    Survey { most_folders, ..survey(root) }
}

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
    let found = survey(bed.root()).look().expect("looks").found;
    let at = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| bed.at(name)).collect() };
    assert_eq!(found.denied, at(&["a/.env"]));
    // Through the link, the folder is named `.git`.
    let linked = ["arc/config", "sl/config", "sl/histedit-state", "sl/sharedpath"];
    let linked = linked.map(|name| format!("a/bare/{name}"));
    let names = [".mcp.json", "a/b/.VSCode"].into_iter().chain(linked.iter().map(String::as_str));
    assert_eq!(found.names, at(&names.collect::<Vec<_>>()));
    assert_eq!(found.git_folders, at(&["bare"]));
    assert_eq!(found.git_pointers, at(&["a/.git", "node_modules/p/.git"]));
    assert!(found.unseen.is_empty());
}

#[test]
fn a_folder_is_read_until_nothing_leaves_it_meanwhile() {
    let bed = Bed::new();
    bed.put("at0/x", "");
    let readings_until = |last: usize| {
        let mut readings = 0;
        let folder = Folder::settled(|| {
            let (folder, is_still) =
                Folder::read_once(bed.root(), folder::Manner::Open, &DenySet::default())?;
            assert!(is_still);
            readings += 1;
            if readings < last {
                let name = |number: usize| bed.at(format!("at{number}"));
                fs::rename(name(readings - 1), name(readings))?;
            }
            Ok((folder, false))
        });
        (folder, readings)
    };
    let (folder, readings) = readings_until(3);
    let below: Vec<_> = folder.expect("reads").below().map(|(path, _)| path.to_owned()).collect();
    assert_eq!((below, readings), (vec![bed.at("at2")], 4));
    fs::rename(bed.at("at2"), bed.at("at0")).expect("moves");
    let (folder, readings) = readings_until(usize::MAX);
    assert_eq!(folder.expect_err("restless").kind(), io::ErrorKind::ResourceBusy);
    assert_eq!(readings, folder::MAX_READINGS);
}

#[test]
fn a_repository_stays_one_whatever_is_taken_out_of_it() {
    let bed = Bed::new();
    for name in ["bare/HEAD", "bare/objects/x", "bare/refs/x"] {
        bed.put(name, "");
    }
    let survey = survey(bed.root());
    assert_eq!(survey.look().expect("looks").found.git_folders.len(), 1);
    for name in ["HEAD", "objects", "refs"] {
        fs::rename(bed.at("bare").join(name), bed.at(name)).expect("moves");
    }
    // The entries moved out of it lie next to it.
    let found = survey.look().expect("looks").found;
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
    let found = survey(bed.root()).look().expect("looks").found;
    assert_eq!(found.denied, [bed.at("z/.env")]);
    assert_eq!(found.unseen.len(), 2, "{:?}", found.unseen);
    assert!(found.unseen.iter().all(|unseen| unseen.why == "lies too deep"), "{:?}", found.unseen);
    assert!(found.unseen.iter().all(|unseen| unseen.path.as_os_str().len() < 4_000));
}

#[test]
fn the_largest_folders_are_closed_when_there_are_too_many_in_all() {
    let bed = Bed::new();
    for number in 0..40 {
        bed.folder(format!("big/{number}"));
        bed.folder(format!("s{number}/sub"));
    }
    bed.put("s7/.env", "");
    let survey = survey_of(bed.root(), 100);
    for _ in 0..2 {
        let found = survey.look().expect("looks").found;
        assert_eq!(found.unseen, [Unseen { path: bed.at("big"), why: "holds too many folders" }]);
        assert_eq!(found.denied, [bed.at("s7/.env")]);
    }
    let flat = Bed::new();
    for number in 0..40 {
        flat.folder(format!("{number}"));
    }
    let error = survey_of(flat.root(), 30).look().expect_err("too many right in the root").to_string();
    assert!(error.contains("too many to search"), "{error}");
}

#[test]
fn what_did_not_change_is_found_without_reading_it_again() {
    let bed = Bed::new();
    bed.put("a/.env", "");
    bed.put("b/x", "");
    let survey = survey(bed.root());
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let mut last = survey.look().expect("looks").found;
    // Folders younger than the clock granularity are read again.
    loop {
        let found = survey.look().expect("looks").found;
        if std::sync::Arc::ptr_eq(&last, &found) {
            break;
        }
        assert!(std::time::Instant::now() < until, "nothing changes any more");
        last = found;
    }
    bed.put("b/.env", "");
    assert_eq!(survey.look().expect("looks").found.denied, [bed.at("a/.env"), bed.at("b/.env")]);
    #[allow(clippy::disallowed_methods, reason = "a test knows what it removes")]
    fs::remove_dir_all(bed.at("a")).expect("removes");
    assert_eq!(survey.look().expect("looks").found.denied, [bed.at("b/.env")]);
}

#[cfg(unix)]
#[test]
fn names_that_count_in_a_folder_are_found_where_a_link_of_its_name_leads() {
    let bed = Bed::new();
    for name in ["g/hooks/x.json", "j/file", "r/file", "node_modules/p/.github/x", "node_modules/h/file"] {
        bed.put(name, "");
    }
    bed.link("g", ".github");
    bed.link("../j", "a/.jj");
    bed.link("../r", "j/repo");
    bed.link("node_modules/h", ".hg");
    bed.link("../.github", "chain/.github");
    bed.link(".pijul", "loop/.pijul");
    bed.link("../g", "node_modules/p/.config");
    bed.link("g", "github");
    let survey = survey(bed.root());
    let mut expected: Vec<_> = ["g/copilot", "g/extensions", "g/hooks", "g/lsp.json", "g/mcp.json"]
        .into_iter()
        .chain(["j/workspace-config.toml", "r/config.toml"])
        .chain(["node_modules/h/hgrc", "node_modules/h/hgrc-not-shared"])
        .chain(["node_modules/h/histedit-state", "node_modules/h/sharedpath"])
        .map(|name| bed.at(name))
        .collect();
    expected.sort();
    let names = || survey.look().expect("looks").found.names.clone();
    assert_eq!(names(), expected);
    let links = &survey.look().expect("looks").found.links;
    assert_eq!(*links, [".github", ".hg", "a/.jj", "chain/.github", "j/repo"].map(|name| bed.at(name)));
    // This also holds if the folder that contains the link has not changed.
    assert_eq!(names(), expected);
    fs::rename(bed.at("r"), bed.at("s")).expect("moves");
    fs::create_dir(bed.at("r")).expect("a folder");
    assert_eq!(names(), expected);
}

#[cfg(unix)]
#[test]
fn what_is_denied_by_the_names_of_folders_is_found_where_links_lead() {
    let bed = Bed::new();
    for name in ["c2/a.key", "c2/a.txt", "c2/deep/b.key", "d/e/f/x.pem", "d/x.txt", "other/conf/a.key"] {
        bed.put(name, "");
    }
    bed.link("c2", "conf");
    bed.link("d", "certs");
    bed.link("../d", "d/e/again");
    bed.link("..", "e/certs");
    let outside = Bed::new();
    outside.put("a.key", "");
    bed.link(outside.root().to_str().expect("a path"), "conf2");
    let rules = ["conf*/*.key", "certs/**/*.pem", "e/certs/d/*.txt"];
    let rules: Vec<_> = rules
        .iter()
        .map(|glob| scorpiox_policy::DenyRule::parse(glob, scorpiox_policy::Source::Builtin).expect("a glob"))
        .collect();
    let places = Places::standard(bed.root().to_owned(), None, Path::new("/own"));
    let deny = DenySet::new(&rules, &[bed.root().to_owned()], &places);
    let survey = Survey::new(&[Area { path: bed.root().to_owned(), write: true }], deny);
    let denied = || survey.look().expect("looks").found.denied.clone();
    assert_eq!(denied(), ["c2/a.key", "d/e/f/x.pem", "d/x.txt"].map(|name| bed.at(name)));
    // These files are added later, and nothing changes for the link.
    bed.put("c2/prod.key", "");
    bed.put("d/e/f/g/y.pem", "");
    let expected = ["c2/a.key", "c2/prod.key", "d/e/f/g/y.pem", "d/e/f/x.pem", "d/x.txt"];
    assert_eq!(denied(), expected.map(|name| bed.at(name)));
}

/// The target of the link lies elsewhere, so the folder itself does not change when the number of entries
/// behind the link drops below the limit.
#[cfg(unix)]
#[test]
fn a_look_that_fails_because_of_a_link_is_made_anew() {
    let bed = Bed::new();
    bed.put("w/.env", "");
    bed.link("..", "w/certs");
    for number in 0..40 {
        bed.put(format!("many/{number}"), "");
        bed.put(format!("{number}"), "");
    }
    let root = bed.at("w");
    let rules = ["**/.env", "certs/*.pem"].map(|glob| {
        scorpiox_policy::DenyRule::parse(glob, scorpiox_policy::Source::Builtin).expect("a glob")
    });
    let places = Places::standard(root.clone(), None, Path::new("/own"));
    let deny = DenySet::new(&rules, std::slice::from_ref(&root), &places);
    let survey = Survey { most_entries: 20, ..Survey::new(&[Area { path: root, write: true }], deny) };
    // Folders younger than the clock granularity are read again.
    let until = std::time::Instant::now() + std::time::Duration::from_millis(100);
    while std::time::Instant::now() < until {
        let error = survey.look().expect_err("more than is looked at").to_string();
        assert!(error.contains("w/certs"), "{error}");
    }
    (0..40).for_each(|number| fs::remove_file(bed.at(number.to_string())).expect("removes"));
    assert_eq!(survey.look().expect("looks").found.denied, [bed.at("w/.env")]);
}
