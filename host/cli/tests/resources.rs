//! Resources of a component between calls: their owner, their lifetime, and the events that end them.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{guest, setup};
use scorpiox_capabilities::Capability::Store;
use scorpiox_capabilities::setup::{SessionId, Setup};
use scorpiox_executor::{Cancel, Reason};
use scorpiox_runtime::bindings::any_tool::exports::scorpiox::tool::tool::ToolError;
use scorpiox_runtime::bindings::any_tool::scorpiox::tool::types::Content;
use scorpiox_runtime::{Component, Fault, IDLE, Limits, MAX_HANDLES, MAX_KEPT, Runtime, Ticker};
use scorpiox_wasi::secrets::Secrets;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A runtime with the test component that exports resources.
struct Bench {
    runtime: Arc<Runtime>,
    ticker: Arc<Ticker>,
    component: Component,
    folder: TempDir,
}

/// A client's session with the runtime.
#[derive(Clone)]
struct Client {
    setup: Setup,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        let runtime = Arc::new(Runtime::default());
        let ticker = Ticker::new({
            let runtime = Arc::clone(&runtime);
            Box::new(move |_| runtime.tick())
        });
        let folder = tempfile::tempdir().expect("a folder");
        Self { runtime, ticker, component: holder(limits), folder }
    }

    fn client(&self) -> Client {
        Client { setup: Setup { session: Some(SessionId::unique()), ..setup(self.folder.path()) } }
    }

    fn call_of(
        &self,
        component: &Component,
        client: &Client,
        name: &str,
        arguments: &Value,
    ) -> Result<Result<String, ToolError>, Fault> {
        let _awake = self.ticker.begin();
        let finished = self.runtime.call_tool(component, &client.setup, name, &arguments.to_string())?;
        Ok(finished.value.map(|result| match &result.content[..] {
            [Content::Text(text)] => text.clone(),
            other => panic!("not one text: {} pieces", other.len()),
        }))
    }

    fn call(
        &self,
        client: &Client,
        name: &str,
        arguments: &Value,
    ) -> Result<Result<String, ToolError>, Fault> {
        self.call_of(&self.component, client, name, arguments)
    }

    fn text(&self, client: &Client, name: &str, arguments: &Value) -> String {
        self.call(client, name, arguments).expect("no fault").expect("no tool error")
    }

    fn counter(&self, client: &Client, start: u32) -> String {
        self.text(client, "counters.counter.new", &json!({ "start": start }))
    }

    fn add(&self, client: &Client, counter: &str, n: u32) -> Result<String, String> {
        let added = self.call(client, "counters.counter.add", &json!({ "self": counter, "n": n }));
        added.expect("no fault").map_err(sentence)
    }
}

/// Returns the component, with the names that a plugin gives its tools.
fn holder(limits: Limits) -> Component {
    let mut component = guest("holder", &[Store], limits);
    let names = ["counters.counter.new", "counters.many", "trouble.thing.new"];
    component.listed = names.map(|name| (name.to_owned(), format!("holder.{name}"))).into();
    component
}

fn sentence(error: ToolError) -> String {
    match error {
        ToolError::NotFound(text) | ToolError::InvalidInput(text) | ToolError::Failed(text) => text,
        other => panic!("another error: {other:?}"),
    }
}

const ANOTHER: &str = "holder.counters.counter.new makes another one.";

#[test]
fn what_a_resource_has_is_there_in_the_next_call() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let (a, b) = (bench.counter(&client, 40), bench.counter(&client, 1));
    assert_eq!((&*a, &*b), ("counter-1", "counter-2"));
    assert_eq!(bench.add(&client, &a, 1), Ok("41".to_owned()));
    assert_eq!(bench.add(&client, &a, 1), Ok("42".to_owned()));
    assert_eq!(bench.add(&client, &b, 1), Ok("2".to_owned()));
    let both = bench.text(&client, "counters.counter.merge", &json!({ "a": a, "b": b }));
    assert_eq!(both, "counter-3");
    assert_eq!(bench.add(&client, &both, 0), Ok("44".to_owned()));
    // A call without a handle runs in a new instance, and shares nothing with the first.
    assert_eq!(bench.text(&client, "counters.counter.alive", &json!({})), "0");
}

