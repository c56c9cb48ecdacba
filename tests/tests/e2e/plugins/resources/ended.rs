//! Tests of events that end a retained instance, and of the resulting errors.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use scorpiox_tests::Program;
use serde_json::json;

use super::super::{guest, hash_of};
use super::{add, counter, error, given, holder, refused, source};

const DECIDED: &str = "its instance ended when the plugin or the policy was changed, or a person decided about the plugin again";

#[test]
fn a_trap_takes_all_handles_with_it_and_says_so() {
    let (_program, mut server) = holder(Program::new(), "");
    let kept = counter(&mut server, 1);
    let thing = given(&mut server, "trouble.thing.new", json!({ "made": "well", "dropped": "well" }));
    let trap = error(&mut server, "trouble.thing.act", json!({ "self": thing, "how": "trap" }));
    assert!(trap.starts_with("holder.trouble.thing.act has no result: the tool failed internally"), "{trap}");
    let lost = "its resources are lost, and its 2 handles are invalid. Data that it stored is rolled back.";
    assert!(trap.contains(lost), "{trap}");
    let gone = add(&mut server, &kept, 1);
    let why = "There is no counter-1 any more: its instance ended with a call of trouble.thing.act that had no result (trap); \
               holder.counters.counter.new makes another one.";
    assert_eq!(refused(&gone), why);
    assert_eq!(counter(&mut server, 1), "counter-3", "no handle ever stands for something else");
    assert_eq!(refused(&add(&mut server, &kept, 1)), why);
}

#[test]
fn what_was_printed_before_is_in_the_error_of_its_own_call_alone() {
    let (_program, mut server) = holder(Program::new(), "");
    let thing = given(&mut server, "trouble.thing.new", json!({ "made": "well", "dropped": "trap" }));
    given(&mut server, "trouble.thing.act", json!({ "self": thing, "how": "print" }));
    let trap = error(&mut server, "trouble.thing.drop", json!({ "self": thing }));
    assert!(trap.contains("its handle is invalid") && !trap.contains("printed by a method"), "{trap}");
}

#[test]
fn processor_time_is_of_each_call() {
    let (_program, mut server) = holder(Program::new(), "[limits]\ncpu_seconds = 1\n");
    for dropped in ["well", "spin"] {
        let kept = counter(&mut server, 1);
        let thing = given(&mut server, "trouble.thing.new", json!({ "made": "well", "dropped": dropped }));
        let (function, arguments) = match dropped {
            "spin" => ("trouble.thing.drop", json!({ "self": thing })),
            _ => ("trouble.thing.act", json!({ "self": thing, "how": "spin" })),
        };
        let spin = error(&mut server, function, arguments);
        assert!(spin.contains("used up its 1 s of processor time"), "{spin}");
        assert!(refused(&add(&mut server, &kept, 1)).contains("(deadline)"));
    }
    let spin = error(&mut server, "trouble.thing.new", json!({ "made": "spin", "dropped": "well" }));
    assert!(spin.contains("used up its 1 s") && !spin.contains("handle"), "{spin}");
}

#[test]
fn a_cancelled_call_ends_it() {
    let (_program, mut server) = holder(Program::new(), "[limits]\ncpu_seconds = 60\n");
    let thing = given(&mut server, "trouble.thing.new", json!({ "made": "well", "dropped": "well" }));
    let params = json!({ "name": "holder.trouble.thing.act", "arguments": { "self": thing, "how": "spin" } });
    let id = server.request("tools/call", params);
    // A later request is not blocked by the running call.
    server.ask("ping", json!({}));
    server.notify("notifications/cancelled", json!({ "requestId": id }));
    // The call is queued if the previous call has not ended yet.
    let arguments = json!({ "self": thing, "how": "well" });
    let after = server.call("holder.trouble.thing.act", arguments);
    let said = after["content"][0]["text"].as_str().expect("a text");
    assert!(said == "Done." || said.contains("had no result (cancelled)"), "{said}");
    assert_eq!(counter(&mut server, 1), "counter-2");
}

#[test]
fn whoever_decides_about_the_plugin_ends_it() {
    let (program, mut server) = holder(Program::new(), "");
    let run = |arguments: &[&str]| {
        let (status, out, err) = program.run(arguments);
        assert!(status.success(), "{arguments:?}: {out}{err}");
    };
    let kept = counter(&mut server, 1);
    run(&["plugin", "deny", "holder"]);
    let params = json!({ "name": "holder.counters.counter.add", "arguments": { "self": kept, "n": 1 } });
    let denied = server.ask("tools/call", params);
    assert!(denied["error"]["message"].as_str().is_some_and(|text| text.contains("was denied")), "{denied}");
    let installed = program.home().join(".scorpiox/plugins/holder").display().to_string();
    let hash = hash_of(&program, &installed);
    run(&["plugin", "approve", "holder", "--yes", &hash]);
    let gone = add(&mut server, &kept, 1);
    assert!(refused(&gone).contains(DECIDED), "{gone}");

    let kept = counter(&mut server, 1);
    let bytes = fs::read(guest("holder")).expect("the component");
    let less =
        source(&program, "holder", "description = \"x\"\n[capabilities.store]\nwhy = \"others\"\n", &bytes);
    run(&["plugin", "add", &less, "--yes", &hash_of(&program, &less)]);
    let gone = add(&mut server, &kept, 1);
    assert!(refused(&gone).contains(DECIDED), "{gone}");
}

#[test]
fn a_changed_secret_ends_it() {
    let (program, mut server) = holder(Program::new(), "[secrets]\nKEY = \"for nothing\"\n");
    let set = |value: &str| {
        let mut command = program.command();
        command
            .args(["plugin", "secret", "set", "holder", "KEY"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("an input").write_all(value.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it ends").success());
    };
    set("one-long-word");
    let kept = counter(&mut server, 1);
    assert_eq!(add(&mut server, &kept, 1)["structuredContent"]["result"], 2);
    set("another-long-word");
    let gone = add(&mut server, &kept, 1);
    assert!(refused(&gone).contains("its instance ended when its secrets were changed"), "{gone}");
}
