//! Tests of directories outside of the workspace: the same rules apply there, and skills are readable.

use std::fs;
use std::os::unix::fs::symlink;

use scorpiox_tests::{Canonical as _, Program};

use super::support::{TIERS, bash, bash_for, in_each_tier, in_tier, start, with_policy};

/// Returns a program whose policy grants access to two external directories, one for reading and one for
/// writing.
fn opened(tier: &str) -> Program {
    let program = in_tier(tier);
    for name in ["reference/x/.env", "notes/x/.env.local", "reference/keys/a", "notes/keys/a"] {
        program.put(name, "SECRET");
    }
    program.put("reference/page", "seen");
    program.put("notes/page", "seen");
    let base = program.workspace().parent().expect("a folder").canonical();
    let base = base.display();
    let policy = format!(
        "[shell.profile.workspace]\nread = [\"@system\", \"{base}/reference\"]\n\
         write = [\"@workspace\", \"@tmp\", \"{base}/notes\"]\ndeny = [\"**/.env*\", \"keys\"]\n"
    );
    with_policy(program, &policy)
}

#[test]
fn a_folder_is_opened_as_soon_as_it_is_there() {
    for tier in TIERS {
        let program = in_tier(tier);
        let later = program.workspace().parent().expect("a folder").canonical().join("later");
        let policy = format!(
            "[shell.profile.workspace]\nread = [\"@system\"]\nwrite = [\"@workspace\", \"@tmp\", \"{}\"]\n",
            later.display()
        );
        let program = with_policy(program, &policy);
        let mut server = start(&program);
        let write = format!("echo x > {}/file", later.display());
        assert_ne!(bash(&mut server, &write).exit_code(), 0, "{tier}");
        std::fs::create_dir(&later).expect("a folder");
        let ran = bash(&mut server, &write);
        assert_eq!(ran.exit_code(), 0, "{tier}: {}", ran.text);
    }
}

#[test]
fn what_is_denied_is_denied_in_every_folder() {
    for tier in TIERS {
        let program = opened(tier);
        let mut server = start(&program);
        let ran = bash(
            &mut server,
            "cd ..; cat reference/x/.env notes/x/.env.local reference/keys/a notes/keys/a; grep -r . reference notes; true",
        );
        assert!(!ran.text.contains("SECRET") && ran.text.contains("seen"), "{tier}: {}", ran.text);
        let base = program.workspace().parent().expect("a folder").to_owned();
        for (path, word) in
            [("reference/x/.env", "denied"), ("notes/keys/a", "denied"), ("reference/page", "allowed")]
        {
            let path = base.join(path).display().to_string();
            let (_, said, _) = program.run(&["policy", "why", "read", &path]);
            assert!(said.starts_with(&format!("{path}: {word}")), "{said}");
        }
    }
}

#[test]
fn protected_names_are_protected_in_every_folder_and_at_every_depth() {
    for tier in TIERS {
        let program = opened(tier);
        program.put("notes/deep/.vscode/tasks.json", "[]");
        program.put("workspace/packages/app/.claude/settings.json", "{}");
        program.put("notes/.git/config", "[core]\n");
        let mut server = start(&program);
        for attack in [
            "cd ../notes; echo evil > deep/.vscode/tasks.json; echo evil >> .git/config; mv deep d; rm -rf deep",
            "echo evil > packages/app/.claude/settings.json; mv packages p; rm -rf packages",
            "cd ../notes; echo evil > .mcp.json; mkdir .claude; echo evil > .claude/settings.json",
        ] {
            bash_for(&mut server, &format!("{attack}; true"), 5_000);
        }
        let base = program.workspace().parent().expect("a folder").to_owned();
        let is = |path: &str| fs::read_to_string(base.join(path)).unwrap_or_default();
        assert_eq!(is("notes/deep/.vscode/tasks.json"), "[]", "{tier}");
        assert_eq!(is("workspace/packages/app/.claude/settings.json"), "{}", "{tier}");
        assert_eq!(is("notes/.git/config"), "[core]\n", "{tier}");
        assert_eq!(
            (is("notes/.mcp.json"), is("notes/.claude/settings.json")),
            (String::new(), String::new())
        );
        let path = base.join("notes/deep/.vscode/new").display().to_string();
        let (_, said, _) = program.run(&["policy", "why", "write", &path]);
        assert!(said.contains("denied") && said.contains("protected"), "{said}");
    }
}