#[test]
fn a_session_knows_nothing_of_anothers_resources() {
    let bench = Bench::new(Limits::default());
    let (one, other) = (bench.client(), bench.client());
    let counter = bench.counter(&one, 1);
    let unknown =
        |text: Result<String, String>| assert_eq!(text, Err(format!("There is no counter-1; {ANOTHER}")));
    unknown(bench.add(&other, &counter, 1));
    let own = bench.counter(&other, 100);
    assert_eq!(own, counter, "each counts for itself");
    assert_eq!(bench.add(&other, &own, 1), Ok("101".to_owned()));
    assert_eq!(bench.add(&one, &counter, 1), Ok("2".to_owned()));
    bench.runtime.end_session(one.setup.session.expect("a session"));
    unknown(bench.add(&one, &counter, 1));
    assert_eq!(bench.add(&other, &own, 1), Ok("102".to_owned()));
}

#[test]
fn a_call_of_no_session_keeps_nothing() {
    let bench = Bench::new(Limits::default());
    let nobody = Client { setup: setup(bench.folder.path()) };
    let fault = bench.call(&nobody, "counters.counter.new", &json!({ "start": 1 })).expect_err("a fault");
    assert!(fault.to_string().contains("keeps resources for a client"), "{fault}");
}

#[test]
fn an_idle_instance_ends_and_says_so() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let counter = bench.counter(&client, 1);
    let soon = Instant::now() + IDLE.saturating_sub(Duration::from_mins(1));
    assert!(bench.runtime.end_idle(soon), "it may be called yet");
    assert_eq!(bench.add(&client, &counter, 1), Ok("2".to_owned()));
    assert!(!bench.runtime.end_idle(Instant::now() + IDLE), "nothing is left");
    let gone = "There is no counter-1 any more: its instance ended after 10 minutes without a call";
    assert_eq!(bench.add(&client, &counter, 1), Err(format!("{gone}; {ANOTHER}")));
    // Handles are never reused.
    assert_eq!(bench.counter(&client, 7), "counter-2");
    assert_eq!(bench.add(&client, &counter, 1), Err(format!("{gone}; {ANOTHER}")));
}

#[test]
fn the_instance_that_was_used_longest_ago_makes_room() {
    let bench = Bench::new(Limits::default());
    let clients: Vec<_> = (0..=MAX_KEPT).map(|_| bench.client()).collect();
    let (last, first) = clients.split_last().expect("clients");
    for client in first {
        bench.counter(client, 1);
    }
    // The first instance was used after the second.
    assert_eq!(bench.add(&first[0], "counter-1", 1), Ok("2".to_owned()));
    bench.counter(last, 1);
    let room =
        "There is no counter-1 any more: its instance ended to make room for another one; at most 4 are kept";
    assert_eq!(bench.add(&first[1], "counter-1", 1), Err(format!("{room}; {ANOTHER}")));
    for client in [&first[0], &first[2], &first[3], last] {
        assert!(bench.add(client, "counter-1", 1).is_ok());
    }
}

#[test]
fn an_instance_ends_with_its_component() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let (before, after) = (holder(Limits::default()), holder(Limits::default()));
    let made = bench.call_of(&before, &client, "counters.counter.new", &json!({ "start": 1 }));
    assert_eq!(made.expect("no fault").expect("a result"), "counter-1");
    let add = |component: &Component| {
        let added = bench.call_of(
            component,
            &client,
            "counters.counter.add",
            &json!({ "self": "counter-1", "n": 1 }),
        );
        added.expect("no fault").map_err(sentence)
    };
    let gone = "There is no counter-1 any more: its instance ended when the plugin or the policy was changed, or a person decided about the plugin again";
    // A new approval creates another component, while calls of the old one may still arrive.
    assert_eq!(add(&after), Err(format!("{gone}; {ANOTHER}")));
    assert_eq!(add(&before), Err(format!("{gone}; {ANOTHER}")));
    let made = bench.call_of(&after, &client, "counters.counter.new", &json!({ "start": 1 }));
    assert_eq!(made.expect("no fault").expect("a result"), "counter-2");
    // A denied plugin is never called again, so nothing is retained for it.
    drop(after);
    assert!(!bench.runtime.end_idle(Instant::now()), "nothing is left");
}

