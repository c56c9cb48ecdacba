//! Tests of skills outside of the usual directories.

use std::path::MAIN_SEPARATOR;

use scorpiox_tests::program::unwrapped;
use scorpiox_tests::{Canonical as _, Program};
use serde_json::json;

#[cfg(target_os = "linux")]
use super::ask_modern;
use super::{FROM_OUTSIDE, body, description, invoke, skill, started};

#[test]
fn skills_of_a_cloned_repository_are_found_with_their_files() {
    let program = Program::new();
    program.put("home/.claude/skills/repo/skills/pdf/SKILL.md", skill("pdf", "About PDF", "Body\n"));
    program.put("home/.claude/skills/repo/skills/pdf/a.md", "file");
    program.put("home/.claude/skills/repo/README.md", "# Skills");
    program.put("workspace/.claude/skills/theirs/notes/SKILL.md", skill("notes", "About notes", "Body\n"));
    let mut server = started(&program);
    assert!(description(&mut server).ends_with("- notes: About notes\n- pdf: About PDF"));
    assert!(!invoke(&mut server, "pdf", "").contains(FROM_OUTSIDE));
    assert!(invoke(&mut server, "pdf/a.md", "").contains("\nfile\n"));
    assert!(invoke(&mut server, "notes", "").contains(FROM_OUTSIDE));
}

#[cfg(unix)] // links
#[test]
fn links_in_a_cloned_repository_are_not_followed() {
    let program = Program::new();
    program.put("home/private/SKILL.md", skill("private", "Secret", "Body\n"));
    program.put("home/.claude/skills/repo/skills/pdf/SKILL.md", skill("pdf", "About PDF", "Body\n"));
    let link = program.home().join(".claude/skills/repo/skills/private");
    std::os::unix::fs::symlink(program.home().join("private"), link).expect("a link");
    let text = description(&mut started(&program));
    assert!(text.ends_with("Skills:\n- pdf: About PDF"), "{text}");
}

#[cfg(target_os = "linux")] // elsewhere, both names denote the same file
#[test]
fn a_skill_file_in_lower_case_is_found_read_served_and_warned_of() {
    let program = Program::new();
    program.put("home/.claude/skills/low/skill.md", skill("low", "D", "Body\n"));
    let mut server = started(&program);
    assert_eq!(body(&invoke(&mut server, "low", ""), "low"), "Body\n");
    let read = ask_modern(&mut server, "resources/read", json!({ "uri": "skill://low/SKILL.md" }));
    assert_eq!(read["contents"][0]["text"], skill("low", "D", "Body\n"));
    let (_, report, _) = program.run(&["doctor"]);
    assert!(
        unwrapped(&report).contains("low: the file is named skill.md; other programs look for SKILL.md"),
        "{report}"
    );
}

#[test]
fn skills_of_claude_code_s_plugins_are_found_where_they_are_enabled_and_else_named() {
    let program = Program::new();
    let home = program.home().canonical();
    let place = |name: &str| {
        [".claude", "plugins", "cache", "market", name].iter().fold(home.clone(), |at, part| at.join(part))
    };
    for name in ["on", "off"] {
        let text = skill(name, &format!("From {name}"), "See ${CLAUDE_PLUGIN_ROOT}/x\n");
        program.put(&format!("home/.claude/plugins/cache/market/{name}/skills/{name}/SKILL.md"), text);
    }
    let installed = json!({ "version": 2, "plugins": {
        "on@market": [{ "scope": "user", "installPath": place("on"), "version": "1.0.0" }],
        "off@market": [{ "scope": "user", "installPath": place("off"), "version": "1.0.0" }],
    }});
    program.put("home/.claude/plugins/installed_plugins.json", installed.to_string());
    program.put("home/.claude/settings.json", r#"{ "enabledPlugins": { "on@market": true } }"#);
    // A project cannot enable plugins.
    program.put("workspace/.claude/settings.json", r#"{ "enabledPlugins": { "off@market": true } }"#);
    let mut server = started(&program);
    assert!(description(&mut server).ends_with("Skills:\n- on: From on"), "{}", description(&mut server));
    assert_eq!(body(&invoke(&mut server, "on", ""), "on"), format!("See {}/x\n", place("on").display()));
    let (_, report, _) = program.run(&["doctor"]);
    let report = unwrapped(&report).replace(MAIN_SEPARATOR, "/");
    for said in [
        "skills of Claude Code's plugin off@market are not read: it is not enabled in ~/.claude/settings.json; to read them, add",
        "plugins/cache/market/off/skills to ADDITIONAL_SKILLS",
    ] {
        assert!(report.contains(said), "{said}: {report}");
    }
    program.put("home/.claude/plugins/installed_plugins.json", "{ broken");
    assert!(description(&mut started(&program)).contains("No skills are installed."));
    let (_, report, _) = program.run(&["doctor"]);
    assert!(unwrapped(&report).contains("which plugins are installed cannot be read"), "{report}");
}
