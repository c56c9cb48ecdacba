//! Tests of `skills new`, `skills add`, `skills pack` and `skills update`.

use std::fs;

use scorpiox_tests::Program;

use super::skill;

/// Runs a command. Returns `true` if it succeeds, and its output joined into one line.
fn run(program: &Program, arguments: &[&str]) -> (bool, String) {
    let (status, out, err) = program.run(arguments);
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}'), "{out:?} {err:?}");
    (status.success(), (out + &err).split_whitespace().collect::<Vec<_>>().join(" "))
}

fn done(program: &Program, arguments: &[&str]) -> String {
    let (success, said) = run(program, arguments);
    assert!(success, "{arguments:?}: {said}");
    said
}

fn refused(program: &Program, arguments: &[&str], why: &str) -> String {
    let (success, said) = run(program, arguments);
    assert!(!success && said.contains(why), "{arguments:?}: {said}");
    said
}

/// Returns the hash of skills, as a reviewer passes it on.
fn hash(program: &Program, source: &[&str]) -> String {
    done(program, &[&["skills", "hash"][..], source].concat())
}

/// Runs a command that agrees to skills by their hash.
fn agreed(program: &Program, arguments: &[&str], source: &[&str]) -> String {
    done(program, &[arguments, &["--yes", &hash(program, source)]].concat())
}

/// Returns the text of a file among the user's skills, if it exists.
fn installed(program: &Program, file: &str) -> Option<String> {
    fs::read_to_string(program.home().join(".scorpiox/skills").join(file)).ok()
}

