use proptest::prelude::*;
use serde_json::json;

use crate::Questions;

const NO_OPTIONS: &str = "question 1 has no options; it takes 1 to 20, such as likely answers: the person can also answer in \
                          words of their own. Or ask it in your reply instead of by a call";

fn error(value: &serde_json::Value) -> String {
    Questions::parse(&value.to_string()).unwrap_err().to_string()
}

fn labels(questions: &Questions, index: usize) -> Vec<&str> {
    questions.as_slice()[index].options.iter().map(|option| option.label.as_str()).collect()
}

#[test]
fn both_shapes_are_read_also_mixed_and_bare() {
    let original = json!({"text": "Colour?", "options": ["Red", "Blue"]});
    let other = json!({
        "question": "Which parts?", "header": "Parts", "multiSelect": true, "unknown": 1,
        "options": [{"label": "A", "description": "the first", "x": {}}, "B"],
    });
    let whole = json!({"questions": [original, other], "more": null}).to_string();
    let bare = json!([original, other]).to_string();
    let questions = Questions::parse(&whole).unwrap();
    assert_eq!(questions, Questions::parse(&bare).unwrap());
    let [first, second] = questions.as_slice() else { panic!("two") };
    assert_eq!((first.text.as_str(), &first.header, first.multi_select), ("Colour?", &None, false));
    assert_eq!(labels(&questions, 0), ["Red", "Blue"]);
    assert_eq!((second.header.as_deref(), second.multi_select), (Some("Parts"), true));
    assert_eq!(labels(&questions, 1), ["A", "B"]);
    assert_eq!(second.options[0].description.as_deref(), Some("the first"));
}

#[test]
fn what_is_written_is_read_again() {
    let text =
        r#"[{"question":"Q\nsecond line","header":"H","options":[{"label":"a","description":"d"},"b"]}]"#;
    let questions = Questions::parse(text).unwrap();
    let written = serde_json::to_string(&questions).unwrap();
    assert_eq!(Questions::parse(&written).unwrap(), questions);
}

#[test]
fn null_is_as_good_as_nothing() {
    let value = json!([{"question": null, "text": "Q", "header": null, "multiSelect": null,
        "options": [{"label": "a", "description": null}]}]);
    assert!(Questions::parse(&value.to_string()).is_ok());
}

#[test]
fn control_characters_do_not_come_through() {
    let value = json!([{"text": "a\u{1b}[31mb\n\u{202e}c", "options": ["x\ny\u{7}"]}]);
    let questions = Questions::parse(&value.to_string()).unwrap();
    assert_eq!(questions.as_slice()[0].text, "ab\nc");
    assert_eq!(labels(&questions, 0), ["x y"]);
}

