//! Folders that one command moves to and fro while others start.

use std::fs;
use std::time::Duration;

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::support::{TIERS, background, bash, comes_true, in_tier, start};

/// Commands that start while folders are moved.
const COMMANDS: usize = 100;
/// The places that the folder is moved to, one after the other. They lie in one folder: another one has other mounts, and what is
/// moved there after the start of a command has none of them.
const PLACES: [&str; 3] = ["app", "ppa", "pap"];
const SECRET: &str = "KEY=the-secret";

/// Moves the folder without end, and says how it gets on.
fn mover() -> String {
    let moves = PLACES.iter().zip(PLACES.iter().cycle().skip(1));
    let moves: String = moves.map(|(from, to)| format!("step(\"{from}\", \"{to}\");")).collect();
    let one = "rename($_[0], $_[1]) ? (++$n % 1000 or print \"moved\\n\") : ($!{ENOENT} or print \"refused: $!\\n\")";
    format!("touch ready; exec perl -e '$| = 1; sub step {{ {one} }} while (1) {{ {moves} }}'")
}

/// Tries at each place to read what is denied and to change what is protected.
fn attack() -> String {
    let places = PLACES.join(" ");
    format!(
        "perl -e 'for (1..150) {{ for my $d (qw({places})) {{ \
         if (open F, \"<\", \"$d/.env\") {{ print <F>; close F }} \
         if (open F, \">>\", \"$d/.git/config\") {{ print \"changed\\n\"; close F }} }} }}'"
    )
}

/// Puts a project into the workspace while a command runs, as a person does.
fn put_project(program: &Program) {
    let draft = program.workspace().join("draft");
    fs::create_dir_all(draft.join(".git/objects")).expect("a folder");
    fs::create_dir_all(draft.join(".git/refs")).expect("a folder");
    fs::write(draft.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    fs::write(draft.join(".git/config"), "[core]\n\tbare = false\n").expect("a file");
    fs::write(draft.join(".env"), SECRET).expect("a file");
    fs::rename(draft, program.workspace().join("app")).expect("a folder");
}

/// Returns the number of commands of a server that read the secret, and of those that changed the repository.
fn attacks(server: &mut Started) -> (usize, usize) {
    let (mut read, mut changed) = (0, 0);
    for _ in 0..COMMANDS {
        let ran = bash(server, &attack());
        assert!(!ran.is_marked, "{}", ran.text);
        read += usize::from(ran.text.contains(SECRET));
        changed += usize::from(ran.text.contains("changed"));
    }
    (read, changed)
}

#[test]
fn a_folder_that_is_moved_all_the_time_is_protected_from_the_next_command() {
    let mut found = Vec::new();
    for tier in TIERS {
        let program = in_tier(tier);
        let mut moving = start(&program);
        let task = background(&mut moving, &mover());
        assert!(comes_true(Duration::from_secs(30), || program.workspace().join("ready").exists()));
        put_project(&program);
        // Of the server that runs the other one, and of another.
        for (whose, (read, changed)) in
            [("own", attacks(&mut moving)), ("another", attacks(&mut start(&program)))]
        {
            eprintln!(
                "{tier}, {whose} server: of {COMMANDS} commands {read} read .env, {changed} changed .git/config"
            );
            found.push((tier, whose, read, changed));
        }
        // It waited now and then, and nothing was refused to it.
        let told = moving.call("ReadBgOutput", json!({ "task_id": task }))["structuredContent"].clone();
        let output = told["output"].as_str().expect("a text");
        assert!(told["status"] == "running" && output.contains("moved\n"), "{tier}: {told}");
        assert!(!output.contains("refused"), "{tier}: {told}");
    }
    assert!(found.iter().all(|(.., read, changed)| (*read, *changed) == (0, 0)), "{found:?}");
}
