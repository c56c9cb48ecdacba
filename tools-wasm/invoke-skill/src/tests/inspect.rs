use super::*;
use crate::inspect::inspect;

fn warnings(folders: &Folders) -> Vec<String> {
    inspect(folders, 0).expect("a skill").warnings
}

#[test]
fn a_good_skill_is_shown_as_models_get_it() {
    let folders = Folders::default().skill(
        "x",
        "d",
        "Do it, see [a](a.md) and [b](docs/) and [c](https://example.com).\n",
    );
    let folders = folders.but(|folder| folder.files = vec!["a.md".to_owned(), "docs/b.md".to_owned()]);
    let found = inspect(&folders, 0).expect("a skill");
    assert_eq!(found.warnings, [""; 0]);
    assert_eq!(found.text, invoked(&folders, "x", ""));
    assert_eq!(inspect(&folders, 1), Err("it is none of the skills".to_owned()));
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
            "${CLAUDE_SESSION_ID} stays as written: this server does not know it",
            "the instructions have 501 lines; the format advises fewer than 500, and files for the rest",
            "commands (!`…`) are never executed; they stay as written",
            "the argument \"branch\" has no place $branch in the instructions",
            "it links to ./a.md, which is not in its folder",
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
    assert!(inspect(&folders, 0).expect("a skill").text.contains("\nBody\n"));
}
