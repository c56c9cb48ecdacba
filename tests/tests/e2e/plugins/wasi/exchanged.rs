//! Tests that an approved directory remains the one that was approved, even if commands replace it.

use std::fs;
use std::os::unix::fs::symlink;

use scorpiox_tests::{Canonical as _, Program};
use serde_json::json;

use super::{outsider, try_to};
use crate::plugins::{guest, hash_of, install, source};

/// Creates a workspace with a directory in it, and a private directory of the user's outside of it.
fn beds() -> (Program, String, String) {
    let program = Program::new();
    program.put("workspace/data/a.txt", "mine");
    program.put("home/private/a.txt", "secret");
    let at = |path: std::path::PathBuf| path.canonical().display().to_string();
    let (data, private) = (at(program.workspace().join("data")), at(program.home().join("private")));
    (program, data, private)
}

#[test]
fn a_link_in_the_place_of_an_approved_folder_leads_nowhere() {
    let (program, data, private) = beds();
    let manifest = format!("[capabilities.files]\nwhy = \"x\"\nwrite = [\"{data}\"]\n");
    let (program, mut server) = outsider(program, &manifest);
    let file = format!("{data}/a.txt");
    let read = |server: &mut _| try_to(server, "read-file", json!({ "path": file }));
    assert_eq!(read(&mut server), Ok(json!("mine")));
    let exchanged = format!("mv data old && ln -s '{private}' data");
    assert_eq!(server.call("Bash", json!({ "command": exchanged }))["isError"], false);
    assert!(read(&mut server).is_err(), "{:?}", read(&mut server));
    let written = json!({ "path": format!("{data}/b.txt"), "text": "x" });
    assert!(try_to(&mut server, "write-file", written).is_err());
    assert!(!program.home().join("private/b.txt").exists());
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    // After a directory returns to the path, the plugin can access it, including files that commands put
    // there.
    server.call("Bash", json!({ "command": "rm data && mv old data" }));
    assert_eq!(read(&mut server), Ok(json!("mine")));
    // Replacing a parent directory fails too.
    let deep = format!("[capabilities.files]\nwhy = \"x\"\nread = [\"{data}/sub/deep\"]\n");
    program.put("workspace/data/sub/deep/a.txt", "mine");
    program.put("home/private/deep/a.txt", "secret");
    let folder = source(&program, "outsider", &deep, &fs::read(guest("outsider")).expect("the component"));
    install(&program, &folder);
    let file = json!({ "path": format!("{data}/sub/deep/a.txt") });
    assert_eq!(try_to(&mut server, "read-file", file.clone()), Ok(json!("mine")));
    server.call("Bash", json!({ "command": format!("mv data/sub data/old && ln -s '{private}' data/sub") }));
    assert!(try_to(&mut server, "read-file", file).is_err());
}

#[test]
fn a_folder_that_changes_places_all_the_time_never_leads_out() {
    let (program, data, private) = beds();
    let manifest = format!("[capabilities.files]\nwhy = \"x\"\nread = [\"{data}\"]\n");
    let (_program, mut server) = outsider(program, &manifest);
    let flips = format!(
        "ln -s '{private}' link; mv data old; while :; do mv -T old data; mv -T data old; mv -T link data; \
         mv -T data link; done"
    );
    server.call("BackgroundBash", json!({ "command": flips }));
    for _ in 0..200 {
        let read = try_to(&mut server, "read-file", json!({ "path": format!("{data}/a.txt") }));
        assert_ne!(read, Ok(json!("secret")));
    }
}

#[test]
fn a_link_of_the_person_is_shown_before_it_is_approved_and_counts_as_it_was() {
    let (program, _, private) = beds();
    let home = program.home().canonical();
    symlink(&private, home.join("notes")).expect("a link");
    let manifest = "[capabilities.files]\nwhy = \"x\"\nread = [\"~/notes\"]\n";
    let bytes = fs::read(guest("outsider")).expect("the component");
    let folder = source(&program, "outsider", manifest, &bytes);
    let (_, shown, _) = program.run(&["plugin", "add", &folder]);
    assert!(shown.contains("which leads to") && shown.contains("home/private"), "{shown}");
    let hash = hash_of(&program, &folder);
    // The target of the link is part of the approval.
    fs::remove_file(home.join("notes")).expect("removes");
    symlink("/etc", home.join("notes")).expect("a link");
    let (added, _, err) = program.run(&["plugin", "add", &folder, "--yes", &hash]);
    assert!(!added.success() && err.contains("is not the hash of this plugin"), "{err}");
    fs::remove_file(home.join("notes")).expect("removes");
    symlink(&private, home.join("notes")).expect("a link");
    let (added, _, err) = program.run(&["plugin", "add", &folder, "--yes", &hash]);
    assert!(added.success(), "{err}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let file = json!({ "path": format!("{private}/a.txt") });
    assert_eq!(try_to(&mut server, "read-file", file.clone()), Ok(json!("secret")));
    fs::remove_file(home.join("notes")).expect("removes");
    symlink("/etc", home.join("notes")).expect("a link");
    assert_eq!(try_to(&mut server, "read-file", file), Ok(json!("secret")), "it stays what was approved");
    assert!(try_to(&mut server, "read-file", json!({ "path": "/etc/passwd" })).is_err());
}