#[test]
fn what_it_may_do_does_not_change_under_an_instance() {
    let mut bench = Bench::new(Limits::default());
    let mut client = bench.client();
    bench.counter(&client, 1);
    client.setup.read_only = true;
    let plan = "There is no counter-1 any more: its instance ended when a plan began or ended, which changes what it may do";
    assert_eq!(bench.add(&client, "counter-1", 1), Err(format!("{plan}; {ANOTHER}")));

    let version = Arc::new(AtomicU32::new(1));
    let read = Arc::clone(&version);
    bench.component.secrets = Some(Box::new(move || {
        let values = vec![("KEY".to_owned(), read.load(Ordering::SeqCst).to_string())];
        Ok(Secrets { values, ..Secrets::default() })
    }));
    assert_eq!(bench.counter(&client, 1), "counter-2");
    assert_eq!(bench.add(&client, "counter-2", 1), Ok("2".to_owned()));
    version.store(2, Ordering::SeqCst);
    let changed = "There is no counter-2 any more: its instance ended when its secrets were changed";
    assert_eq!(bench.add(&client, "counter-2", 1), Err(format!("{changed}; {ANOTHER}")));
}

#[test]
fn a_handle_is_used_once_where_it_is_taken() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let (a, b) = (bench.counter(&client, 1), bench.counter(&client, 2));
    let twice = bench.call(&client, "counters.both", &json!({ "taken": a, "seen": a })).expect("no fault");
    assert_eq!(
        twice.map_err(sentence),
        Err("counter-1 is given twice, and this call takes it; it can be given once.".to_owned())
    );
    assert_eq!(bench.text(&client, "counters.both", &json!({ "taken": a, "seen": b })), "3");
    let gone = format!("There is no counter-1 any more: it was let go of, or a call took it; {ANOTHER}");
    assert_eq!(bench.add(&client, &a, 1), Err(gone));
    assert_eq!(bench.text(&client, "counters.counter.drop", &json!({ "self": b })), "Done.");
    let again = bench.call(&client, "counters.counter.drop", &json!({ "self": b })).expect("no fault");
    assert!(again.map_err(sentence).expect_err("gone").starts_with("There is no counter-2 any more"));
}

#[test]
fn a_handle_of_another_kind_is_none() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    bench.counter(&client, 1);
    let label = bench.text(&client, "counters.label.new", &json!({ "text": "a" }));
    assert_eq!(label, "label-2");
    for (written, expected) in [
        ("label-2", "self: expected a handle such as \"counter-1\", found \"label-2\"."),
        ("counter-2", "There is no counter-2; holder.counters.counter.new makes another one."),
        ("counter-0", "There is no counter-0; holder.counters.counter.new makes another one."),
        (
            "counter-18446744073709551615",
            "There is no counter-18446744073709551615; holder.counters.counter.new makes another one.",
        ),
    ] {
        assert_eq!(bench.add(&client, written, 1), Err(expected.to_owned()));
    }
    assert_eq!(bench.text(&client, "counters.label.text", &json!({ "self": label })), "a");
}

#[test]
fn handles_are_bounded_and_nothing_is_lost_at_the_bound() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let first = bench.counter(&client, 5);
    let most = u32::try_from(MAX_HANDLES).expect("few");
    let many = |count: u32| {
        let given = bench.call(&client, "counters.many", &json!({ "count": count })).expect("no fault");
        given.map_err(sentence)
    };
    let error = many(most).expect_err("one too many");
    assert_eq!(
        error,
        "counters.many gave 64 resources, and there is room for 63: at most 64 of a plugin are kept. They were let go of."
    );
    assert_eq!(bench.add(&client, &first, 0), Ok("5".to_owned()), "nothing is lost");
    many(most - 1).expect("as many as there may be");
    let full = bench.call(&client, "counters.counter.new", &json!({ "start": 1 })).expect("no fault");
    assert!(
        full.map_err(sentence)
            .expect_err("full")
            .starts_with("64 resources of this plugin are kept, which is the limit")
    );
    assert_eq!(bench.add(&client, &first, 1), Ok("6".to_owned()));
    // A new handle in exchange for another.
    let label =
        bench.call(&client, "counters.turn-into-label", &json!({ "value": first })).expect("no fault");
    assert!(label.expect("a label").starts_with("label-"));
}

