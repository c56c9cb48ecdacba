#![allow(clippy::needless_pass_by_value)] // call sites create the JSON inline

use serde_json::{Value, json};

use super::*;

fn form(properties: Value, required: &[&str]) -> Result<Fields, FieldsError> {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Fields::parse(&schema.to_string())
}

fn accepted(form: &Fields, content: Value) -> Result<Value, String> {
    match form.filled(&json!({ "action": "accept", "content": content })) {
        Ok(Filled::Accepted(content)) => Ok(Value::Object(content)),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn each_kind_of_field_takes_what_it_says() {
    let form = form(
        json!({
            "name": { "type": "string", "minLength": 1, "maxLength": 5 },
            "age": { "type": "integer", "minimum": 0, "maximum": 150, "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "sure": { "type": "boolean", "default": true },
            "size": { "type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"], "default": "m" },
            "hue": { "type": "string", "oneOf": [{ "const": "r", "title": "Red" }] },
            "days": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string", "enum": ["mo", "tu", "we"] } },
            "more": { "type": "array", "items": { "anyOf": [{ "const": "x", "title": "X" }] } },
        }),
        &["name"],
    )
    .expect("a form");
    let whole = json!({ "name": "Ann", "age": 7.0, "score": 1, "sure": false, "size": "s", "hue": "r", "days": ["mo", "we"], "more": [] });
    assert_eq!(accepted(&form, whole.clone()), Ok(whole));
    assert_eq!(
        accepted(&form, json!({ "name": "Ann", "other": 1, "age": null })),
        Ok(json!({ "name": "Ann" }))
    );
    for (name, value) in [
        ("name", json!(12345)),
        ("name", json!("")),
        ("name", json!("Anneliese")),
        ("age", json!(1.5)),
        ("age", json!(-1)),
        ("age", json!("7")),
        ("sure", json!("yes")),
        ("size", json!("xl")),
        ("hue", json!("Red")),
        ("days", json!([])),
        ("days", json!(["mo", "tu", "we"])),
        ("days", json!(["mo", "mo"])),
        ("days", json!(["su"])),
        ("days", json!("mo")),
    ] {
        let mut content = json!({ "name": "Ann" });
        content[name] = value;
        let error = accepted(&form, content).expect_err("refused");
        assert_eq!(error, format!("{name} has a value that the form does not take"));
    }
    assert_eq!(accepted(&form, json!({})), Err("name is missing".to_owned()));
}

#[test]
fn what_the_person_did_is_one_of_three_things() {
    let form = form(json!({ "a": { "type": "string" } }), &[]).expect("a form");
    assert_eq!(form.filled(&json!({ "action": "decline" })), Ok(Filled::Declined));
    assert_eq!(form.filled(&json!({ "action": "cancel" })), Ok(Filled::Dismissed));
    for answer in [json!(12345), json!(null), json!({}), json!({ "action": "accept" }), json!([])] {
        assert!(form.filled(&answer).is_err(), "{answer}");
    }
    let long = json!({ "action": "accept", "content": { "a": "x".repeat(40_000) } });
    assert!(form.filled(&long).expect_err("refused").to_string().contains("the limit is 32768"));
}

#[test]
fn a_schema_has_nothing_that_clients_do_not_know() {
    let error = |properties: Value| form(properties, &[]).expect_err("refused").to_string();
    assert!(error(json!({})).contains("give 1 to 20"));
    assert!(error(json!({ "a b": { "type": "string" } })).contains("is no name of a field"));
    assert!(error(json!({ "a": { "type": "object" } })).contains("none of string, number"));
    assert!(error(json!({ "a": { "type": "string", "pattern": "x" } })).contains("has \"pattern\""));
    assert!(error(json!({ "a": { "type": "string", "enum": [] } })).contains("give 1 to 100"));
    assert!(
        error(json!({ "a": { "type": "string", "enum": ["x"], "enumNames": [] } })).contains("give 1 to 100")
    );
    assert!(error(json!({ "a": { "type": "integer", "default": "x" } })).contains("the default of a"));
    assert!(error(json!({ "a": { "type": "string", "title": "x\u{202e}y" } })).contains("u{202e}"));
    assert!(error(json!({ "a": { "type": "string", "format": "password" } })).contains("the format of a"));
    assert!(form(json!({ "a": { "type": "string" } }), &["b"]).is_err());
    for broken in ["", "[]", "{}", r#"{"type":"array"}"#, r#"{"type":"object","properties":{},"x":1}"#] {
        assert!(Fields::parse(broken).is_err(), "{broken}");
    }
    assert!(Fields::parse(&" ".repeat(20_000)).is_err());
}

#[test]
fn newer_fields_are_for_newer_revisions() {
    let older = form(json!({ "a": { "type": "string", "enum": ["x"] } }), &[]).expect("a form");
    let newer = form(json!({ "a": { "type": "array", "items": { "enum": ["x"] } } }), &[]).expect("a form");
    assert!(!older.needs_choices());
    assert!(newer.needs_choices());
}
