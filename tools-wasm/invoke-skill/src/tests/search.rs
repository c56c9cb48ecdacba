use super::*;

fn folders() -> Folders {
    Folders::default()
        .skill("debugging", "Find the cause of a failure", "Read the log.\nThen bisect.\n")
        .skill("planning", "Write a plan", "  Ask about the Goal first.\n")
        .skill("testing", "Tests that find bugs", "Debugging comes later.\n")
}

fn refused(pattern: &str) -> String {
    match searched(&folders(), pattern) {
        Err(Failure::InvalidInput(text)) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn names_come_before_descriptions_and_instructions() {
    assert_eq!(
        searched(&folders(), "debug|bugs|goal").expect("succeeds"),
        "3 of 3 skills match \"debug|bugs|goal\":\n\
         - debugging: Find the cause of a failure\n\
         - testing: Tests that find bugs\n\
         - planning: Write a plan\n  line: Ask about the Goal first.\n\
         Invoke one with InvokeSkill and its name as skill_name."
    );
}

#[test]
fn a_match_is_invoked_by_the_name_that_the_client_knows() {
    let folders = Folders { prefix: "my-", ..folders().skill("InvokeSkill", "Use InvokeSkill", "") };
    assert_eq!(
        searched(&folders, "InvokeSkill").expect("succeeds"),
        "1 of 4 skills matches \"InvokeSkill\":\n- InvokeSkill: Use InvokeSkill\n\
         Invoke one with my-InvokeSkill and its name as skill_name."
    );
}

#[test]
fn nothing_found_is_an_answer() {
    assert_eq!(searched(&folders(), "zebra").expect("succeeds"), "None of 3 skills matches \"zebra\".");
}

#[test]
fn the_front_matter_is_not_searched_as_instructions() {
    let folders = Folders::default().with("a", "---\ndescription: d\nlicense: zebra\n---\nBody\n");
    assert!(searched(&folders, "zebra").expect("succeeds").starts_with("None of 1"));
}

#[test]
fn skills_of_the_workspace_are_marked() {
    let folders = folders().but(|folder| folder.source.scope = Scope::Workspace);
    assert!(
        searched(&folders, "testing").expect("succeeds").contains("\n- testing (from the opened project): ")
    );
}

#[test]
fn a_bad_pattern_is_an_error_that_says_why() {
    assert!(refused("(").starts_with("pattern \"(\" cannot be used: "));
    assert!(refused("a{1000}{1000}").ends_with("cannot be used: compiled regex exceeded size limit."));
    assert!(refused(&"x".repeat(513)).contains("it has 513 bytes; the limit is 512"));
    assert!(refused("").starts_with("pattern is missing"));
    assert!(matches!(call(&folders(), "SearchSkills", "{}"), Err(Failure::InvalidInput(_))));
}

#[test]
fn at_most_twenty_matches_are_given() {
    let all =
        |count: usize| (0..count).fold(Folders::default(), |all, n| all.skill(&format!("s{n}"), "d", "hit"));
    let text = searched(&all(21), "hit").expect("succeeds");
    assert_eq!(text.matches("\n- s").count(), 20);
    assert!(text.contains("More skills match; only 20 are shown."));
    assert!(!searched(&all(20), "hit").expect("succeeds").contains("More skills"));
}

#[test]
fn a_long_line_is_shown_around_the_match() {
    let folders =
        Folders::default().skill("a", "d", &format!("{} needle {}", "é ".repeat(500), "x ".repeat(500)));
    let text = searched(&folders, "needle").expect("succeeds");
    let line = text.lines().nth(2).expect("the line");
    assert!(
        line.starts_with("  line: …") && line.contains(" needle ") && line.chars().count() < 220,
        "{line}"
    );
}

#[test]
fn a_shown_line_has_no_hidden_characters() {
    let folders = Folders::default().skill("a", "d", "\u{1b}[31mneedle\u{202e}\u{e0041}\n");
    assert!(searched(&folders, "needle").expect("succeeds").contains("\n  line: needle\n"));
}

#[test]
fn what_could_not_be_searched_is_said() {
    let unsearched = |pattern: &str, bytes: usize| {
        let folders =
            (0..10).fold(Folders::default(), |all, n| all.skill(&format!("s{n}"), "d", &"\n".repeat(bytes)));
        let text = searched(&folders, pattern).expect("succeeds");
        text.lines().nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(unsearched("needle", 100_000), "");
    assert_eq!(unsearched("needle", 1_000_000), "The instructions of 2 skills were not searched.");
    assert_eq!(unsearched("x{0,50}y", 300_000), "The instructions of 7 skills were not searched.");
}
