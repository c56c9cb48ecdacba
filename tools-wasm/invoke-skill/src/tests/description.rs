use super::*;
use crate::description::{MAX_BYTES, MAX_MORE_BYTES, MIN_CHARS, describe};

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

/// Parses the lines of the list into names and descriptions.
fn lines(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": ")).collect()
}

#[test]
fn where_not_all_fits_whole_sentences_come_first_and_everything_can_be_searched() {
    let folders = (0..20).fold(Folders::default(), |folders, n| {
        let long = format!("Does thing {n} for its user. {}", "More is said of it. ".repeat(1 + n));
        folders.skill(&format!("skill-{n:02}"), &long, "")
    });
    let tools = definitions(&folders);
    assert_eq!(tools.iter().map(|tool| tool.name).collect::<Vec<_>>(), ["InvokeSkill", "SearchSkills"]);
    let text = &tools[0].description;
    assert!(text.len() < MAX_BYTES && text.len() > MAX_BYTES - 250, "{}", text.len());
    assert!(text.ends_with("\nUse SearchSkills to search whole descriptions and instructions."), "{text}");
    let lines = lines(text);
    assert_eq!(lines.len(), 20);
    assert!(lines.iter().all(|(_, line)| line.ends_with(". …") || line.ends_with("of it.")), "{text}");
    assert!(lines[0].1.ends_with("More is said of it."), "the shortest is whole: {text}");
}

#[test]
fn each_skill_keeps_some_words_and_what_is_left_is_spread() {
    let folders = (0..16).fold(Folders::default(), |folders, n| {
        folders.skill(&format!("skill-{n:02}"), &format!("thing{n} {}", "word ".repeat(60)), "")
    });
    let text = &definitions(&folders.skill("short", "Short.", ""))[0].description;
    assert!(text.len() < MAX_BYTES && text.len() > MAX_BYTES - 120, "{}", text.len());
    let lines = lines(text);
    assert!(lines.contains(&("short", "Short.")), "{text}");
    let lengths: Vec<usize> =
        lines.iter().map(|(_, line)| line.chars().count()).filter(|n| (7..300).contains(n)).collect();
    assert_eq!(lengths.len(), 12, "{text}");
    let (least, most) = (lengths.iter().min().expect("some"), lengths.iter().max().expect("some"));
    assert!(*least >= MIN_CHARS && most - least < 8, "{lengths:?}");
}

#[test]
fn skills_that_begin_alike_are_told_apart() {
    let subjects =
        ["PDF forms", "spreadsheets", "slides", "letters", "invoices", "calendars", "maps", "logos"];
    let folders = (0..40).fold(Folders::default(), |folders, n| {
        let subject = format!("{} of kind {n}", subjects[n % subjects.len()]);
        let text =
            format!("Use this skill when the user wants to create, read or change {subject} in any way");
        folders.skill(&format!("skill-{n:02}"), &text, "")
    });
    let text = &definitions(&folders)[0].description;
    let mut cut: Vec<&str> = lines(text).into_iter().map(|(_, line)| line).collect();
    assert_eq!(cut.len(), 40, "{text}");
    cut.sort_unstable();
    cut.dedup();
    assert_eq!(cut.len(), 40, "{text}");
}

#[test]
fn the_person_s_own_skills_are_described_before_those_of_the_workspace() {
    let text = |n: usize| format!("Description {n} {}", "with many words ".repeat(12));
    let with = |required: &[&str]| {
        let mut folders = (0..30)
            .fold(Folders::default(), |folders, n| folders.skill(&format!("skill-{n:02}"), &text(n), ""));
        for folder in folders
            .entries
            .iter_mut()
            .filter(|folder| !["skill-20", "skill-25"].contains(&folder.source.folder_name.as_str()))
        {
            folder.source.scope = Scope::Workspace;
        }
        folders.required = required.iter().map(|name| (*name).to_owned()).collect();
        folders
    };
    let whole = |folders: &Folders| -> Vec<String> {
        let text = description(folders);
        let whole = lines(&text).into_iter().filter(|(_, line)| !line.contains('…'));
        whole.map(|(name, _)| name.to_owned()).collect()
    };
    assert_eq!(whole(&with(&[])), ["skill-00", "skill-20", "skill-25"]);
    assert_eq!(whole(&with(&["skill-29", "skill-28"])), ["skill-20", "skill-25", "skill-28"]);
    let names = lines(&description(&with(&["skill-29"])))
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect::<Vec<_>>();
    assert!(names.is_sorted() && names.len() == 30, "{names:?}");
}