#[test]
fn the_folders_of_skills_can_be_read_and_nothing_beside_them() {
    in_each_tier(|program, server| {
        program.put("home/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: d\n---\n");
        program.put("home/.claude/skills/pdf/scripts/run.sh", "echo the script ran\n");
        program.put("home/.claude/skills/pdf/.env", "SECRET");
        program.put("home/.claude/skills/no-skill/file", "SECRET");
        program.put("home/.claude/settings.json", "SECRET");
        program.put("elsewhere/file", "SECRET");
        let home = program.home().canonical();
        symlink(home.with_file_name("elsewhere"), home.join(".claude/skills/pdf/away")).expect("a link");
        let skills = home.join(".claude/skills");
        let skills = skills.display();
        let ran = bash(
            server,
            &format!(
                "sh {skills}/pdf/scripts/run.sh; echo evil > {skills}/pdf/new; echo evil >> {skills}/pdf/SKILL.md; \
                      cat {skills}/pdf/.env {skills}/pdf/away/file {skills}/no-skill/file {skills}/../settings.json; true"
            ),
        );
        assert!(ran.text.contains("the script ran") && !ran.text.contains("SECRET"), "{}", ran.text);
        assert!(!home.join(".claude/skills/pdf/new").exists());
        program.put("home/.scorpiox/skills/late/SKILL.md", "---\nname: late\ndescription: d\n---\n");
        program.put("home/.scorpiox/skills/late/reference.md", "came later");
        let late = home.join(".scorpiox/skills/late/reference.md").display().to_string();
        assert_eq!(bash(server, &format!("cat {late}")).succeeded(), "came later");
        let (_, said, _) = program.run(&["policy", "why", "read", &late]);
        assert!(said.contains("allowed") && said.contains("@skills"), "{said}");
        program.put("home/.scorpiox/settings.json", "{}");
        let own = home.join(".scorpiox/settings.json").display().to_string();
        assert!(program.run(&["policy", "why", "read", &own]).1.contains("denied"));
    });
}

#[test]
fn a_policy_that_does_not_name_skills_closes_them() {
    let program = with_policy(Program::new(), "[shell.profile.workspace]\nread = [\"@system\"]\n");
    program.put("home/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: d\n---\nSECRET");
    let skill = program.home().canonical().join(".claude/skills/pdf/SKILL.md");
    let ran = bash(&mut start(&program), &format!("cat {}", skill.display()));
    assert!(!ran.text.contains("SECRET"), "{}", ran.text);
}

#[test]
fn toolchains_that_lie_in_the_workspace_are_not_written() {
    in_each_tier(|program, server| {
        program.put("workspace/cargo/bin/cargo", "#!/bin/sh\n");
        symlink("../workspace/cargo", program.home().join(".cargo")).expect("a link");
        symlink("../workspace/local", program.home().join(".local")).expect("a link");
        program.put("workspace/local/x", "");
        // The server is restarted because the directories were created after its start.
        let mut server = {
            server.close_input();
            start(program)
        };
        let attack = "echo evil > cargo/bin/cargo; echo evil > cargo/bin/new; mv cargo c; mkdir -p local/bin; echo evil > local/bin/git; true";
        bash_for(&mut server, attack, 5_000);
        let at = |path: &str| program.workspace().join(path);
        assert_eq!(fs::read_to_string(at("cargo/bin/cargo")).expect("the file"), "#!/bin/sh\n");
        assert!(!at("cargo/bin/new").exists() && !at("local/bin/git").exists());
    });
}

#[test]
fn the_program_s_own_folder_is_not_reached_by_a_link_that_commands_can_change() {
    let program = Program::new();
    fs::create_dir(program.workspace().join("real")).expect("a folder");
    symlink("real", program.workspace().join("link")).expect("a link");
    let inside = program.workspace().join("link/own").display().to_string();
    let (status, _, errors) = program.with("SCORPIOX_HOME", &inside).run(&["doctor"]);
    assert!(!status.success() && errors.contains("set SCORPIOX_HOME to the folder itself"), "{errors}");

    // An external link that leads to directories that do not exist yet.
    let program = Program::new();
    fs::create_dir(program.workspace().join("real")).expect("a folder");
    let link = program.home().join("link");
    symlink(program.workspace().join("real"), &link).expect("a link");
    let program = program.with("SCORPIOX_HOME", &link.join("a/b").display().to_string());
    let (status, _, errors) = program.run(&["doctor"]);
    assert!(!status.success() && errors.contains("a repository could bring them along"), "{errors}");
    assert!(!program.workspace().join("real/a").exists());
}

