//! Tests of desktop dialogs. A substitute program of the same name records its arguments and answers like the
//! real one.

use std::fs;

use scorpiox_tests::{Program, Served};
use serde_json::{Value, json};

use super::{TWO, ask};

/// Selects the second option, then the first option and a custom text.
const ANSWERS: &str = r#"case "$*" in
    *--entry*|*--inputbox*) echo 'größer, "XL"' ;;
    *--checklist*) printf '1\n3\n' ;;
    *) echo 2 ;;
esac"#;

/// Starts a server on a desktop with this program and without a terminal.
fn desktop(name: &str, script: &str) -> Served {
    let script = format!("#!/bin/bash\nprintf '%s\\n' \"$@\" --- >> \"$0.log\"\n{script}\n");
    let mut server = Program::new().with_system_program(name, &script).with("DISPLAY", ":99").serve();
    server.initialize("2025-11-25");
    server
}

fn result(server: &mut Served) -> Value {
    let id = ask(server, TWO);
    server.answer(id)["result"].clone()
}

#[test]
fn each_question_is_a_dialog_and_own_words_one_more() {
    for name in ["zenity", "kdialog"] {
        let mut server = desktop(name, ANSWERS);
        let result = result(&mut server);
        let answers = &result["structuredContent"]["answers"];
        assert_eq!(answers[0]["selected"], "Grün", "{name}: {result}");
        assert_eq!(answers[1]["selected"], json!(["S", "größer, \"XL\""]), "{name}: {result}");
        let log = server.program.system_programs().join(format!("{name}.log"));
        let log = fs::read_to_string(log).expect("a log");
        assert_eq!(log.matches("---\n").count(), 3, "{log}");
        assert!(
            log.contains("Which colour?") && log.contains("Which sizes?") && log.contains("small"),
            "{log}"
        );
    }
}

#[test]
fn a_closed_dialog_declines() {
    for (name, script) in [("zenity", "exit \"$ZENITY_CANCEL\""), ("kdialog", "exit 1")] {
        let mut server = desktop(name, script);
        let result = result(&mut server);
        assert_eq!(result["structuredContent"]["declined"], true, "{name}: {result}");
        assert_ne!(result["isError"], true, "{name}: {result}");
    }
}

#[test]
fn a_dialog_that_cannot_be_shown_or_answers_nonsense_leaves_the_text() {
    for script in ["echo 'cannot open display' >&2; exit 1", "echo 17", "echo '<b>2</b>x'; exit 77"] {
        let mut server = desktop("zenity", script);
        let result = result(&mut server);
        assert_eq!(result["isError"], true, "{script}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(
            text.contains("a) Red") && text.contains("zenity: the dialog") && !text.contains("Some"),
            "{script}: {text}"
        );
    }
}
