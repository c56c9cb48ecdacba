use super::*;
use crate::catalogue::{Catalogue, FIRST_READ, SECOND_READ, read};

fn names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn reasons(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.skipped.iter().map(|skipped| skipped.reason.as_str()).collect()
}

#[test]
fn skills_are_sorted_by_name() {
    let folders = Folders::default().skill("b", "B", "").skill("a-2", "A2", "").skill("a", "A", "");
    assert_eq!(names(&read(&folders)), ["a", "a-2", "b"]);
    assert_eq!(read(&folders), read(&folders));
}

#[test]
fn of_two_skills_with_one_name_the_first_wins() {
    let folders = Folders::default()
        .with("one", "---\nname: same\ndescription: first\n---\n")
        .with("two", "---\nname: same\ndescription: second\n---\n");
    let catalogue = read(&folders);
    assert_eq!(catalogue.find("same").expect("found").description, "first");
    assert_eq!(reasons(&catalogue), ["the name \"same\" is taken by /skills/one, which comes first"]);
    assert_eq!(catalogue.skipped[0].source.path, "/skills/two");
}

#[test]
fn a_skipped_skill_takes_no_name() {
    let folders = Folders::default()
        .with("one", "---\nname: same\n---\n")
        .with("two", "---\nname: same\ndescription: second\n---\n");
    assert_eq!(read(&folders).find("same").expect("found").description, "second");
}

#[test]
fn the_folders_name_is_used_when_a_name_is_missing() {
    let catalogue = read(&Folders::default().with("my-folder", "---\ndescription: d\n---\n"));
    assert_eq!(names(&catalogue), ["my-folder"]);
    assert!(catalogue.skills[0].warnings[0].contains("the folder's name \"my-folder\" is used"));
}

#[test]
fn a_name_that_differs_from_the_folder_is_warned_of() {
    let catalogue = read(&Folders::default().with("folder", "---\nname: other\ndescription: d\n---\n"));
    assert_eq!(
        catalogue.skills[0].warnings,
        ["the name \"other\" differs from the folder's name \"folder\""]
    );
}

#[test]
fn hidden_characters_in_a_folders_name_do_not_reach_the_catalogue() {
    let catalogue = read(&Folders::default().with("a\u{1b}[31m\nb\u{e0041}", "---\ndescription: d\n---\n"));
    assert_eq!(names(&catalogue), ["a b"]);
    let catalogue = read(&Folders::default().with("\u{200b}", "---\ndescription: d\n---\n"));
    assert_eq!(reasons(&catalogue), ["neither a name nor a folder name is usable"]);
}

#[test]
fn folders_that_cannot_be_used_say_why() {
    let folders = Folders::default()
        .with("a", "no front matter")
        .with("b", "---\nname: b\n---\n")
        .unreadable("c", ReadError::NotFound)
        .unreadable("d", ReadError::TooLarge(5))
        .unreadable("e", ReadError::Unreadable("permission denied\u{1b}[2J".to_owned()))
        .with("f", "---\nname: f\n");
    assert_eq!(
        reasons(&read(&folders)),
        [
            "SKILL.md has no front matter: its first line must be \"---\"",
            "description is missing or empty in the front matter",
            "SKILL.md is not there any more",
            "SKILL.md is larger than 5 bytes",
            "SKILL.md cannot be read: permission denied",
            "the front matter has no end: a second line \"---\" is missing",
        ]
    );
}

#[test]
fn only_the_head_of_a_skill_is_read() {
    let folders = Folders::default().skill("a", "d", &"x".repeat(500_000));
    assert_eq!(names(&read(&folders)), ["a"]);
    assert_eq!(*folders.reads.borrow(), [(0, FIRST_READ)]);
}

#[test]
fn a_long_front_matter_is_read_again() {
    let padding = "x".repeat(30_000);
    let folders = Folders::default()
        .with("a", format!("---\ndescription: d\nk: {padding}\n---\n{padding}{padding}"))
        .with("b", format!("---\ndescription: d\nk: {}\n---\n", padding.repeat(3)))
        .with("c", padding.repeat(3));
    let catalogue = read(&folders);
    assert_eq!(names(&catalogue), ["a"]);
    assert_eq!(
        *folders.reads.borrow(),
        [(0, FIRST_READ), (0, SECOND_READ), (1, FIRST_READ), (1, SECOND_READ), (2, FIRST_READ)]
    );
    assert_eq!(reasons(&catalogue)[0], "the front matter is longer than 65536 bytes");
}

#[test]
fn the_longest_front_matter_fits_the_second_read() {
    let head = "description: d\nk: ";
    for (extra, usable) in [(0, true), (1, false)] {
        let yaml = format!("{head}{}", "x".repeat(65_536 - head.len() - 2 + extra));
        let folders = Folders::default().with("a", format!("\u{feff}---\r\n{yaml}\r\n---\r\nBody"));
        assert_eq!(read(&folders).skills.len() == 1, usable, "{:?}", reasons(&read(&folders)));
    }
}

#[test]
fn a_fence_cut_by_the_first_read_is_not_taken_for_the_end() {
    let head = "---\ndescription: d\nk: ";
    let text = format!("{head}{}\n----\nlast: 1\n---\n", "x".repeat(FIRST_READ as usize - head.len() - 4));
    assert!(text[..FIRST_READ as usize].ends_with("\n---"));
    let folders = Folders::default().with("a", text);
    // The line of four hyphens is inside the front matter, which is read completely.
    let catalogue = read(&folders);
    assert_eq!(folders.reads.borrow().len(), 2);
    assert!(catalogue.skills.iter().all(|skill| skill.front_matter.contains("last")));
}

#[test]
fn the_front_matter_is_given_as_json() {
    let catalogue =
        read(&Folders::default().with("a", "---\nname: a\ndescription: d\nmetadata: {v: 1.0}\n---\n"));
    assert_eq!(catalogue.skills[0].front_matter, r#"{"name":"a","description":"d","metadata":{"v":1.0}}"#);
}

#[test]
fn when_to_use_it_follows_the_description() {
    let folders = Folders::default()
        .with("a", "---\ndescription: Does it\nwhen_to_use: When asked.\n---\n")
        .with("b", "---\ndescription: Does it!\nwhen_to_use: Always.\n---\n");
    let catalogue = read(&folders);
    let described: Vec<&str> = catalogue.skills.iter().map(|skill| skill.description.as_str()).collect();
    assert_eq!(described, ["Does it. When asked.", "Does it! Always."]);
}

#[test]
fn a_file_of_another_name_is_warned_of() {
    let folders =
        Folders::default().skill("a", "d", "").but(|folder| folder.source.file = "skill.md".to_owned());
    assert_eq!(
        read(&folders).skills[0].warnings,
        ["the file is named skill.md; other programs look for SKILL.md"]
    );
}