#[test]
fn a_policy_in_the_workspace_is_not_obeyed() {
    let program = Program::new();
    program.put("workspace/policy.toml", "version = 1\n[shell]\nallow_unsandboxed = true\n");
    fs::create_dir(program.home().join(".scorpiox")).expect("a folder");
    let link = program.home().join(".scorpiox/policy.toml");
    symlink(program.workspace().join("policy.toml"), link).expect("a link");
    let ran = bash(&mut start(&program), "touch ran");
    assert!(ran.refused().contains("in the workspace, where commands can write"), "{}", ran.text);
    assert!(!program.workspace().join("ran").exists());
}

#[test]
fn files_of_the_machine_s_tmp_are_not_called_readable() {
    let program = Program::new();
    let file = tempfile::NamedTempFile::new_in("/tmp").expect("a file");
    let path = file.path().display().to_string();
    let (status, said, _) = program.run(&["policy", "why", "read", &path]);
    assert!(!status.success() && said.contains("commands have a /tmp of their own"), "{said}");
    assert!(program.run(&["policy", "why", "write", "/tmp/not-there-at-all"]).0.success());
}

#[test]
fn what_is_open_for_reading_inside_a_folder_for_writing_is_only_read() {
    for tier in TIERS {
        let program = in_tier(tier);
        program.put("notes/deep/kept/page", "kept");
        let base = program.workspace().parent().expect("a folder").canonical();
        let notes = base.join("notes").display().to_string();
        let policy = format!(
            "[shell.profile.workspace]\nread = [\"@system\", \"{notes}/deep/kept\"]\nwrite = [\"@workspace\", \"{notes}\"]\n"
        );
        let program = with_policy(program, &policy);
        let mut server = start(&program);
        for attack in [
            "cat deep/kept/page; for f in new deep/kept/page deep/kept/new; do echo evil > $f; done",
            "mv deep/kept k; mv deep d; rm -rf deep; ln deep/kept/page alias; ln -s deep/kept link",
            "echo evil > alias; echo evil > link/page; touch deep/kept/page; chmod 777 deep/kept/page",
            "cp -r deep/kept other; rm -rf deep/kept; mkdir -p deep/kept; echo evil > deep/kept/page",
        ] {
            bash_for(&mut server, &format!("cd {notes}; {attack}; true"), 5_000);
        }
        let is = |path: &str| fs::read_to_string(base.join("notes").join(path)).unwrap_or_default();
        assert_eq!(
            ["new", "deep/kept/page", "deep/kept/new", "other/page"].map(is),
            ["evil\n", "kept", "", "kept"],
            "{tier}"
        );
        for (path, word) in [("new", "allowed"), ("deep/kept/page", "denied"), ("deep/new", "allowed")] {
            let path = format!("{notes}/{path}");
            let (_, said, _) = program.run(&["policy", "why", "write", &path]);
            assert!(said.starts_with(&format!("{path}: {word}")), "{said}");
        }
    }
}

#[test]
fn a_folder_for_writing_in_one_for_reading_in_one_for_writing_is_refused() {
    let program = Program::new();
    program.put("notes/kept/drafts/page", "draft");
    let base = program.workspace().parent().expect("a folder").canonical();
    let notes = base.join("notes").display().to_string();
    let policy = format!(
        "[shell.profile.workspace]\nread = [\"@system\", \"{notes}/kept\"]\n\
         write = [\"@workspace\", \"{notes}\", \"{notes}/kept/drafts\"]\n"
    );
    let program = with_policy(program, &policy);
    let ran = bash(&mut start(&program), "true");
    assert!(ran.refused().contains("kept/drafts") && ran.refused().contains("leave one"), "{}", ran.text);
}

#[test]
fn a_folder_for_writing_inside_one_for_reading_is_written_in_whatever_order_they_are_named() {
    for tier in TIERS {
        let program = in_tier(tier);
        program.put("notes/drafts/page", "draft");
        let base = program.workspace().parent().expect("a folder").canonical();
        let notes = base.join("notes").display().to_string();
        let policy = format!(
            "[shell.profile.workspace]\nread = [\"@system\", \"{notes}/drafts\", \"{notes}\"]\n\
             write = [\"@workspace\", \"{notes}/drafts\"]\n"
        );
        let program = with_policy(program, &policy);
        bash_for(
            &mut start(&program),
            &format!("cd {notes}; echo new > drafts/page; echo evil > page"),
            5_000,
        );
        let is = |path: &str| fs::read_to_string(base.join("notes").join(path)).unwrap_or_default();
        assert_eq!((is("drafts/page"), is("page")), ("new\n".to_owned(), String::new()), "{tier}");
    }
}
