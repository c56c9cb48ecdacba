use super::*;
use crate::definition;
use serde_json::json;

/// Checks types, members, enumerations and array items, which are the features that the schema uses.
#[track_caller]
pub(super) fn assert_conforms(value: &Value) {
    let schema: Value = serde_json::from_str(definition().output_schema.expect("schema")).expect("JSON");
    check(&schema, value, "result");
}

#[track_caller]
fn check(schema: &Value, value: &Value, at: &str) {
    let one = [schema["type"].clone()];
    let types = schema["type"].as_array().map_or(&one[..], Vec::as_slice);
    assert!(types.iter().any(|name| is(name, value)), "{at} is {value}, not {types:?}");
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{at} is {value}");
    }
    if let (Some(members), Some(object)) = (schema["properties"].as_object(), value.as_object()) {
        assert!(object.keys().all(|name| members.contains_key(name)), "{at} has a member too many");
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(object.contains_key(name.as_str().expect("name")), "{at} lacks {name}");
        }
        for (name, member) in members {
            check(member, &value[name.as_str()], &format!("{at}.{name}"));
        }
    }
    for item in value.as_array().into_iter().flatten() {
        check(&schema["items"], item, &format!("{at}[]"));
    }
}

fn is(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("no test for {other}"),
    }
}

#[test]
#[should_panic(expected = "result.engines[].status is \"fine\"")]
fn the_check_of_results_can_fail() {
    let engine = json!({"name": "bing", "status": "fine", "results": 0, "duration_ms": 0, "message": null});
    assert_conforms(&json!({"query": "x", "results": [], "engines": [engine]}));
}

#[test]
fn the_definition_is_what_the_public_document_promises() {
    let definition = definition();
    assert_eq!(definition.name, "WebSearch");
    assert_eq!(definition.title, "Search the web");
    assert_eq!(definition.description, "Search the web using 11 engines concurrently");
    let schema: Value = serde_json::from_str(definition.input_schema).expect("JSON");
    let promised = json!({
        "type": "object",
        "properties": {"query": {"type": "string", "description": "The search query"}},
        "required": ["query"]
    });
    assert_eq!(schema, promised);
    let hints = definition.hints;
    assert_eq!(
        [hints.read_only, hints.destructive, hints.idempotent, hints.open_world],
        [true, false, true, true]
    );
}
