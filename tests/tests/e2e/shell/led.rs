//! Tests of files to which a directory leads: they stay protected if the directory becomes unreadable, or if
//! it leads there through others.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::process::getuid;
use scorpiox_tests::Program;

use super::support::{TIERS, bash, bash_for, in_each_tier, in_tier, start, with_policy};
use super::unseen::of_somebody;

/// Creates directories that lead elsewhere: a repository to its hooks, and denied files to their other names.
fn leading(program: &Program) {
    for (path, content) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n\thooksPath = .husky\n[include]\n\tpath = ../conf/more\n"),
        ("conf/more", "[core]\n\tfsmonitor = tools/monitor\n"),
        (".husky/pre-commit", "#!/bin/sh\n"),
        ("tools/monitor", "#!/bin/sh\n"),
        ("vault/prod.txt", "SECRET"),
        ("vault/twice.txt", "SECRET"),
        ("app/file", "x"),
    ] {
        program.put(&format!("workspace/{path}"), content);
    }
    for folder in ["objects", "refs", "modules"] {
        fs::create_dir_all(program.workspace().join(".git").join(folder)).expect("a folder");
    }
    let at = |path: &str| program.workspace().join(path);
    symlink("../vault/prod.txt", at("app/.env")).expect("a link");
    fs::hard_link(at("vault/twice.txt"), at("app/.env.local")).expect("a link");
}

const ATTACK: &str =
    "echo evil >> .husky/pre-commit; echo evil > .husky/post-commit; echo evil >> tools/monitor
echo evil >> conf/more; cat vault/prod.txt vault/twice.txt; echo finished";

fn check(program: &Program, said: &str, how: &str) {
    assert!(!said.contains("SECRET"), "{how}: {said}");
    for path in [".husky/pre-commit", "tools/monitor", "conf/more"] {
        let file = program.workspace().join(path);
        if let Ok(kept) = fs::read_to_string(&file) {
            assert!(!kept.contains("evil"), "{how}: {path}: {said}");
        }
    }
    assert!(!program.workspace().join(".husky/post-commit").exists(), "{how}: {said}");
}

#[test]
fn what_a_closed_folder_leads_to_keeps_its_rules() {
    for tier in TIERS {
        let program = in_tier(tier);
        leading(&program);
        let (program, mut server) = of_somebody(program);
        bash(&mut server, "chmod 000 .git app conf; true");
        for _ in 0..2 {
            let ran = bash(&mut server, ATTACK);
            assert!(ran.text.contains("finished"), "{tier}: {}", ran.text);
            check(&program, &ran.text, tier);
        }
    }
}

#[test]
fn what_a_folder_leads_to_that_is_too_full_keeps_its_rules() {
    in_each_tier(|program, server| {
        leading(program);
        bash(server, "true");
        for number in 0..4100 {
            for part in ["objects", "refs"] {
                let folder = program.workspace().join(format!(".git/modules/m{number}/{part}"));
                fs::create_dir_all(folder).expect("creates");
            }
        }
        for number in 0..20_100 {
            fs::write(program.workspace().join(format!("app/.env.{number}")), "").expect("writes");
        }
        let ran = bash_for(server, ATTACK, 60_000);
        assert!(ran.text.contains("finished"), "{}", ran.text);
        assert!(ran.text.contains("holds too many"), "nothing was closed: {}", ran.text);
        check(program, &ran.text, "full");
    });
}

/// A server that never read the directory does not know the files to which it leads.
#[test]
fn a_folder_that_is_closed_at_the_first_look_lets_no_command_run() {
    if !getuid().is_root() {
        return;
    }
    let program = Program::new();
    leading(&program);
    let git = program.workspace().join(".git");
    fs::set_permissions(&git, fs::Permissions::from_mode(0o000)).expect("closes");
    let (_program, mut server) = of_somebody(program);
    for _ in 0..2 {
        let refused = bash(&mut server, "true").text;
        assert!(refused.contains("/.git cannot be read") && refused.contains("chmod u+rwx"), "{refused}");
    }
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("opens");
    bash(&mut server, "true").succeeded();
}

#[test]
fn a_repository_in_a_denied_folder_is_followed() {
    let policy = "[shell.profile.workspace]\nread = [\"@system\"]\nwrite = [\"@workspace\", \"@tmp\"]\ndeny = [\"private/\"]\n";
    let program = with_policy(Program::new(), policy);
    program.put("workspace/private/.git/HEAD", "ref: refs/heads/main\n");
    program.put("workspace/private/.git/config", "[core]\n\thooksPath = ../hk\n");
    program.put("workspace/hk/pre-commit", "#!/bin/sh\n");
    for folder in ["objects", "refs"] {
        fs::create_dir_all(program.workspace().join("private/.git").join(folder)).expect("a folder");
    }
    let mut server = start(&program);
    let ran = bash(&mut server, "echo evil >> hk/pre-commit; echo evil > hk/post-commit; echo finished");
    assert!(ran.text.contains("finished"), "{}", ran.text);
    let kept = fs::read_to_string(program.workspace().join("hk/pre-commit")).expect("the file");
    assert!(!kept.contains("evil"), "{}", ran.text);
    assert!(!program.workspace().join("hk/post-commit").exists(), "{}", ran.text);
}

/// In `src/../hk`, a replacement of `src` would lead git elsewhere.
#[test]
fn a_folder_that_a_path_only_passes_stays_where_it_is() {
    in_each_tier(|program, server| {
        program.put("workspace/.git/HEAD", "ref: refs/heads/main\n");
        program.put(
            "workspace/.git/config",
            "[core]\n\thooksPath = src/../hk\n[include]\n\tpath = ../new/../more\n",
        );
        for folder in [".git/objects", ".git/refs", "src", "hk", "evil/sub"] {
            fs::create_dir_all(program.workspace().join(folder)).expect("a folder");
        }
        let ran = bash(
            server,
            "rmdir src; ln -s evil/sub src; mv src away; ln -s evil/sub new; mkdir new; echo finished",
        );
        assert!(ran.text.contains("finished"), "{}", ran.text);
        let src = program.workspace().join("src").symlink_metadata().expect("the folder");
        assert!(src.is_dir(), "{}", ran.text);
        assert!(program.workspace().join("new").symlink_metadata().is_err(), "{}", ran.text);
    });
}
