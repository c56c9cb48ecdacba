//! Misbehaving guests: each fault ends only its own call.

mod common;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use common::{misbehave, setup};
use parking_lot::Mutex;
use scorpiox_capabilities::Capability::{self, Log, Store};
use scorpiox_capabilities::setup::Setup;
use scorpiox_executor::{Cancel, Reason};
use scorpiox_runtime::bindings::any_tool::exports::scorpiox::tool::tool::ToolError;
use scorpiox_runtime::bindings::any_tool::scorpiox::tool::types::Content;
use scorpiox_runtime::{Component, Fault, Limits, Runtime, Ticker};
use tempfile::TempDir;

/// A runtime with the same epoch ticker as the server.
struct Bench {
    runtime: Arc<Runtime>,
    ticker: Arc<Ticker>,
    component: Component,
    folder: TempDir,
    /// Tick at which the ticker sets a cancellation flag.
    cancel_at: Arc<Mutex<Option<(u64, Cancel)>>>,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        Self::with(&[Store, Log], limits)
    }

    fn with(grants: &'static [Capability], limits: Limits) -> Self {
        let runtime = Arc::new(Runtime::default());
        let cancel_at = Arc::new(Mutex::new(None::<(u64, Cancel)>));
        let ticker = Ticker::new({
            let (runtime, cancel_at) = (Arc::clone(&runtime), Arc::clone(&cancel_at));
            Box::new(move |beat: scorpiox_runtime::Beat| {
                runtime.tick();
                if let Some((_, cancel)) = cancel_at.lock().as_ref().filter(|(at, _)| *at == beat.tick) {
                    cancel.set(Reason::Client);
                }
            })
        });
        let folder = tempfile::tempdir().expect("a folder");
        Self { runtime, ticker, component: misbehave(grants, limits), folder, cancel_at }
    }

    fn setup(&self) -> Setup {
        setup(self.folder.path())
    }

    fn call(&self, name: &str, arguments: &str) -> Result<Result<String, ToolError>, Fault> {
        self.call_with(&self.setup(), name, arguments)
    }

    fn call_with(
        &self,
        setup: &Setup,
        name: &str,
        arguments: &str,
    ) -> Result<Result<String, ToolError>, Fault> {
        let _awake = self.ticker.begin();
        let finished = self.runtime.call_tool(&self.component, setup, name, arguments)?;
        Ok(finished.value.map(|result| match &result.content[..] {
            [Content::Text(text)] => text.clone(),
            other => panic!("not one text: {} pieces", other.len()),
        }))
    }

    fn text(&self, name: &str, arguments: &str) -> String {
        self.call(name, arguments).expect("no fault").expect("no tool error")
    }

    fn fault(&self, name: &str, arguments: &str) -> Fault {
        let fault = self.call(name, arguments).expect_err("must fail");
        assert_eq!(self.text("echo", "still works"), "still works");
        fault
    }
}

fn short() -> Limits {
    Limits { cpu: Duration::from_millis(100), ..Limits::default() }
}

#[test]
fn a_guest_that_loops_is_stopped_at_its_deadline() {
    let bench = Bench::new(short());
    bench.text("echo", "load it first");
    let start = Instant::now();
    let fault = bench.fault("loop", "");
    assert!(matches!(fault, Fault::Deadline(_)), "{fault}");
    assert_eq!(fault.to_string(), "the tool used up its 0.1 s of processor time and was stopped");
    assert!(start.elapsed() >= Duration::from_millis(90), "stopped too early");
    assert!(start.elapsed() < Duration::from_secs(2), "stopped after {:?}", start.elapsed());
}

#[test]
fn an_error_that_nothing_catches_is_told_with_the_function_that_gave_it() {
    let bench = Bench::new(Limits::default());
    let failed = |key: &str| bench.fault("uncaught", key).failed().map(str::to_owned);
    let told = failed(&"k".repeat(5000)).expect("the store refused it");
    assert!(told.starts_with("scorpiox:tool/store.set had returned too-large("), "{told}");
    assert_eq!(bench.text("uncaught", "key"), "stored");
    // Nothing is told about a fault without such an error.
    assert_eq!(bench.fault("trap", "").failed(), None);
}

#[test]
fn a_guest_that_is_cancelled_stops_within_two_ticks() {
    let bench = Bench::new(Limits::default());
    bench.text("echo", "load it first");
    // A busy machine can delay the guest's thread by some ticks, but not in every attempt.
    let late: Vec<_> =
        (0..20).map(|_| ticks_until_cancelled(&bench)).take_while(|ticks| *ticks > 3).collect();
    assert!(late.len() < 20, "stopped so many ticks after it was cancelled: {late:?}");
}

