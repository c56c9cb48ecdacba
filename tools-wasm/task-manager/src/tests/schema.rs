use super::*;

/// Checks types, required members and array items, which are the features that the schema uses.
#[track_caller]
pub(super) fn assert_conforms(value: &Value) {
    let schema: Value = serde_json::from_str(definition().output_schema.expect("schema")).expect("JSON");
    check(&schema, value, "result");
}

#[track_caller]
fn check(schema: &Value, value: &Value, at: &str) {
    let names = &schema["type"];
    let one = [names.clone()];
    let types = names.as_array().map_or(&one[..], |types| &types[..]);
    assert!(types.iter().any(|name| is(name, value)), "{at} is {value}, not {names}");
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(
            !value[name.as_str().expect("name")].is_null() || nullable(schema, name),
            "{at} lacks {name}"
        );
        assert!(value.as_object().expect("object").contains_key(name.as_str().expect("name")));
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        check(member, &value[name.as_str()], &format!("{at}.{name}"));
    }
    for item in value.as_array().into_iter().flatten() {
        check(&schema["items"], item, &format!("{at}[]"));
    }
}

fn nullable(schema: &Value, name: &Value) -> bool {
    let types = &schema["properties"][name.as_str().expect("name")]["type"];
    types.as_array().is_some_and(|types| types.contains(&json!("null")))
}

fn is(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no test for {other}"),
    }
}

#[test]
#[should_panic(expected = "result.tasks[].id is \"7\"")]
fn the_check_of_results_can_fail() {
    let task = json!({"id": "7", "name": "", "current": true, "completed": false, "steps_total": 0, "steps_done": 0});
    assert_conforms(
        &json!({"current_task_id": 7, "tasks": [task], "steps": [], "total_tasks": 1, "open_tasks": 1, "next": null}),
    );
}

#[test]
fn the_definition_is_what_the_public_document_promises() {
    let definition = definition();
    assert_eq!(definition.name, "TaskManager");
    assert_eq!(definition.title, "Task manager");
    assert_eq!(definition.description, "Manage persistent tasks with create/add/complete");
    let schema: Value = serde_json::from_str(definition.input_schema).expect("JSON");
    let promised = json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "description": "Action: create, add, complete, list, pending, switch"},
            "query": {"type": "string", "description": "The search query"},
            "task_id": {"type": "integer", "description": "Task ID"},
            "step_id": {"type": "integer", "description": "Step ID"},
            "text": {"type": "string", "description": "Task name or step text"}
        },
        "required": ["action", "query"]
    });
    assert_eq!(schema, promised);
    let hints = definition.hints;
    assert_eq!(
        [hints.read_only, hints.destructive, hints.idempotent, hints.open_world],
        [false, true, false, false]
    );
}
