//! Tests of directories that one command keeps moving while others start.

use std::fs;
use std::time::Duration;

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::support::{TIERS, background, bash, comes_true, in_tier, start, start_in};

/// Number of commands that start while the directory is moved.
const COMMANDS: usize = 100;
/// Successive names of the directory. All are in the same parent, because other parents have other mounts,
/// which do not cover a directory that arrives after the start of a command.
const PLACES: [&str; 3] = ["app", "ppa", "pap"];
const SECRET: &str = "KEY=the-secret";

/// Returns a command that moves the directory endlessly within a directory of the workspace, and reports its
/// progress.
fn mover(within: &str) -> String {
    let moves = PLACES.iter().zip(PLACES.iter().cycle().skip(1));
    let moves: String =
        moves.map(|(from, to)| format!("step(\"{within}/{from}\", \"{within}/{to}\");")).collect();
    let one = "rename($_[0], $_[1]) ? (++$n % 1000 or print \"moved\\n\") : ($!{ENOENT} or print \"refused: $!\\n\")";
    format!("touch ready; exec perl -e '$| = 1; sub step {{ {one} }} while (1) {{ {moves} }}'")
}

/// Returns a command that tries, at each name, to read denied files and to change protected ones.
fn attack() -> String {
    let places = PLACES.join(" ");
    format!(
        "perl -e 'for (1..150) {{ for my $d (qw({places})) {{ \
         if (open F, \"<\", \"$d/.env\") {{ print <F>; close F }} \
         if (open F, \">>\", \"$d/.git/config\") {{ print \"changed\\n\"; close F }} }} }}'"
    )
}

/// Moves a project into the workspace while a command runs, like a user would.
fn put_project(program: &Program, within: &str) {
    let draft = program.workspace().join("draft");
    fs::create_dir_all(draft.join(".git/objects")).expect("a folder");
    fs::create_dir_all(draft.join(".git/refs")).expect("a folder");
    fs::write(draft.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    fs::write(draft.join(".git/config"), "[core]\n\tbare = false\n").expect("a file");
    fs::write(draft.join(".env"), SECRET).expect("a file");
    fs::rename(draft, program.workspace().join(within).join("app")).expect("a folder");
}

/// Returns the number of commands of a server that read the secret, and of those that changed the repository.
fn attacks(server: &mut Started) -> (usize, usize) {
    let (mut read, mut changed) = (0, 0);
    for _ in 0..COMMANDS {
        let ran = bash(server, &attack());
        assert!(!ran.is_marked, "{}", ran.text);
        read += usize::from(ran.text.contains(SECRET));
        changed += usize::from(ran.text.lines().any(|line| line == "changed"));
    }
    (read, changed)
}

#[test]
fn a_folder_that_is_moved_all_the_time_is_protected_from_the_next_command() {
    let mut found = Vec::new();
    for tier in TIERS {
        let program = in_tier(tier);
        let mut moving = start(&program);
        let task = background(&mut moving, &mover("."));
        assert!(comes_true(Duration::from_secs(30), || program.workspace().join("ready").exists()));
        put_project(&program, ".");
        // Counts for the server that runs the mover, and for another server.
        for (whose, (read, changed)) in
            [("own", attacks(&mut moving)), ("another", attacks(&mut start(&program)))]
        {
            eprintln!(
                "{tier}, {whose} server: of {COMMANDS} commands {read} read .env, {changed} changed .git/config"
            );
            found.push((tier, whose, read, changed));
        }
        // The mover was delayed at times, but no move was refused.
        let told = moving.call("ReadBgOutput", json!({ "task_id": task }))["structuredContent"].clone();
        let output = told["output"].as_str().expect("a text");
        assert!(told["status"] == "running" && output.contains("moved\n"), "{tier}: {told}");
        assert!(!output.contains("refused"), "{tier}: {told}");
    }
    assert!(found.iter().all(|(.., read, changed)| (*read, *changed) == (0, 0)), "{found:?}");
}

#[test]
fn a_folder_that_is_moved_from_a_workspace_around_it_is_protected() {
    let program = Program::new();
    let inner = program.workspace().join("inner");
    fs::create_dir(&inner).expect("a folder");
    let mut around = start(&program);
    background(&mut around, &mover("inner"));
    assert!(comes_true(Duration::from_secs(30), || program.workspace().join("ready").exists()));
    put_project(&program, "inner");
    assert_eq!(attacks(&mut start_in(&program, &inner)), (0, 0));
}
