use super::*;
use crate::catalogue;
use crate::description::MAX_BYTES;

const NAMES: [&str; 14] = [
    "brainstorming",
    "dispatching-parallel-agents",
    "executing-plans",
    "finishing-a-development-branch",
    "receiving-code-review",
    "requesting-code-review",
    "subagent-driven-development",
    "systematic-debugging",
    "test-driven-development",
    "using-git-worktrees",
    "using-superpowers",
    "verification-before-completion",
    "writing-plans",
    "writing-skills",
];

#[test]
fn all_real_skills_load_without_a_warning() {
    let folders = real_skills();
    let catalogue = catalogue::read(&folders);
    assert_eq!(catalogue.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), NAMES);
    assert_eq!(catalogue.skipped, []);
    for skill in &catalogue.skills {
        assert_eq!(skill.warnings, [""; 0], "{}", skill.name);
    }
}

#[test]
fn the_catalogue_of_the_real_skills_fits_the_description() {
    let folders = real_skills();
    let tools = definitions(&folders);
    assert_eq!(tools.len(), 2);
    let text = &tools[0].description;
    assert!(text.len() < MAX_BYTES && text.len() > 1900, "{}", text.len());
    let lines = || text.lines().filter_map(|line| line.strip_prefix("- "));
    let listed: Vec<&str> = lines().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(listed, NAMES);
    assert!(text.contains("\n- writing-skills: Use when creating new skills, editing existing skills, or verifying skills work before deployment\n"));
    // Shortened descriptions are complete in the server's instructions.
    let catalogue = catalogue::read(&folders);
    let listing = crate::description::describe(&folders, &catalogue.skills);
    let is_whole = |skill: &catalogue::Skill| {
        let line = format!("{}: {}", skill.name, skill.description);
        lines().any(|listed| listed == line) || listing.more.iter().any(|more| *more == format!("- {line}"))
    };
    assert!(catalogue.skills.iter().all(is_whole), "{text}\n{:?}", listing.more);
    assert!(lines().filter(|line| line.ends_with('…')).count() <= 2, "{text}");
}

#[test]
fn real_bodies_pass_byte_for_byte() {
    let folders = real_skills();
    for folder in &folders.entries {
        let original = String::from_utf8(folder.skill_md.clone().expect("read")).expect("UTF-8");
        let (_, body) = original.split_once("\n---\n").expect("a front matter");
        let name = &folder.source.folder_name;
        let text = invoked(&folders, name, "");
        let start = format!("<skill_content name=\"{name}\">\n{body}\n</skill_content>\nSkill folder: ");
        assert!(text.starts_with(&start), "{name}");
        assert!(!text.contains("\nNote: "), "{name}");
    }
}

#[test]
fn real_bodies_survive_arguments() {
    let folders = real_skills();
    for folder in &folders.entries {
        let plain = invoked(&folders, &folder.source.folder_name, "");
        let with_arguments = invoked(&folders, &folder.source.folder_name, "one two three");
        assert_eq!(with_arguments.replace("\nARGUMENTS: one two three", ""), plain);
    }
}

#[test]
fn real_files_are_listed() {
    let folders = real_skills();
    let text = invoked(&folders, "subagent-driven-development", "");
    assert!(text.ends_with(
        "\nFiles:\n- implementer-prompt.md\n- re-review-prompt.md\n- scripts/review-package\n- scripts/sdd-workspace\n- scripts/task-brief\n- task-reviewer-prompt.md\nTo read one, invoke InvokeSkill with a skill_name such as \"subagent-driven-development/implementer-prompt.md\".\nPaths in the skill are relative to its folder. Commands start in the workspace: give them whole paths."
    ));
    assert!(!invoked(&folders, "executing-plans", "").contains("\nFiles:"));
}

#[test]
fn real_skills_are_found_by_their_instructions() {
    let folders = real_skills();
    let text = searched(&folders, r"awk '\{print").expect("succeeds");
    assert!(text.contains("\n- requesting-code-review: ") && text.contains("\n  line: BASE_SHA="), "{text}");
}
