//! Tests of the skill list that models receive before an invocation.

use scorpiox_tests::Program;
use serde_json::json;

use super::{
    MAX_DESCRIPTION_BYTES, NEWEST, ask_modern, copy_real_skills_to, description, lists_search, skill, started,
};

/// Limit at which clients truncate instructions, in bytes.
const MAX_INSTRUCTIONS_BYTES: usize = 2048;

/// Returns the listed descriptions by name.
fn listed(description: &str) -> Vec<(&str, &str)> {
    description.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": ")).collect()
}

#[test]
fn a_person_s_real_skills_are_described_as_their_authors_wrote() {
    let program = Program::new();
    let names = copy_real_skills_to(&program, "home");
    let mut server = program.start();
    let hello = server.initialize(NEWEST);
    let instructions = hello["instructions"].as_str().expect("text").to_owned();
    assert!(instructions.len() <= MAX_INSTRUCTIONS_BYTES, "{} bytes", instructions.len());
    let text = description(&mut server);
    let prompts = server.ask("prompts/list", json!({}))["result"]["prompts"].clone();
    let prompts = prompts.as_array().expect("prompts");
    assert_eq!(prompts.len(), names.len());
    let mut in_list = 0;
    for prompt in prompts {
        let line = format!(
            "- {}: {}",
            prompt["name"].as_str().expect("a name"),
            prompt["description"].as_str().expect("text")
        );
        let is_listed = text.lines().any(|listed| listed == line);
        in_list += usize::from(is_listed);
        assert!(
            is_listed || instructions.lines().any(|listed| listed == line),
            "{line}\n{text}\n{instructions}"
        );
    }
    assert!(in_list >= 12, "{text}");
    assert!(
        instructions.contains("\nDescriptions of skills that InvokeSkill has in part:\n- "),
        "{instructions}"
    );
    let discovered = ask_modern(&mut server, "server/discover", json!({}));
    assert_eq!(discovered["instructions"], hello["instructions"]);
}

/// Creates skills whose descriptions share a prefix and do not fit into the list.
fn put_many(program: &Program, folder: &str, from: u32) {
    for n in from..from + 20 {
        let text =
            format!("Use when subject {n} comes up. {}", "More is said of it, in many words. ".repeat(6));
        let text = skill(&format!("skill-{n}"), text.trim(), "Body\n");
        program.put(&format!("{folder}/.claude/skills/skill-{n}/SKILL.md"), text);
    }
}

#[test]
fn what_a_project_says_of_its_skills_is_not_in_the_instructions() {
    let program = Program::new();
    put_many(&program, "workspace", 10);
    let mut server = program.start();
    let hello = server.initialize(NEWEST);
    assert!(!hello["instructions"].as_str().expect("text").contains("subject"), "{hello}");
    assert!(lists_search(&mut server));
}

#[test]
fn a_person_s_skills_have_room_before_those_that_the_workspace_requires_and_those_before_others() {
    let program = Program::new();
    put_many(&program, "workspace", 10);
    program.put(
        "home/.claude/skills/zz/SKILL.md",
        skill("zz", &format!("Last of all. {}", "It has many words. ".repeat(8).trim()), "Body\n"),
    );
    let whole = |program: &Program| -> Vec<String> {
        let text = description(&mut started(program));
        assert!(text.len() < MAX_DESCRIPTION_BYTES, "{} bytes", text.len());
        let listed = listed(&text);
        assert!(listed.is_sorted() && listed.len() == 21, "{text}");
        let whole = listed.iter().filter(|(_, line)| !line.ends_with('…'));
        whole.map(|(name, _)| (*name).to_owned()).collect()
    };
    let before = whole(&program);
    assert!(before.contains(&"zz".to_owned()) && !before.contains(&"skill-29".to_owned()), "{before:?}");
    program.put("workspace/.claude/skills/required_skills.txt", "skill-29\n");
    let after = whole(&program);
    assert!(after.contains(&"zz".to_owned()) && after.contains(&"skill-29".to_owned()), "{after:?}");
}

#[test]
fn a_search_has_descriptions_whole_where_few_match() {
    let program = Program::new();
    put_many(&program, "workspace", 10);
    let mut server = started(&program);
    let text = server.text("SearchSkills", json!({ "pattern": "subject 17 " }));
    assert!(
        text.contains("- skill-17 (from the opened project): Use when subject 17 comes up. More"),
        "{text}"
    );
    assert!(text.contains("in many words.\n") && !text.contains('…'), "{text}");
}
