//! Ordinary programs as tools.

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use crate::plugins::{listed, refused, with};

fn program(limits: &str) -> (Program, Started) {
    with(Program::new(), "program", limits)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

#[test]
fn words_and_input_go_in_and_what_is_printed_comes_out() {
    let (_program, mut server) = program("");
    assert_eq!(listed(&mut server), ["program.run"]);
    let result = server.call("program.run", json!({"args": ["a", "b c", "ä"], "stdin": "in\n"}));
    assert_eq!((text(&result), &result["isError"]), ("[\"a\", \"b c\", \"ä\"] \"in\\n\"\n", &json!(false)));
    let result = server.call("program.run", json!({}));
    assert_eq!(text(&result), "[] \"\"\n");
}

#[test]
fn a_program_that_fails_says_so_with_what_it_complained_about() {
    let (_program, mut server) = program("[limits]\noutput_kib = 64\n");
    let failed = server.call("program.run", json!({"args": ["fail"]}));
    let said = refused(&failed);
    assert!(
        said.starts_with("The program ended with exit code 1.\n") && said.ends_with("it went wrong"),
        "{said}"
    );
    let left = server.call("program.run", json!({"args": ["exit", "7"]}));
    assert!(refused(&left).starts_with("The program ended with exit code 7."), "{left}");
    let fine = server.call("program.run", json!({"args": ["exit", "0"]}));
    assert_eq!(text(&fine), "[\"exit\", \"0\"] \"\"\n");
    let flood = server.call("program.run", json!({"args": ["flood"]}));
    assert!(refused(&flood).contains("at most 65536 are a result"), "{flood}");
}

#[test]
fn other_arguments_are_refused_with_their_names() {
    let (_program, mut server) = program("");
    let unknown = server.call("program.run", json!({"arguments": []}));
    assert!(refused(&unknown).contains("arguments is not known; expected args, stdin"), "{unknown}");
    let nul = server.call("program.run", json!({"args": ["a\u{0}b"]}));
    assert!(refused(&nul).contains("NUL"), "{nul}");
}