#[test]
fn an_error_of_the_function_leaves_the_instance_and_what_it_took_is_taken() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let (a, b) = (bench.counter(&client, 0), bench.counter(&client, 3));
    let refused = bench.call(&client, "counters.refuse", &json!({ "value": a })).expect("no fault");
    assert_eq!(refused.map_err(sentence), Err("not today".to_owned()));
    let refused = bench.call(&client, "counters.turn-into-label", &json!({ "value": a })).expect("no fault");
    assert_eq!(refused.map_err(sentence), Err("0 is no label".to_owned()));
    assert!(bench.add(&client, &a, 1).expect_err("taken").contains("a call took it"));
    let copy = bench.text(&client, "counters.perhaps", &json!({ "value": b }));
    assert_eq!(copy, "counter-3");
    assert_eq!(bench.text(&client, "counters.perhaps", &json!({})), "Done.");
    assert_eq!(bench.add(&client, &copy, 1), Ok("4".to_owned()));
}

#[test]
fn whatever_stops_a_call_ends_the_instance_and_the_next_error_says_what() {
    let limits = Limits {
        cpu: Duration::from_millis(100),
        memory_bytes: 16 << 20,
        output_bytes: 10_000,
        ..Limits::default()
    };
    let bench = Bench::new(limits);
    let client = bench.client();
    let thing = |made: &str, dropped: &str| {
        bench.call(&client, "trouble.thing.new", &json!({ "made": made, "dropped": dropped }))
    };
    let act = |thing: &str, how: &str| {
        bench.call(&client, "trouble.thing.act", &json!({ "self": thing, "how": how }))
    };
    for (how, kind, said) in [
        ("trap", "trap", "the tool failed internally"),
        ("spin", "deadline", "the tool used up its 0.1 s of processor time and was stopped"),
        ("grow", "memory", "the tool used up its 16 MiB of memory and was stopped"),
    ] {
        let counter = bench.counter(&client, 1);
        let made = thing("well", "well").expect("no fault").expect("a thing");
        let fault = act(&made, how).expect_err("it is stopped");
        let text = fault.to_string();
        assert_eq!(fault.kind(), kind);
        assert!(
            text.starts_with(said) && text.ends_with("its resources are lost, and its 2 handles are invalid"),
            "{text}"
        );
        let gone = bench.add(&client, &counter, 1).expect_err("gone");
        let why = format!("its instance ended with a call of trouble.thing.act that had no result ({kind});");
        assert!(gone.contains(&why), "{gone}");
    }
    for how in ["trap", "spin"] {
        // There was no state that could be lost.
        let text = thing(how, "well").expect_err("it is stopped").to_string();
        assert!(!text.contains("handle"), "{text}");
        let made = thing("well", how).expect("no fault").expect("a thing");
        let fault =
            bench.call(&client, "trouble.thing.drop", &json!({ "self": made })).expect_err("it is stopped");
        assert!(fault.to_string().ends_with("its handle is invalid"), "{fault}");
    }
    let counter = bench.counter(&client, 1);
    let long = bench
        .call(&client, "counters.long", &json!({ "value": counter, "bytes": 20_000 }))
        .expect_err("too long");
    assert!(long.to_string().starts_with("the tool's result has "), "{long}");
    assert!(bench.add(&client, &counter, 1).expect_err("gone").contains("had no result (output)"));
    assert_eq!(
        bench.add(&client, &bench.counter(&client, 1), 1),
        Ok("2".to_owned()),
        "another instance works"
    );
}

