//! Tests of unreadable directories: they are denied completely, and no command blocks the next.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use rustix::process::getuid;
use scorpiox_tests::program::binary;
use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::support::{TIERS, bash, bash_for, in_each_tier, in_tier, start};

/// Returns a server that runs as a non-root user, who cannot bypass file permissions.
pub(super) fn of_somebody(program: Program) -> (Program, Started) {
    if !getuid().is_root() {
        let server = start(&program);
        return (program, server);
    }
    let script =
        format!("exec setpriv --reuid=65534 --regid=65534 --clear-groups '{}' \"$@\"", binary().display());
    let program = program.after(&script);
    let folder = program.home().parent().expect("a folder").to_owned();
    give(&folder);
    let server = start(&program);
    (program, server)
}

fn give(path: &Path) {
    chown(path, Some(65534), Some(65534)).expect("gives");
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).expect("reads") {
            give(&entry.expect("an entry").path());
        }
    }
}

#[test]
fn a_folder_that_a_command_closed_stays_closed() {
    for tier in TIERS {
        let program = in_tier(tier);
        program.put("workspace/closed/.env", "SECRET");
        program.put("workspace/closed/.git/config", "[core]\n");
        program.put("workspace/listed/sub/.env", "SECRET");
        let (program, mut server) = of_somebody(program);
        bash(&mut server, "chmod 000 closed; chmod 444 listed; true");
        let attack =
            "chmod 755 closed listed; cat closed/.env listed/sub/.env; echo evil >> closed/.git/config; true";
        for _ in 0..2 {
            let ran = bash(&mut server, attack);
            assert!(!ran.text.contains("SECRET"), "{tier}: {}", ran.text);
        }
        let ran = bash(&mut server, "echo still here");
        assert!(ran.text.contains("still here"), "{tier}: {}", ran.text);
        let closed = program.workspace().join("closed");
        if getuid().is_root() || fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).is_ok() {
            assert_eq!(
                fs::read_to_string(closed.join(".git/config")).expect("the file"),
                "[core]\n",
                "{tier}"
            );
        }
    }
}

#[test]
fn a_workspace_that_a_command_closed_is_open_to_the_next() {
    for tier in TIERS {
        let (_program, mut server) = of_somebody(in_tier(tier));
        bash(&mut server, "true");
        bash(&mut server, "chmod 000 .; true");
        let ran = bash(&mut server, "touch made && ls");
        assert!(ran.text.contains("made"), "{tier}: {}", ran.text);
    }
}

#[test]
fn a_folder_that_is_too_deep_is_closed_and_the_rest_is_not() {
    in_each_tier(|program, server| {
        program.put("workspace/a/.env", "SECRET");
        let deep = "mkdir -p deep && cd deep && for i in $(seq 205); do mkdir d && cd -P d || break; done; \
                    echo SECRET > .env; cd /; true";
        bash_for(server, deep, 20_000);
        let long = "mkdir -p long && cd long && n=$(printf 'n%.0s' $(seq 250)) && for i in $(seq 17); do mkdir $n && cd -P $n || break; done; true";
        bash_for(server, long, 20_000);
        let ran = bash(server, "cat a/.env; echo works");
        assert!(ran.text.contains("works") && !ran.text.contains("SECRET"), "{}", ran.text);
        assert!(ran.text.contains("lies too deep, so commands do not see it"), "{}", ran.text);
        let ran = bash(server, "echo again");
        assert!(ran.text.contains("again") && !ran.text.contains("too deep"), "told once: {}", ran.text);
    });
}

#[test]
fn what_is_not_seen_is_told_once_by_commands_in_the_background_too() {
    let is_told = |text: &str| text.contains("lies too deep, so commands do not see it");
    let with_deep_folder = |program: Program| {
        fs::create_dir_all(program.workspace().join("d/".repeat(205))).expect("folders");
        program
    };
    let program = with_deep_folder(Program::new());
    let mut server = start(&program);
    let begun = server.text("BackgroundBash", json!({"command": "true"}));
    assert!(is_told(&begun), "{begun}");
    let next = server.text("BackgroundBash", json!({"command": "true"}));
    assert!(!is_told(&next) && !is_told(&bash(&mut server, "true").text), "{next}");

    let program = with_deep_folder(Program::new().with("ANSWER_WITHIN", "1"));
    let mut server = start(&program);
    let goes_on = bash(&mut server, "sleep 1000").text;
    assert!(goes_on.contains("goes on as background task 1") && is_told(&goes_on), "{goes_on}");
}

#[test]
fn thousands_of_denied_files_do_not_keep_commands_from_running() {
    in_each_tier(|_, server| {
        bash_for(server, "mkdir many && cd many && seq -f '.env%g' 25000 | xargs touch; true", 60_000);
        let ran = bash_for(server, "echo works", 60_000);
        assert!(ran.text.contains("works"), "{}", ran.text);
    });
}

#[test]
fn pipes_in_the_place_of_git_s_files_are_not_waited_for() {
    in_each_tier(|_, server| {
        bash(server, "mkdir -p a/.git b; mkfifo a/.git/config a/.git/commondir b/.git c; true");
        let ran = bash_for(server, "echo works", 10_000);
        assert!(ran.text.contains("works"), "{}", ran.text);
    });
}
