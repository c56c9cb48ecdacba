//! Tests of command-line programs as tools.

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
        said.starts_with("The program ended with an exit code other than 0.\n")
            && said.ends_with("it went wrong"),
        "{said}"
    );
    let left = server.call("program.run", json!({"args": ["exit", "7"]}));
    assert!(refused(&left).starts_with("The program ended with exit code 7."), "{left}");
    let fine = server.call("program.run", json!({"args": ["exit", "0"]}));
    assert_eq!(text(&fine), "[\"exit\", \"0\"] \"\"\n");
}

#[test]
fn of_more_than_fits_both_ends_are_the_result_and_the_limit_is_named() {
    let (_program, mut server) = program("[limits]\noutput_kib = 8\n");
    let flood = server.call("program.run", json!({"args": ["flood"]}));
    let said = text(&flood);
    assert_eq!(flood["isError"], false, "{said}");
    assert!(said.starts_with("[\"flood\"] \"\"\nxxx") && said.len() <= 8192, "{said}");
    let end = "xxx\n\n[The program printed 16,777,229 bytes; a result has at most 8,192 bytes: `output_kib` of [limits] \
               in plugin.toml says so.]";
    assert!(said.ends_with(end), "{said}");
    let shown = said.matches('x').count();
    let left_out = said.split_once("\n\n[… ").and_then(|(_, rest)| rest.split_once(" bytes left out …]\n\n"));
    let left_out: usize = left_out.expect("a mark").0.replace(',', "").parse().expect("a number");
    assert_eq!(shown + left_out, 16 * 1024 * 1024, "{said}");
    // The next call is not affected.
    assert_eq!(text(&server.call("program.run", json!({}))), "[] \"\"\n");
}

#[test]
fn a_program_without_an_end_is_stopped_with_the_end_of_what_it_printed() {
    let (_program, mut server) = program("[limits]\ncpu_seconds = 1\noutput_kib = 8\n");
    let endless = server.call("program.run", json!({"args": ["forever"]}));
    let said = refused(&endless);
    assert!(said.contains("used up its 1 s of processor time"), "{said}");
    assert!(said.contains("bytes left out …]") && said.contains("and so on and so on"), "{said}");
    assert!(said.len() < 10_000, "{}", said.len());
}

#[test]
fn bytes_that_are_no_utf8_are_given_in_base64_or_counted() {
    let (_program, mut server) = program("");
    let mut bytes = |writes: &[&str]| {
        let args: Vec<_> = ["bytes"].iter().chain(writes).collect();
        let result = server.call("program.run", json!({ "args": args }));
        assert_eq!(result["isError"], false, "{result}");
        text(&result).to_owned()
    };
    // A code point that is split over two writes stays intact.
    assert_eq!(bytes(&["61e6", "97", "a562"]), "a日b");
    assert_eq!(
        bytes(&["89504e470d0a1a0a00ff"]),
        "[The program printed 10 bytes that are not UTF-8; in base64:]\niVBORw0KGgoA/w=="
    );
    let latin = "4120746578742077697468206f6e65206f6464206279746520e92e0a";
    assert_eq!(
        bytes(&[latin]),
        "A text with one odd byte �.\n\n\n[1 byte of it is not UTF-8, and stands as �.]"
    );
}

#[test]
fn other_arguments_are_refused_with_their_names() {
    let (_program, mut server) = program("");
    let unknown = server.call("program.run", json!({"arguments": []}));
    assert!(refused(&unknown).contains("arguments is not known; expected args, stdin"), "{unknown}");
    let nul = server.call("program.run", json!({"args": ["a\u{0}b"]}));
    assert!(refused(&nul).contains("NUL"), "{nul}");
}