/// Returns the number of ticks that a looping guest continues after its cancellation, plus a tick for
/// scheduling.
fn ticks_until_cancelled(bench: &Bench) -> u64 {
    let setup = bench.setup();
    let at = bench.ticker.now() + 10;
    *bench.cancel_at.lock() = Some((at, setup.cancel.clone()));
    let fault = bench.call_with(&setup, "loop", "").expect_err("cancelled");
    let ended = bench.ticker.now();
    assert!(matches!(fault, Fault::Cancelled(Reason::Client)), "{fault}");
    ended.checked_sub(at).expect("not before it was cancelled")
}

#[test]
fn a_guest_that_allocates_without_end_hits_its_memory_cap() {
    let bench = Bench::new(Limits { memory_bytes: 16 * 1024 * 1024, ..Limits::default() });
    let fault = bench.fault("allocate", "");
    assert_eq!(fault.to_string(), "the tool used up its 16 MiB of memory and was stopped");
}

#[test]
fn a_guest_that_recurses_without_end_is_stopped() {
    let bench = Bench::new(Limits::default());
    let fault = bench.fault("recurse", "");
    assert!(matches!(fault, Fault::Stack | Fault::Trap(_)), "{fault:?}");
}

#[test]
fn a_guest_that_ends_itself_ends_one_call() {
    let bench = Bench::new(Limits::default());
    for name in ["trap", "panic"] {
        let fault = bench.fault(name, "");
        assert!(matches!(fault, Fault::Trap(_)), "{name}: {fault:?}");
    }
}

#[test]
fn a_result_of_100_mb_is_refused() {
    let bench = Bench::new(Limits { memory_bytes: 256 * 1024 * 1024, ..Limits::default() });
    assert_eq!(bench.text("output", "1048576").len(), 1_048_576, "the cap itself is allowed");
    let fault = bench.fault("output", "1048577");
    assert!(matches!(fault, Fault::Output { size: 1_048_577, limit: 1_048_576, set_by: None }), "{fault:?}");
    let fault = bench.fault("output", "100000000");
    assert!(matches!(fault, Fault::Output { .. } | Fault::Memory(_) | Fault::Trap(_)), "{fault:?}");
}

#[test]
fn what_a_failed_call_stored_is_rolled_back() {
    let bench = Bench::new(short());
    assert!(matches!(bench.fault("store-then-trap", ""), Fault::Trap(_)));
    assert!(matches!(bench.fault("store-then-loop", ""), Fault::Deadline(_)));
    assert!(bench.call("store-then-fail", "").expect("no fault").is_err());
    for key in ["trap", "loop", "fail"] {
        assert_eq!(bench.text("get", key), "nothing");
    }
    bench.text("set", "kept");
    assert_eq!(bench.text("get", "key"), "kept");
}

#[test]
fn a_result_over_its_cap_keeps_nothing_either() {
    let bench = Bench::new(Limits { output_bytes: 3, ..Limits::default() });
    assert!(matches!(bench.call("set", "x"), Err(Fault::Output { .. })));
    assert_eq!(
        bench.call("get", "key").expect_err("seven letters").to_string(),
        "the tool's result has 7 bytes; at most 3 are allowed"
    );
}

#[test]
fn a_store_over_its_quota_is_refused_and_stays_as_it_was() {
    let bench = Bench::new(Limits { store_bytes: 1_000_000, ..Limits::default() });
    match bench.call("fill-store", "").expect("no fault") {
        Err(ToolError::Failed(text)) => {
            assert!(text.starts_with("Error::QuotaExceeded(1000000) after 9"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.text("get", "fill/0"), "nothing");
}

#[test]
fn nothing_is_left_of_one_call_for_the_next() {
    let bench = Bench::new(Limits::default());
    for _ in 0..5 {
        assert_eq!(bench.text("remember", ""), "1");
    }
}

#[test]
fn a_guest_cannot_flood_the_log() {
    let bench = Bench::new(Limits::default());
    assert_eq!(bench.text("log", ""), "logged");
}

#[test]
fn a_component_that_imports_more_than_it_was_granted_does_not_start() {
    let bench = Bench::with(&[Store], Limits::default());
    let fault = bench.call("echo", "x").expect_err("must not start");
    assert!(matches!(&fault, Fault::Unusable(why) if why.contains("scorpiox:tool/log")), "{fault}");
}

#[test]
fn calls_that_write_at_the_same_time_all_count() {
    let bench = Bench::new(Limits::default());
    bench.text("increment", "");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    bench.text("increment", "");
                }
            });
        }
    });
    assert_eq!(bench.text("get", "counter"), "201");
}

#[test]
fn more_calls_than_the_pool_has_places_are_faults_and_not_crashes() {
    let bench = Bench::new(Limits { cpu: Duration::from_millis(30), ..Limits::default() });
    bench.text("echo", "load it first");
    let outcomes: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> = (0..100).map(|_| scope.spawn(|| bench.call("loop", ""))).collect();
        calls.into_iter().map(|call| call.join().expect("no panic")).collect()
    });
    assert!(outcomes.iter().all(Result::is_err));
    assert_eq!(bench.text("echo", "still works"), "still works");
}
