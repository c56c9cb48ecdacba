use serde_json::{Value, json};

use super::*;
use crate::{Answer, Answers, Asker};

fn questions() -> Questions {
    let value = json!([
        {"question": "Which colour?", "header": "Colour",
            "options": [{"label": "Red", "description": "warm,\nloud"}, {"label": "Blue"}]},
        {"text": "Which parts?", "options": [{"label": "A", "description": "first"}, "B"], "multiSelect": true},
    ]);
    Questions::parse(&value.to_string()).unwrap()
}

fn accepted(kind: FormKind, content: &Value) -> Result<Answers, String> {
    let result = json!({"action": "accept", "content": content});
    read(&questions(), kind, &result).map_err(|error| error.to_string())
}

fn answers(one: (&[&str], Option<&str>), some: (&[&str], Option<&str>)) -> Answers {
    let questions = questions();
    let answer = |index: usize, (labels, other): (&[&str], Option<&str>)| {
        Answer::new(&questions.as_slice()[index], labels.iter().copied(), other).unwrap()
    };
    Answers::Answered(vec![answer(0, one), answer(1, some)])
}

#[test]
fn the_modern_form_has_titled_constants() {
    let expected = json!({
        "type": "object",
        "required": [],
        "properties": {
            "q1": {"type": "string", "title": "Colour", "description": "Which colour?\n- Red: warm, loud",
                "oneOf": [{"const": "Red", "title": "Red"}, {"const": "Blue", "title": "Blue"}]},
            "q1_other": {"type": "string", "title": "Other", "maxLength": 2000,
                "description": "Colour: an answer in your own words, if no option fits"},
            "q2": {"type": "array", "title": "Question 2", "description": "Which parts?\n- A: first",
                "items": {"anyOf": [{"const": "A", "title": "A"}, {"const": "B", "title": "B"}]}},
            "q2_other": {"type": "string", "title": "Other", "maxLength": 2000,
                "description": "Question 2: anything else, in your own words"},
        },
    });
    assert_eq!(schema(&questions(), FormKind::Modern), expected);
}

#[test]
fn the_legacy_form_has_no_arrays() {
    let schema = schema(&questions(), FormKind::Legacy2025_06);
    let properties = &schema["properties"];
    let expected = json!({"type": "string", "title": "Colour", "description": "Which colour?\n- Red: warm, loud",
        "enum": ["Red", "Blue"], "enumNames": ["Red", "Blue"]});
    assert_eq!(properties["q1"], expected);
    let expected =
        json!({"type": "boolean", "title": "A", "description": "Which parts?\n- A: first", "default": false});
    assert_eq!(properties["q2_01"], expected);
    assert_eq!(properties["q2_02"], json!({"type": "boolean", "title": "B", "default": false}));
    assert!(properties.get("q2").is_none());
    let names: Vec<_> = properties.as_object().unwrap().keys().collect();
    assert_eq!(names, ["q1", "q1_other", "q2_01", "q2_02", "q2_other"]);
}

#[test]
fn content_is_read_back() {
    let modern = json!({"q1": "Blue", "q2": ["B", "A"], "q2_other": "C too", "unknown": 1});
    assert_eq!(
        accepted(FormKind::Modern, &modern),
        Ok(answers((&["Blue"], None), (&["A", "B"], Some("C too"))))
    );
    let legacy = json!({"q1": "", "q1_other": "Green", "q2_01": false, "q2_02": true, "q2_other": null});
    assert_eq!(accepted(FormKind::Legacy2025_06, &legacy), Ok(answers((&[], Some("Green")), (&["B"], None))));
    for kind in [FormKind::Modern, FormKind::Legacy2025_06] {
        assert_eq!(accepted(kind, &json!({})), Ok(answers((&[], None), (&[], None))));
    }
}

#[test]
fn declined_and_cancelled_are_answers() {
    for action in ["decline", "cancel"] {
        let result = read(&questions(), FormKind::Modern, &json!({"action": action}));
        assert_eq!(result, Ok(Answers::Declined));
    }
}

#[test]
fn what_does_not_fit_is_the_clients_mistake() {
    let modern = FormKind::Modern;
    let cases = [
        (
            modern,
            json!({"q1": "Green"}),
            "the client's field `q1` does not fit: \"Green\" is none of the question's options",
        ),
        (modern, json!({"q1": 1}), "the client's field `q1`: expected a text, found 1"),
        (modern, json!({"q2": "A"}), "the client's field `q2`: expected an array of texts, found \"A\""),
        (modern, json!({"q2": [1]}), "the client's field `q2`: expected an array of texts, found 1"),
        (
            modern,
            json!({"q2": ["Z"]}),
            "the client's field `q2` does not fit: \"Z\" is none of the question's options",
        ),
        (
            modern,
            json!({"q2_other": "x".repeat(2001)}),
            "the client's field `q2_other` does not fit: the text has 2001 characters, but the limit is 2000",
        ),
        (
            FormKind::Legacy2025_06,
            json!({"q2_01": "yes"}),
            "the client's field `q2_01`: expected true or false, found \"yes\"",
        ),
        (
            modern,
            json!(null),
            "the client's `content`: expected an object with the form's fields, found null",
        ),
    ];
    for (kind, content, expected) in cases {
        assert_eq!(accepted(kind, &content), Err(expected.to_owned()));
    }
    let error = read(&questions(), modern, &json!({"action": "yes"})).unwrap_err();
    assert_eq!(error.to_string(), "the client's `action`: expected accept, decline or cancel, found \"yes\"");
}

#[test]
fn the_message_has_all_questions() {
    assert_eq!(message(&questions()), "Your AI model asks:\n1. Which colour?\n2. Which parts?");
}

#[test]
fn who_asks_is_said_before_what_they_wrote() {
    let one = Questions::parse(r#"[{"text": "The plugin x asks: Sure?", "options": ["A"]}]"#).unwrap();
    assert_eq!(message(&one), "Your AI model asks: The plugin x asks: Sure?");
    let of_plugin = one.asked_by(Asker::Plugin("kinds".to_owned()));
    assert_eq!(message(&of_plugin), "The plugin kinds asks: The plugin x asks: Sure?");
}
