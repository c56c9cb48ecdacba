use super::*;
use crate::description::{MAX_BYTES, MIN_CHARS, describe, shortened};

fn many(count: usize, description: &str) -> Folders {
    (0..count).fold(Folders::default(), |folders, n| folders.skill(&format!("skill-{n:03}"), description, ""))
}

fn description(folders: &Folders) -> String {
    definitions(folders)[0].description.clone()
}

#[test]
fn without_skills_it_says_where_to_put_one() {
    let tools = definitions(&Folders::default());
    assert_eq!(tools.len(), 1);
    assert_eq!(
        tools[0].description,
        "Invoke a skill by name for reusable workflows\n\nNo skills are installed. A skill is a file ./.scorpiox/skills/<name>/SKILL.md."
    );
}

#[test]
fn few_skills_are_listed_whole() {
    let folders = Folders::default().skill("b", "Does B.", "").skill("a", "Does A.", "");
    assert_eq!(
        description(&folders),
        "Invoke a skill by name for reusable workflows\n\nSkills:\n- a: Does A.\n- b: Does B."
    );
}

#[test]
fn descriptions_are_shortened_evenly_and_names_never() {
    let folders = many(15, &"word ".repeat(60)).skill("short", "Short.", "");
    let tools = definitions(&folders);
    assert_eq!(tools.len(), 1);
    let text = &tools[0].description;
    assert!(text.len() < MAX_BYTES && text.len() > MAX_BYTES - 15 * 10, "{}", text.len());
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- skill-")).collect();
    assert_eq!(lines.len(), 15);
    assert!(lines.iter().all(|line| line.len() == lines[0].len() && line.ends_with(" word…")));
    assert!(text.contains("\n- short: Short.\n"));
}

#[test]
fn the_last_descriptions_keep_twenty_characters() {
    let text = "éa ".repeat(200);
    let longest = (1..200).take_while(|count| definitions(&many(*count, &text)).len() == 1).last();
    let listed = description(&many(longest.expect("one fits"), &text));
    let line = listed.lines().nth(3).expect("a line");
    let length = line.split_once(": ").expect("a description").1.chars().count();
    assert!((MIN_CHARS - 2..=MIN_CHARS).contains(&length), "{length}: {line}");
}

#[test]
fn too_many_skills_are_listed_by_name_and_can_be_searched() {
    let tools = definitions(&many(100, "A description that is long enough to be cut"));
    assert_eq!(tools.iter().map(|tool| tool.name).collect::<Vec<_>>(), ["InvokeSkill", "SearchSkills"]);
    assert!(
        tools[0]
            .description
            .ends_with("\n- skill-098\n- skill-099\nUse SearchSkills to find the one that fits.")
    );
    let text = description(&many(1000, "A description that is long enough to be cut"));
    assert!(text.len() < MAX_BYTES && text.len() > MAX_BYTES - 40, "{}", text.len());
    let listed = text.lines().filter(|line| line.starts_with("- skill-")).count();
    assert!(text.ends_with(&format!("\n{} more: use SearchSkills", 1000 - listed)), "{text}");
}

#[test]
fn the_search_has_the_name_that_the_client_knows_and_skills_have_theirs() {
    let folders = many(100, "How to InvokeSkill and SearchSkills, at length so that it is cut");
    let folders = Folders { prefix: "my-", ..folders.skill("SearchSkills tricks", "d", "") };
    let text = description(&folders);
    assert!(text.ends_with("\nUse my-SearchSkills to find the one that fits."), "{text}");
    assert!(text.contains("\n- SearchSkills tricks\n"), "{text}");
    let unknown = invoke_json(&folders, &serde_json::json!({"skill_name": "SearchSkills triks"}));
    let Err(Failure::NotFound(text)) = unknown else { panic!("{unknown:?}") };
    assert!(text.starts_with("There is no skill \"SearchSkills triks\". "), "{text}");
    assert!(
        text.contains("SearchSkills tricks") && text.ends_with(" my-SearchSkills finds others."),
        "{text}"
    );
}

#[test]
fn the_border_between_all_names_and_some_is_exact() {
    for count in 100..220 {
        let text = description(&many(count, "A description that is long enough to be cut"));
        let listed = text.lines().filter(|line| line.starts_with("- skill-")).count();
        assert!(text.len() < MAX_BYTES);
        assert_eq!(text.contains(" more: "), listed < count);
    }
}

#[test]
fn short_descriptions_are_not_cut() {
    assert_eq!(shortened("one two", 7), "one two");
    assert_eq!(shortened("one two", 6), "one…");
    assert_eq!(shortened("one two three", 8), "one two…");
    assert_eq!(shortened("one two three", 9), "one two…");
    assert_eq!(shortened("a bcdefghijklm", 10), "a bcdefgh…");
    assert_eq!(shortened("one two, three", 10), "one two…");
    assert_eq!(shortened("one two - three", 12), "one two…");
    assert_eq!(shortened("ééééé", 3), "éé…");
    assert_eq!(shortened("", 3), "");
}

#[test]
fn the_description_is_byte_stable() {
    let folders = many(40, "Something");
    let skills = crate::catalogue::read(&folders).skills;
    assert_eq!(describe(&folders, &skills), describe(&folders, &crate::catalogue::read(&folders).skills));
}