#[test]
fn errors_name_the_place_the_value_and_what_fits() {
    let option = |value: serde_json::Value| json!([{"text": "Q", "options": ["a", value]}]);
    let cases = [
        (
            json!(5),
            r#"questions_json: expected {"questions":[{"question":"…","options":["A","B"]}]}, found the number 5"#,
        ),
        (
            json!({"qs": []}),
            r#"questions_json: expected {"questions":[{"question":"…","options":["A","B"]}]}, found an object with "qs""#,
        ),
        (json!([]), "questions_json has no questions; it takes 1 to 4"),
        (
            json!([1, 2, 3, 4, 5]),
            "questions_json has 5 questions, but the limit is 4; ask the rest in another call",
        ),
        (json!([true]), r#"question 1: expected {"question":"…","options":["A","B"]}, found true"#),
        (json!([{"options": ["a"]}]), "`question` of question 1 is missing: expected a text"),
        (json!([{"text": 3, "options": ["a"]}]), "`text` of question 1: expected a text, found the number 3"),
        (
            json!([{"text": " \u{1b}[0m", "options": ["a"]}]),
            r#"`text` of question 1 is " \u{1b}[0m", which shows nothing; write 1 to 2000 characters"#,
        ),
        (json!([{"text": "Q"}]), NO_OPTIONS),
        (json!([{"text": "Q", "options": []}]), NO_OPTIONS),
        (
            json!([{"text": "Q", "options": "a, b"}]),
            r#"`options` of question 1: expected an array such as ["A","B"] or [{"label":"A","description":"…"}], found the text "a, b""#,
        ),
        (json!([{"text": "Q", "options": vec!["a"; 21]}]), "question 1 has 21 options, but the limit is 20"),
        (
            json!([{"text": "Q", "options": ["a"], "multi_select": 1}]),
            r"`multi_select` of question 1: expected true or false, found the number 1",
        ),
        (
            json!([{"text": "Q", "options": ["a"], "multiSelect": "yes"}]),
            r#"`multiSelect` of question 1: expected true or false, found the text "yes""#,
        ),
        (
            option(json!(7)),
            r#"option 2 of question 1: expected a text or {"label":"A","description":"…"}, found the number 7"#,
        ),
        (option(json!({})), "`label` of option 2 of question 1 is missing: expected a text"),
        (
            option(json!("")),
            r#"option 2 of question 1 is "", which shows nothing; write 1 to 200 characters"#,
        ),
        (
            option(json!(" a ")),
            r#"option 2 of question 1 has the label "a", which looks like that of option 1, but labels must differ"#,
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(error(&value), expected);
    }
    let text = Questions::parse("[{").unwrap_err().to_string();
    assert_eq!(
        text,
        r#"questions_json is not valid JSON (EOF while parsing an object at line 1 column 2; it begins "[{"); write {"questions":[{"question":"…","options":["A","B"]}]}"#
    );
}

#[test]
fn texts_end_at_their_limits() {
    let question = |text: usize, header: usize, label: usize, description: usize| {
        json!([{"text": "q".repeat(text), "header": "ü".repeat(header),
            "options": [{"label": "字".repeat(label), "description": "d".repeat(description)}]}])
    };
    assert!(Questions::parse(&question(2000, 40, 200, 1000).to_string()).is_ok());
    for (value, expected) in [
        (question(2001, 1, 1, 1), "`text` of question 1 has 2001 characters (\"q"),
        (question(1, 41, 1, 1), "`header` of question 1 has 41 characters (\"ü"),
        (question(1, 1, 201, 1), "`label` of option 1 of question 1 has 201 characters (\"字"),
        (question(1, 1, 1, 1001), "`description` of option 1 of question 1 has 1001 characters (\"d"),
    ] {
        let text = error(&value);
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains(", but the limit is "), "{text}");
    }
}

#[test]
fn all_limits_together_fit_into_the_largest_argument() {
    let options: Vec<_> = (0..20)
        .map(|index| json!({"label": format!("{index:0>200}"), "description": "\"".repeat(1000)}))
        .collect();
    let question = json!({"question": "字".repeat(2000), "header": "𝄞".repeat(40), "options": options});
    let questions = Questions::parse(&json!(vec![question; 4]).to_string()).unwrap();
    assert!(serde_json::to_string(&questions).unwrap().len() < crate::questions::MAX_JSON_BYTES);
}

#[test]
fn text_for_the_chat_has_numbers() {
    let value = json!([{"text": "Q?\nmore", "multiSelect": true, "options": [{"label": "A", "description": "d"}, "B"]},
        {"text": "R?", "options": ["C"]}]);
    let text = Questions::parse(&value.to_string()).unwrap().to_text();
    assert_eq!(text, "1. Q?\n   more (several may be chosen)\n   a) A – d\n   b) B\n\n2. R?\n   a) C\n");
}

#[test]
fn options_look_different_and_like_something() {
    for (one, other) in [
        ("Approve", "Approve\u{3164}"),
        ("Approve", "Appr\u{43e}ve"),
        ("Yes", "Yes\u{200d}"),
        ("A", "\u{ff21}"),
    ] {
        let text = error(&json!([{"text": "Q?", "options": [one, other]}]));
        assert!(text.contains("which looks like that of option 1"), "{text}");
    }
    for blank in ["\u{3164}", "\u{2800}\u{2800}", "\u{ffa0}\u{200d}"] {
        let text = error(&json!([{"text": "Q?", "options": ["A", blank]}]));
        assert!(text.contains("which shows nothing"), "{text}");
    }
    assert!(
        Questions::parse(r#"[{"text":"Q?","options":["Да","Нет","می\u200cخواهم","👩\u200d👩\u200d👧"]}]"#)
            .is_ok()
    );
}

#[test]
fn no_header_is_the_name_of_this_program() {
    for header in ["scorpiox-code", "SCORPIOX", "sc\u{43e}rpiox says", "Scorpi0x"] {
        let questions = json!([{"text": "Q?", "header": header, "options": ["A"]}]).to_string();
        assert_eq!(Questions::parse(&questions).unwrap().as_slice()[0].header, None, "{header}");
    }
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused_in_one_line(text in any::<String>()) {
        if let Err(error) = Questions::parse(&text) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