/// Returns the names in the user's folder of skills.
fn names(program: &Program) -> Vec<String> {
    let entries = fs::read_dir(program.home().join(".scorpiox/skills")).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_new_skill_is_found_good_where_skills_live_and_takes_no_place_of_another() {
    let program = Program::new();
    let said = done(&program, &["skills", "new", "notes"]);
    assert!(said.contains("skills/notes/SKILL.md. Edit") || cfg!(windows), "{said}");
    assert!(said.contains("scorpiox-code skills check "), "{said}");
    let said = done(&program, &["skills", "list"]);
    assert!(said.contains("notes, yours"), "{said}");
    refused(&program, &["skills", "new", "notes"], "notes exists; choose another name, or remove it");
    done(&program, &["skills", "new", "of-project", "--project"]);
    let said = done(&program, &["skills", "list"]);
    assert!(said.contains("of-project, of the workspace"), "{said}");
    done(&program, &["skills", "new", "draft", "--in", "drafts"]);
    let said = done(&program, &["skills", "check", "drafts/draft"]);
    assert!(said.contains("1 skill, 0 errors, 1 warning"), "{said}");
    for name in ["../notes", "Notes", ""] {
        refused(&program, &["skills", "new", name], "is not a skill name");
    }
}

#[test]
fn a_skill_is_added_after_it_was_shown_and_replaces_nothing_silently() {
    let program = Program::new();
    program.put("workspace/source/notes/SKILL.md", skill("notes", "Takes notes", "One\n"));
    program.put("workspace/source/notes/scripts/a.sh", "#!/bin/sh\n");
    program.put("workspace/source/notes/.git/config", "x");
    let source = program.workspace().join("source/notes").display().to_string();
    let add = ["skills", "add", &source];
    let said = refused(&program, &add, "there is no terminal to ask at. Give --yes the hash");
    let hash_line = format!("hash {}", hash(&program, &[&source]));
    for shown in ["notes | Takes notes", "SKILL.md, scripts/a.sh", "left out: .git/", &hash_line] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
    assert!(names(&program).is_empty(), "{:?}", names(&program));
    let other = "0".repeat(64);
    let said =
        refused(&program, &[&add[..], &["--yes", &other]].concat(), "is not the hash of this, which is");
    assert!(said.contains("; nothing was added"), "{said}");
    assert!(names(&program).is_empty(), "{:?}", names(&program));
    let said = agreed(&program, &add, &[&source]);
    assert!(said.contains("notes is added. `scorpiox-code skills show notes`"), "{said}");
    assert_eq!(names(&program), ["notes"]);
    assert!(installed(&program, "notes/SKILL.md").is_some_and(|text| text.contains("One")));
    assert_eq!(installed(&program, "notes/.git/config"), None);
    let said = done(&program, &add);
    assert!(said.contains("notes is there already, exactly like this."), "{said}");
    program.put("workspace/source/notes/SKILL.md", skill("notes", "Takes notes", "Two\n"));
    let second = hash(&program, &[&source]);
    refused(
        &program,
        &[&add[..], &["--yes", &second]].concat(),
        "exists, and is different; nothing was added",
    );
    assert!(installed(&program, "notes/SKILL.md").is_some_and(|text| text.contains("One")));
    let said = agreed(&program, &[&add[..], &["--replace"]].concat(), &[&source]);
    assert!(said.contains("what changes: ~ SKILL.md - One + Two"), "{said}");
    assert!(installed(&program, "notes/SKILL.md").is_some_and(|text| text.contains("Two")));
    let own = program.home().join(".scorpiox/skills/notes").display().to_string();
    refused(&program, &["skills", "add", &own], "is among your skills already");
    refused(&program, &["skills", "add", "none"], "none does not exist; name a skill's folder");
    program.put("workspace/bad/SKILL.md", "no front matter");
    refused(&program, &["skills", "add", "bad", "--yes", &other], "has no skill that can be used");
    assert_eq!(names(&program), ["notes"]);
}

#[test]
fn an_answer_about_skills_is_recorded_with_their_hash() {
    let program = Program::new();
    program.put("workspace/notes/SKILL.md", skill("notes", "Takes notes", "One\n"));
    let first = hash(&program, &["notes"]);
    refused(&program, &["skills", "add", "notes"], "there is no terminal to ask at");
    let other = "0".repeat(64);
    refused(&program, &["skills", "add", "notes", "--yes", &other], "is not the hash of this");
    agreed(&program, &["skills", "add", "notes"], &["notes"]);
    program.put("workspace/notes/SKILL.md", skill("notes", "Takes notes", "Two\n"));
    let second = hash(&program, &["notes"]);
    refused(&program, &["skills", "update", "--yes", &second], "<NAME>");
    agreed(&program, &["skills", "update", "notes"], &["notes"]);
    // A wrong hash is an error although these very skills are there.
    for action in ["add", "update"] {
        refused(&program, &["skills", action, "notes", "--yes", &other], "is not the hash of this");
    }
    program.put("workspace/notes/SKILL.md", skill("notes", "Takes notes", "Three\n"));
    let third = hash(&program, &["notes"]);
    refused(&program, &["skills", "add", "notes", "--yes", &third], "exists, and is different");
    let text = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> = lines
        .iter()
        .filter(|line| line["tool"].as_str().is_some_and(|tool| tool.starts_with("skills ")))
        .map(|line| {
            let used = &line["uses"][0];
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            assert_eq!(
                (&used["capability"], &used["rule"]),
                (&"skills".into(), &"approval".into()),
                "{line}"
            );
            (text(&line["tool"]), text(&line["outcome"]), text(&used["what"]), text(&used["why"]))
        })
        .collect();
    let of = |tool: &str, outcome: &str, hash: &str, why: &str| {
        (tool.to_owned(), outcome.to_owned(), format!("notes@sha256:{hash}"), why.to_owned())
    };
    assert_eq!(
        told,
        [
            of("skills add", "refused", &first, "there was no terminal to ask at"),
            of("skills add", "refused", &first, "--yes names the hash of other skills"),
            of("skills add", "ok", &first, ""),
            of("skills update", "ok", &second, ""),
            of("skills add", "refused", &second, "--yes names the hash of other skills"),
            of("skills update", "refused", &second, "--yes names the hash of other skills"),
            of("skills add", "refused", &third, "notes exists, and is different"),
        ],
        "{text}"
    );
}

#[test]
fn skills_of_a_repository_are_chosen_by_name() {
    let program = Program::new();
    for name in ["one", "two"] {
        let text = skill(name, &format!("About {name}"), "Body\n");
        program.put(&format!("workspace/repository/skills/{name}/SKILL.md"), text);
    }
    program.put("workspace/repository/skills/bad/SKILL.md", "no front matter");
    let said = refused(&program, &["skills", "add", "repository"], "there is no terminal to ask at");
    for shown in ["one | About one", "two | About two", "bad is left out: SKILL.md has no front matter"] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
    refused(
        &program,
        &["skills", "add", "repository", "--skill", "three"],
        "has no skill \"three\"; it has: one, two",
    );
    let two = ["repository", "--skill", "two"];
    agreed(&program, &[&["skills", "add"][..], &two].concat(), &two);
    assert_eq!(names(&program), ["two"]);
    let said = agreed(&program, &["skills", "add", "repository"], &["repository"]);
    assert!(said.contains("two is there already") && said.contains("one is added"), "{said}");
    assert_eq!(names(&program), ["one", "two"]);
}

#[test]
fn a_skill_that_takes_precedence_and_one_with_a_component_are_said_to_be_that() {
    let program = Program::new();
    program.put("home/.claude/skills/notes/SKILL.md", skill("notes", "Mine", "Body\n"));
    program.put("workspace/notes/SKILL.md", skill("notes", "Theirs", "Body\n"));
    program.put("workspace/notes/notes.wasm", b"\0asm\x0d\0\x01\0");
    let said = agreed(&program, &["skills", "add", "notes"], &["notes"]);
    for shown in [
        "it takes precedence over ",
        "It carries a component (notes.wasm). It runs only after `scorpiox-code plugin add` approves it",
        "which also adds its tools",
        "` approves its component.",
    ] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
}

#[test]
fn a_pack_is_the_same_bytes_each_time_and_is_added_like_its_folder() {
    let program = Program::new();
    program.put("workspace/notes/SKILL.md", skill("notes", "Takes notes", "Body\n"));
    program.put("workspace/notes/scripts/a.sh", "#!/bin/sh\n");
    program.put("workspace/notes/.hidden", "x");
    let said = done(&program, &["skills", "pack", "notes"]);
    assert!(said.contains("notes.skill.tar: ") && said.contains("Left out .hidden"), "{said}");
    done(&program, &["skills", "pack", "notes", "--out", "other.tar"]);
    let read = |name: &str| fs::read(program.workspace().join(name)).expect("a pack");
    assert!(read("notes.skill.tar") == read("other.tar"));
    program.put("workspace/other.tar", "precious");
    refused(&program, &["skills", "pack", "notes", "--out", "other.tar"], "is another file; remove it");
    // The hash of a folder is that of its pack.
    let said = agreed(&program, &["skills", "add", "notes.skill.tar"], &["notes"]);
    assert!(said.contains("notes | Takes notes"), "{said}");
    assert!(installed(&program, "notes/scripts/a.sh").is_some());
    // A damaged pack installs nothing.
    let mut link = read("notes.skill.tar");
    link[156] = b'2';
    program.put("workspace/link.tar", &link);
    refused(&program, &["skills", "add", "link.tar", "--replace"], "is no pack of a skill");
    program.put("workspace/empty/SKILL.md", "---\nname: x\n---\n");
    refused(&program, &["skills", "pack", "empty"], "description is missing");
    assert_eq!(names(&program), ["notes"]);
}

#[test]
fn an_update_renews_from_where_a_skill_was_added_and_says_what_changes() {
    let program = Program::new();
    let said = done(&program, &["skills", "update"]);
    assert!(said.contains("there is nothing to update"), "{said}");
    for name in ["one", "two"] {
        let text = skill(name, "D", "Before\n");
        program.put(&format!("workspace/repository/skills/{name}/SKILL.md"), text);
    }
    agreed(&program, &["skills", "add", "repository"], &["repository"]);
    program.put("home/.scorpiox/skills/mine/SKILL.md", skill("mine", "D", "Body\n"));
    assert_eq!(done(&program, &["skills", "update"]), "one, two are current.");
    assert_eq!(done(&program, &["skills", "update", "two"]), "two is current.");
    refused(&program, &["skills", "update", "mine"], "mine was not added with `skills add`");
    refused(&program, &["skills", "update", "none"], "there is no skill \"none\"");
    program.put("workspace/repository/skills/one/SKILL.md", skill("one", "D", "After\n"));
    program.put("workspace/repository/skills/one/new.md", "x");
    let said = refused(&program, &["skills", "update"], "there is no terminal to ask at");
    assert!(
        said.contains("~ SKILL.md - Before + After + new.md") && said.contains("two is current."),
        "{said}"
    );
    assert!(installed(&program, "one/SKILL.md").is_some_and(|text| text.contains("Before")));
    let one = ["repository", "--skill", "one"];
    let said = agreed(&program, &["skills", "update", "one"], &one);
    assert!(said.contains("one is renewed."), "{said}");
    assert!(installed(&program, "one/SKILL.md").is_some_and(|text| text.contains("After")));
    assert_eq!(done(&program, &["skills", "update"]), "one, two are current.");
    // The user's own changes are not lost without a word.
    program.put("home/.scorpiox/skills/one/new.md", "mine");
    let said = refused(&program, &["skills", "update", "one"], "there is no terminal to ask at");
    assert!(said.contains("one was changed here since it was added; these changes will be lost."), "{said}");
    fs::remove_dir_all(program.workspace().join("repository/skills/one")).expect("removed");
    let said = refused(&program, &["skills", "update"], "it was added from ");
    assert!(said.contains("two is current."), "{said}");
    assert_eq!(installed(&program, "one/new.md").as_deref(), Some("mine"));
}
