//! Tests of `skills list`, `skills show`, `skills check`, and of the `doctor` report about skills.

use std::path::MAIN_SEPARATOR;

use scorpiox_tests::Program;
use scorpiox_tests::program::unwrapped;

use super::{copy_real_skills_to, skill};

/// Runs a command and returns its exit code and output. Asserts that each row without a path has at most 80
/// columns.
fn run(program: &Program, arguments: &[&str]) -> (Option<i32>, String) {
    let (status, out, err) = program.run(arguments);
    for line in out.lines() {
        assert!(line.chars().count() <= 80 || line.contains(['/', MAIN_SEPARATOR]), "{arguments:?}: {line}");
    }
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}'), "{out:?} {err:?}");
    (status.code(), out + &err)
}

/// Joins a text into one row, with `/` as the path separator.
fn joined(text: &str) -> String {
    text.replace(MAIN_SEPARATOR, "/").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_list_has_what_models_are_told_of_each_skill() {
    let program = Program::new();
    program.put("home/.claude/skills/mine/SKILL.md", skill("mine", "About mine \u{1b}[31mred", "Body\n"));
    program.put("workspace/.claude/skills/theirs/SKILL.md", skill("theirs", "About theirs", "Body\n"));
    let hidden = "---\nname: hidden\ndescription: D\ndisable-model-invocation: true\nmodel: x\n---\nBody\n";
    program.put("home/.claude/skills/hidden/SKILL.md", hidden);
    program.put("home/.claude/skills/broken/SKILL.md", "no front matter");
    let (code, out) = run(&program, &["skills", "list"]);
    assert_eq!(code, Some(0), "{out}");
    for said in [
        "hidden, yours, only for people models are not told of it 1 warning about its front matter: see `skills show hidden`",
        "mine, yours | About mine red 1 warning about its front matter",
        "theirs, of the workspace | About theirs",
        "skills/broken is skipped: SKILL.md has no front matter",
        "3 skills, 2 for models; models see their full descriptions",
    ] {
        assert!(joined(&out).contains(said), "{said}: {out}");
    }
    let (_, out) = run(&Program::new(), &["skills", "list"]);
    assert!(joined(&out).starts_with("no skills; they are looked for in "), "{out}");
}

#[test]
fn the_list_of_real_skills_says_how_many_descriptions_are_whole() {
    let program = Program::new();
    copy_real_skills_to(&program, "home");
    let (code, out) = run(&program, &["skills", "list"]);
    assert_eq!(code, Some(0), "{out}");
    let said = "14 skills, 14 for models; InvokeSkill's description has 12 of their descriptions whole, the server's instructions 2 more";
    assert!(joined(&out).ends_with(said), "{out}");
}

#[test]
fn a_skill_is_shown_as_a_model_gets_it_with_its_size() {
    let program = Program::new();
    let text = "---\nname: fix\ndescription: Fixes it\narguments: issue\nargument-hint: '[issue]'\nallowed-tools: Bash\n---\nFix $issue: !`date` \u{1b}[31mred\n";
    program.put("home/.claude/skills/fix/SKILL.md", text);
    let (code, out) = run(&program, &["skills", "show", "fix"]);
    assert_eq!(code, Some(0), "{out}");
    for said in [
        "fix, yours file: ",
        "/.claude/skills/fix/SKILL.md argument: issue arguments as its author hints: [issue]",
        "warning: commands (!`…`) are never executed; they stay as written",
        "warning: allowed-tools is ignored: a skill grants nothing; the policy and the client decide what tools may do",
        "among InvokeSkill's skills, 13 characters (about 4 tokens): | fix: Fixes it",
        "tokens): <skill_content name=\"fix\"> Fix $issue: !`date` red </skill_content>",
    ] {
        assert!(joined(&out).contains(said), "{said}: {out}");
    }
    let (_, out) = run(&program, &["skills", "show", "fix", "'the roof' now"]);
    assert!(joined(&out).contains("> Fix the roof: "), "{out}");
    let (code, out) = run(&program, &["skills", "show", "absent\u{1b}[2J"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("there is no skill") && out.contains("skills list"), "{out}");
}

#[test]
fn a_folder_is_checked_that_is_not_installed() {
    let program = Program::new();
    program.put("workspace/mine/SKILL.md", skill("mine", "Does it", "See [a](a.md).\n"));
    let (code, out) = run(&program, &["skills", "check", "mine"]);
    assert_eq!(code, Some(0), "{out}");
    for said in [
        "mine: in the list 13 characters (about 4 tokens); invoked ",
        "warning: it links to a.md, which is not in its folder",
        "1 skill, 0 errors, 1 warning",
    ] {
        assert!(joined(&out).contains(said), "{said}: {out}");
    }
    // The check reads only the named skill, and does not install it.
    program.put("home/.claude/skills/other/SKILL.md", skill("other", "D", "Body\n"));
    assert!(!run(&program, &["skills", "check", "mine"]).1.contains("other"));
    assert!(!run(&program, &["skills", "list"]).1.contains("mine"));
}

#[test]
fn a_folder_of_skills_is_checked_and_errors_are_said_by_the_exit_code() {
    let program = Program::new();
    program.put("workspace/all/a/SKILL.md", skill("a", "D", "Body\n"));
    program.put("workspace/all/b/SKILL.md", "---\nname: b\n---\nBody\n");
    program
        .put("workspace/all/c/SKILL.md", "---\nname: a\ndescription: D\nuser_invocable: false\n---\nBody\n");
    let (code, out) = run(&program, &["skills", "check", "all"]);
    assert_eq!(code, Some(1), "{out}");
    for said in [
        "all/b: description is missing or empty in the front matter",
        "all/c: the name \"a\" is taken by ",
        "1 skill, 2 errors, 0 warnings",
    ] {
        assert!(joined(&out).contains(said), "{said}: {out}");
    }
    program.put("workspace/none/README.md", "none");
    let (code, out) = run(&program, &["skills", "check", "none"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(joined(&out).contains("is no skill and has none"), "{out}");
    for (folder, why) in [
        ("absent", "absent does not exist; name a folder with a SKILL.md"),
        ("none/README.md", "is no folder"),
    ] {
        let (code, out) = run(&program, &["skills", "check", folder]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains(why), "{out}");
    }
}

#[test]
fn what_hides_skills_and_what_is_listed_in_vain_is_a_warning() {
    let program = Program::new();
    program.put("workspace/whole/SKILL.md", skill("whole", "D", "Body\n"));
    program.put("workspace/whole/skills/inner/SKILL.md", skill("inner", "D", "Body\n"));
    program.put("workspace/market/skills/one/SKILL.md", skill("one", "D", "Body\n"));
    program.put("workspace/market/.claude-plugin/marketplace.json", "{bad");
    let said = joined(&run(&program, &["skills", "check", "whole"]).1);
    assert!(said.contains("is a skill itself, so the skills below it are not read (skills/)"), "{said}");
    let said = joined(&run(&program, &["skills", "check", "market"]).1);
    assert!(
        said.contains("marketplace.json is no JSON") && said.contains("1 skill, 0 errors, 1 warning"),
        "{said}"
    );
    let said = joined(&run(&program, &["skills", "new", "fresh"]).1);
    assert!(said.contains("Edit its description"), "{said}");
    let folder = program.home().join(".scorpiox/skills/fresh").display().to_string();
    let said = joined(&run(&program, &["skills", "check", &folder]).1);
    assert!(said.contains("its description is still that of the template"), "{said}");
    let (status, _, err) = program.run(&["skills", "add", "https://example.com/a/b"]);
    assert!(!status.success() && err.contains("git clone https://example.com/a/b"), "{err}");
}

#[test]
fn a_misspelled_name_or_argument_of_an_invocation_is_told() {
    let program = Program::new();
    program.put("home/.claude/skills/hello/SKILL.md", skill("hello", "D", "Body\n"));
    let (_, out, _) = program.run(&["call", "InvokeSkill", "skill_name=hello", "argument=x"]);
    let said = joined(&out);
    let note = "InvokeSkill has no argument `argument`: did you mean `arguments`?";
    assert!(said.contains("Body") && said.contains(note), "{said}");
    let (_, out, _) = program.run(&["call", "InvokeSkill", "skill_name=helo"]);
    assert!(joined(&out).contains("There is no skill \"helo\". Did you mean hello?"), "{out}");
}

#[test]
fn what_adding_refuses_or_leaves_out_is_a_warning() {
    let program = Program::new();
    program.put("workspace/all/up/SKILL.md", skill("Upper Case", "D", "Body\n"));
    program.put("workspace/all/deep/SKILL.md", skill("deep", "D", "Body\n"));
    program.put("workspace/all/deep/1/2/3/4/5/6/7/8/9/a.md", "x");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/hosts", program.workspace().join("all/up/hosts")).expect("a link");
    program.put("workspace/all/tab/SKILL.md", "---\nname: tab\n\tdescription: d\n---\nBody\n");
    let said = joined(&run(&program, &["skills", "check", "all"]).1);
    for part in [
        "warning: `skills add` refuses it: \"Upper Case\" cannot be a folder's name",
        "warning: `skills add` refuses it: 1/2/3/4/5/6/7/8/9 lies too deep",
        "line 3: a tab; YAML takes spaces between its words",
        #[cfg(unix)]
        "warning: `skills add` leaves out hosts (a link)",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_is_not_found_and_what_cannot_run_is_said_before_it_is_installed() {
    let program = Program::new();
    program.put("workspace/team/one/SKILL.md", skill("one", "D", "Body\n"));
    program.put("workspace/team/writing/two/SKILL.md", skill("two", "D", "Body\n"));
    program.put("workspace/core/SKILL.md", skill("core", "D", "Body\n"));
    program.put("workspace/core/core.wasm", b"\0asm\x01\0\0\0");
    let (code, out) = run(&program, &["skills", "check", "team", "core"]);
    assert_eq!(code, Some(1), "{out}");
    for said in [
        "writing/two/SKILL.md is not used: move it to skills/NAME/",
        "1 skill, 0 errors, 1 warning",
        "error: core: its component cannot run: ",
        "is a core module, but a skill has to bring a component",
        "1 skill, 1 error, 0 warnings",
    ] {
        assert!(joined(&out).contains(said), "{said}: {out}");
    }
    // The installed skill produces the same error.
    program.put("home/.claude/skills/team/one/SKILL.md", skill("one", "D", "Body\n"));
    program.put("home/.claude/skills/team/writing/two/SKILL.md", skill("two", "D", "Body\n"));
    assert!(joined(&run(&program, &["skills", "list"]).1).contains("1 skill, 1 for models"));
    let (_, report, _) = program.run(&["doctor"]);
    // `doctor` uses the system's path separator.
    let report = unwrapped(&report).replace('\\', "/");
    assert!(report.contains("writing/two/SKILL.md is not used: "), "{report}");
}

#[test]
fn doctor_has_a_line_for_each_member_of_front_matters_without_effect() {
    let program = Program::new();
    for name in ["a", "b", "c"] {
        let text = format!("---\nname: {name}\ndescription: D\nallowed-tools: Bash\nmodel: x\n---\nBody\n");
        program.put(&format!("home/.claude/skills/{name}/SKILL.md"), text);
    }
    let (_, report, _) = program.run(&["doctor"]);
    let report = unwrapped(&report);
    assert_eq!(
        report.matches("allowed-tools in a, b, c is ignored: a skill grants nothing").count(),
        1,
        "{report}"
    );
    assert_eq!(
        report.matches("model in a, b, c is ignored: a server cannot choose that").count(),
        1,
        "{report}"
    );
}
