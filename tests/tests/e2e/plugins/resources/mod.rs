//! Tests of a plugin's resources: created by one call, used by the next, and private to one client.

mod ended;
mod outside;

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::{guest, install, listed, refused, source, with};

fn holder(program: Program, manifest: &str) -> (Program, Started) {
    with(program, "holder", &format!("[capabilities.store]\nwhy = \"keeps notes\"\n{manifest}"))
}

/// Returns the value of a successful call.
fn given(server: &mut Started, function: &str, arguments: Value) -> Value {
    let result = server.call(&format!("holder.{function}"), arguments);
    assert_ne!(result["isError"], true, "{function}: {result}");
    result["structuredContent"]["result"].clone()
}

/// Returns the error of a failed call.
fn error(server: &mut Started, function: &str, arguments: Value) -> String {
    refused(&server.call(&format!("holder.{function}"), arguments)).to_owned()
}

fn counter(server: &mut Started, start: u32) -> String {
    given(server, "counters.counter.new", json!({ "start": start })).as_str().expect("a handle").to_owned()
}

fn add(server: &mut Started, counter: &str, n: u32) -> Value {
    server.call("holder.counters.counter.add", json!({ "self": counter, "n": n }))
}

#[test]
fn constructors_methods_and_drops_are_tools() {
    let (program, mut server) = holder(Program::new(), "");
    let names = listed(&mut server);
    for name in
        ["counter.new", "counter.add", "counter.merge", "counter.drop", "label.drop", "consume", "many"]
    {
        let name = format!("holder.counters.{name}");
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    let list = server.ask("tools/list", json!({}));
    let of = |name: &str| {
        let tools = list["result"]["tools"].as_array().expect("tools");
        tools.iter().find(|tool| tool["name"] == name).expect("the tool").clone()
    };
    let method = of("holder.counters.counter.add");
    assert_eq!(method["inputSchema"]["required"], json!(["self", "n"]));
    assert_eq!(method["inputSchema"]["properties"]["self"]["pattern"], "^counter-[0-9]+$");
    assert_eq!(method["description"], "");
    let dropping = of("holder.counters.counter.drop");
    assert_eq!(dropping["description"], "Lets go of a resource. Its handle is gone afterwards.");
    let (_, shown, _) = program.run(&["plugin", "show", "holder"]);
    assert!(shown.contains("counters.counter.new") && !shown.contains("cannot be a tool"), "{shown}");
    let (_, inspected, _) = program.run(&["plugin", "inspect", &guest("holder").display().to_string()]);
    let names = |text: &str| {
        let of =
            |row: &str| row.trim_start().split([':', ' ']).next().unwrap_or_default().replace("holder.", "");
        let rows = text.lines().filter(|row| row.starts_with("  ") && !row.starts_with("   ")).map(of);
        rows.filter(|name| name.contains("counters.")).collect::<Vec<_>>()
    };
    let added = names(&shown);
    assert!(added.len() > 3 && added == names(&inspected), "{shown}\n{inspected}");
    for part in [
        "counters.counter.new\n    | func(start: u32) -> counter",
        "counters.counter.drop\n    | func(self: counter)",
    ] {
        assert!(inspected.contains(part), "{part}: {inspected}");
    }
    assert!(!inspected.contains("cannot be a tool"), "{inspected}");
}

#[test]
fn a_resource_lives_from_call_to_call() {
    let (_program, mut server) = holder(Program::new(), "");
    let made = server.call("holder.counters.counter.new", json!({ "start": 40 }));
    assert_eq!(made["structuredContent"], json!({ "result": "counter-1" }));
    assert_eq!(made["content"][0]["text"], "counter-1");
    assert_eq!(add(&mut server, "counter-1", 1)["structuredContent"], json!({ "result": 41 }));
    assert_eq!(counter(&mut server, 1), "counter-2");
    let both = json!({ "a": "counter-1", "b": "counter-2" });
    assert_eq!(given(&mut server, "counters.counter.merge", both.clone()), "counter-3");
    assert_eq!(given(&mut server, "counters.counter.merge", both), "counter-4", "what is borrowed stays");
    assert_eq!(given(&mut server, "counters.consume", json!({ "value": "counter-4" })), 42);
    let gone = "There is no counter-4 any more: it was let go of, or a call took it; \
                holder.counters.counter.new makes another one.";
    assert_eq!(refused(&add(&mut server, "counter-4", 1)), gone);
    let many = given(&mut server, "counters.many", json!({ "count": 2 }));
    assert_eq!(many, json!(["counter-5", "counter-6"]));
    // A function that uses no resources runs in a new instance.
    assert_eq!(given(&mut server, "counters.counter.alive", json!({})), 0);
    let none = add(&mut server, "counter-99", 1);
    assert_eq!(refused(&none), "There is no counter-99; holder.counters.counter.new makes another one.");
    let wrong = add(&mut server, "the first", 1);
    assert_eq!(refused(&wrong), "self: expected a handle such as \"counter-1\", found \"the first\".");
}

#[test]
fn a_component_without_wasi_keeps_resources_too() {
    let (_program, mut server) = super::with_kinds("");
    let thing = server.call("kinds.handles.thing.new", json!({}));
    assert_eq!(thing["structuredContent"]["result"], "thing-1");
    assert_eq!(server.text("kinds.handles.take", json!({ "value": "thing-1" })), "Done.");
    let again = server.call("kinds.handles.take", json!({ "value": "thing-1" }));
    assert!(refused(&again).starts_with("There is no thing-1 any more"), "{again}");
}

#[test]
fn errors_name_tools_as_the_client_knows_them() {
    let manifest = "[tools.\"counters.counter.new\"]\nrename = \"count\"\n";
    let (_program, mut server) = holder(Program::new(), manifest);
    let none = add(&mut server, "counter-1", 1);
    assert_eq!(refused(&none), "There is no counter-1; holder.count makes another one.");
    let made = server.call("holder.count", json!({ "start": 1 }));
    assert_eq!(made["structuredContent"]["result"], "counter-1");
}

#[test]
fn a_plugin_has_no_handles_of_another() {
    let (program, mut server) = holder(Program::new(), "");
    let bytes = std::fs::read(guest("holder")).expect("the component");
    let manifest = "[capabilities.store]\nwhy = \"keeps notes\"\n";
    install(&program, &source(&program, "other", manifest, &bytes));
    assert_eq!(counter(&mut server, 7), "counter-1");
    let none = server.call("other.counters.counter.add", json!({ "self": "counter-1", "n": 1 }));
    assert!(refused(&none).starts_with("There is no counter-1; other.counters.counter.new"), "{none}");
    let own = server.call("other.counters.counter.new", json!({ "start": 100 }));
    assert_eq!(own["structuredContent"]["result"], "counter-1", "each plugin counts for itself");
    assert_eq!(add(&mut server, "counter-1", 1)["structuredContent"]["result"], 8);
}

#[test]
fn two_clients_have_nothing_of_each_other() {
    let (program, mut server) = holder(Program::new(), "");
    let mut other = program.start();
    other.initialize("2025-11-25");
    assert_eq!(counter(&mut server, 7), "counter-1");
    let none = add(&mut other, "counter-1", 1);
    assert!(refused(&none).starts_with("There is no counter-1;"), "{none}");
}
