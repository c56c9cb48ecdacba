use super::*;
use crate::inspect::inspect;

fn warnings(folders: &Folders) -> Vec<String> {
    inspect(folders, 0, "").expect("a skill").warnings
}

#[test]
fn a_good_skill_is_shown_as_models_get_it() {
    let folders = Folders::default().skill(
        "x",
        "d",
        "Do it, see [a](a.md) and [b](docs/) and [c](https://example.com).\n",
    );
    let folders = folders.but(|folder| folder.files = vec!["a.md".to_owned(), "docs/b.md".to_owned()]);
    let found = inspect(&folders, 0, "").expect("a skill");
    assert_eq!(found.warnings, [""; 0]);
    assert_eq!(found.text, invoked(&folders, "x", ""));
    assert_eq!(inspect(&folders, 1, ""), Err("it is none of the skills".to_owned()));
}

#[test]
fn what_is_wrong_with_instructions_is_said() {
    let head = "---\nname: x\ndescription: d\narguments: issue branch\n---\n";
    let body =
        "Fix $issue in ${CLAUDE_SESSION_ID}: !`date`, [a](./a.md), [b](#b), [c](/etc/passwd), [a](a.md#x)\n";
    let folders = Folders::default().with("x", format!("{head}{body}{}", "line\n".repeat(500)));
    assert_eq!(
        warnings(&folders),
        [
            "${CLAUDE_SESSION_ID}: it has a value where Claude Code started the server, and stays as written elsewhere",
            "the instructions have 501 lines; the format advises fewer than 500, and files for the rest",
            "commands (!`…`) are never executed; they stay as written",
            "the argument \"branch\" has no place $branch in the instructions",
            "it links to ./a.md, which is not in its folder",
            "it links to /etc/passwd, which is outside of its folder",
            "it links to a.md, which is not in its folder",
        ]
    );
    assert_eq!(
        warnings(&Folders::default().skill("x", "d", "\n")),
        ["there are no instructions after the front matter"]
    );
    let long = warnings(&Folders::default().skill("x", "d", &"x ".repeat(20_000)));
    assert!(long[0].starts_with("the instructions are longer than a result"), "{long:?}");
}

#[test]
fn a_skill_for_people_is_shown_too() {
    let folders =
        Folders::default().with("x", "---\ndescription: d\ndisable-model-invocation: true\n---\nBody\n");
    assert!(inspect(&folders, 0, "").expect("a skill").text.contains("\nBody\n"));
}

#[test]
fn paths_that_do_not_work_are_named() {
    let body = "Run `python3 scripts/sum.py FILE`, or `bash ./scripts/sum.py`.\n\
        See `references/none.md`, `scripts/sum.py`, `src/main.rs`, [b](<a b.md>), [c](a%20c.md), [d](../x/SKILL.md),\n\
        [e](mailto:me@example.com), [f]($ARGUMENTS.md).\n\
        ```sh\nbash scripts/none.sh; cat /etc/hosts\npython3 ${CLAUDE_SKILL_DIR}/scripts/sum.py x\n\
        bash ${CLAUDE_SKILL_DIR}/gone.sh\n```\n";
    let folders = Folders::default().skill("x", "d", body);
    let files = ["a b.md", "scripts/sum.py"].map(str::to_owned).to_vec();
    assert_eq!(
        warnings(&folders.but(|folder| folder.files = files)),
        [
            "`bash ./scripts/sum.py`: commands start in the workspace and do not find ./scripts/sum.py; write ${CLAUDE_SKILL_DIR}/scripts/sum.py",
            "`python3 scripts/sum.py FILE`: commands start in the workspace and do not find scripts/sum.py; write ${CLAUDE_SKILL_DIR}/scripts/sum.py",
            "it links to ../x/SKILL.md, which is outside of its folder",
            "it links to a c.md, which is not in its folder",
            "it names gone.sh, which is not in its folder",
            "it names references/none.md, which is not in its folder",
            "it names scripts/none.sh, which is not in its folder",
        ]
    );
}

#[test]
fn what_is_hidden_in_instructions_is_said() {
    let folders = Folders::default().skill("x", "d", "a\u{e0041}b\n");
    assert_eq!(warnings(&folders), ["Control or invisible characters were removed from the instructions"]);
}

#[test]
fn instructions_that_no_tool_reads_whole_are_a_warning_and_the_model_is_sent_nowhere() {
    let folders = Folders::default().skill("x", "d", &"x".repeat(1024 * 1024));
    let found = inspect(&folders, 0, "").expect("a skill");
    assert_eq!(found.warnings, ["SKILL.md has more than 1048576 bytes; no tool reads the rest"]);
    assert!(
        found.text.contains("so only a command can read it"),
        "{}",
        &found.text[found.text.len() - 500..]
    );
}

#[test]
fn arguments_are_filled_in_as_for_a_model() {
    let folders = Folders::default().skill("x", "d", "Dear $0!\n");
    assert!(inspect(&folders, 0, "'Frau Müller' ja").expect("a skill").text.contains("Dear Frau Müller!"));
}