#[test]
fn names_that_do_not_all_fit_are_those_of_the_person_first() {
    let mut folders = many(400, "A description that is long enough to be cut");
    for folder in folders.entries.iter_mut().take(390) {
        folder.source.scope = Scope::Workspace;
    }
    let text = description(&folders);
    assert!(text.len() < MAX_BYTES, "{}", text.len());
    assert!((390..400).all(|n| text.contains(&format!("\n- skill-{n}"))), "{text}");
}

#[test]
fn instructions_have_whole_what_the_list_cuts_of_the_person_s_skills() {
    let folders = (0..30).fold(Folders::default(), |folders, n| {
        let text = format!("Description {n} {}", "with many words ".repeat(12));
        let scope = if n < 20 { Scope::Workspace } else { Scope::User };
        folders.skill(&format!("skill-{n:02}"), &text, "").but(|folder| folder.source.scope = scope)
    });
    let skills = crate::catalogue::read(&folders).skills;
    let listing = describe(&folders, &skills);
    let bytes: usize = listing.more.iter().map(|line| line.len() + 1).sum();
    assert!(bytes <= MAX_MORE_BYTES && listing.more.len() > 4, "{bytes}");
    assert!(listing.more.is_sorted());
    for line in &listing.more {
        let (name, text) = line.strip_prefix("- ").and_then(|line| line.split_once(": ")).expect("a line");
        let skill = skills.iter().find(|skill| skill.name == name).expect("a skill");
        assert_eq!(skill.description, text);
        assert_eq!(skill.source.scope, Scope::User, "what a project says is for the list alone");
        assert!(!listing.text.contains(text));
    }
    assert!(describe(&folders, &skills[..2]).more.is_empty());
}

#[test]
fn skills_for_people_are_not_listed() {
    let folders = Folders::default()
        .with("a", "---\ndescription: For people\ndisable-model-invocation: true\n---\n")
        .skill("b", "For models", "");
    let tools = definitions(&folders);
    assert_eq!(tools.len(), 1);
    assert!(tools[0].description.ends_with("\n\nSkills:\n- b: For models"), "{}", tools[0].description);
    let skills = crate::catalogue::read(&folders).skills;
    assert_eq!(describe(&folders, &skills).listed, [None, Some("b: For models".to_owned())]);
    let alone = definitions(&Folders {
        entries: folders.entries.into_iter().take(1).collect(),
        ..Folders::default()
    });
    assert!(
        alone[0].description.ends_with("are for people, who pick them as prompts."),
        "{}",
        alone[0].description
    );
}

#[test]
fn too_many_skills_are_listed_by_name_and_can_be_searched() {
    let tools = definitions(&many(100, "A description that is long enough to be cut"));
    assert_eq!(tools.iter().map(|tool| tool.name).collect::<Vec<_>>(), ["InvokeSkill", "SearchSkills"]);
    assert!(tools[0].description.ends_with(
        "\n- skill-098\n- skill-099\nUse SearchSkills to search whole descriptions and instructions."
    ));
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
    assert!(text.ends_with("\nUse my-SearchSkills to search whole descriptions and instructions."), "{text}");
    assert!(text.contains("\n- SearchSkills tricks: d\n"), "{text}");
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
fn the_description_is_byte_stable() {
    let folders = many(40, "Something");
    let skills = crate::catalogue::read(&folders).skills;
    assert_eq!(describe(&folders, &skills), describe(&folders, &crate::catalogue::read(&folders).skills));
}