#[test]
fn memory_and_handles_of_the_component_are_bounded_over_all_calls() {
    let bench = Bench::new(Limits { memory_bytes: 16 << 20, ..Limits::default() });
    let client = bench.client();
    let thing = bench.text(&client, "trouble.thing.new", &json!({ "made": "well", "dropped": "well" }));
    let swell = || bench.call(&client, "trouble.thing.swell", &json!({ "self": thing, "mib": 5 }));
    assert_eq!(swell().expect("no fault").expect("a result"), "5");
    assert_eq!(swell().expect("no fault").expect("a result"), "10");
    assert_eq!(swell().expect_err("16 MiB in all").kind(), "memory");
    let thing = bench.text(&client, "trouble.thing.new", &json!({ "made": "well", "dropped": "well" }));
    let fault = bench.call(&client, "trouble.thing.hoard", &json!({ "self": thing, "count": 1_000_000 }));
    let kind = fault.expect_err("too many").kind();
    assert!(kind == "trap" || kind == "memory", "{kind}");
    let flood = bench.call(&client, "counters.many", &json!({ "count": 1_000_000 }));
    assert!(flood.is_err(), "more than the host keeps for a component");
}

#[test]
fn a_cancelled_call_ends_the_instance_and_one_that_waits_for_it_does_not() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let thing = bench.text(&client, "trouble.thing.new", &json!({ "made": "well", "dropped": "well" }));
    let arguments = json!({ "self": thing, "how": "spin" });
    let of = |cancel: &Cancel| Client { setup: Setup { cancel: cancel.clone(), ..client.setup.clone() } };
    let (spins, waits) = (Cancel::default(), Cancel::default());
    thread::scope(|scope| {
        let spinning = scope.spawn(|| bench.call(&of(&spins), "trouble.thing.act", &arguments));
        // Once the spinning call holds the instance, this call has to wait, and its cancellation ends it.
        waits.set(Reason::Client);
        let patience = Instant::now() + Duration::from_mins(1);
        let fault = loop {
            match bench.call(&of(&waits), "trouble.thing.act", &json!({ "self": "thing-9", "how": "well" })) {
                Err(fault) => break fault,
                Ok(refused) => assert!(refused.is_err() && Instant::now() < patience, "it never began"),
            }
            thread::yield_now();
        };
        assert!(fault.is_cancel() && !fault.loses_resources(), "{fault}");
        spins.set(Reason::Client);
        let fault = spinning.join().expect("no panic").expect_err("cancelled");
        assert!(fault.is_cancel(), "{fault}");
    });
    let gone =
        bench.call(&client, "trouble.thing.act", &json!({ "self": thing, "how": "well" })).expect("no fault");
    let gone = gone.map_err(sentence).expect_err("gone");
    assert!(gone.contains("a call of trouble.thing.act that had no result (cancelled)"), "{gone}");
}

#[test]
fn what_a_call_stores_is_kept_with_its_result_alone() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let notes = bench.text(&client, "outside.notes.new", &json!({}));
    let put = |notes: &str, key: &str, after: &str| {
        let arguments = json!({ "self": notes, "key": key, "value": key, "after": after });
        bench.call(&client, "outside.notes.put", &arguments)
    };
    put(&notes, "kept", "well").expect("no fault").expect("stored");
    put(&notes, "failed", "fail").expect("no fault").expect_err("it fails");
    put(&notes, "trapped", "trap").expect_err("it traps");
    let notes = bench.text(&client, "outside.notes.new", &json!({}));
    let get = |key: &str| bench.text(&client, "outside.notes.get", &json!({ "self": notes, "key": key }));
    assert_eq!(
        (get("kept"), get("failed"), get("trapped")),
        ("kept".to_owned(), "Done.".to_owned(), "Done.".to_owned())
    );
}

#[test]
fn calls_take_turns_at_an_instance() {
    let bench = Bench::new(Limits::default());
    let client = bench.client();
    let counter = bench.counter(&client, 0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    bench.add(&client, &counter, 1).expect("added");
                }
            });
        }
    });
    assert_eq!(bench.add(&client, &counter, 0), Ok("400".to_owned()));
}
