//! Compares a store with the reference model under random interleavings of two transactions.

use std::any::Any;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use scorpiox_executor::Cancel;
use scorpiox_store::{
    Changes, Entry, MemoryStore, Message, Mode, Order, Store, StoreError, Timer, Transaction,
};

/// Small enough to be reached.
const QUOTA: u64 = 60;

/// Operation of one transaction. Written numbers depend on the position of the step, so a value is never
/// replaced by an equal one, which stores may or may not treat as a change.
#[derive(Debug, Clone)]
enum Step {
    Begin(Mode),
    Get(Key),
    Set(Key, usize),
    Delete(Key),
    Increment(Key, i64),
    Scan(&'static str, String, Option<String>, u32, Order),
    Forget(&'static str),
    Arm(&'static str),
    Disarm(&'static str, u32),
    /// Postpones the last timer seen.
    Postpone,
    NextTimer,
    AddMessage(&'static str),
    Messages(&'static str, u32),
    HasMessages,
    TakeMessages(usize),
    Commit,
    RollBack,
}

#[derive(Debug, Clone)]
struct Key(&'static str, String);

/// Result of a step.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Value(Option<Vec<u8>>),
    Sum(i64),
    Sequence(u64),
    Entries(Vec<Entry>),
    Is(bool),
    Timer(Option<Timer>),
    Messages(Vec<Message>),
}

const NAMESPACES: [&str; 2] = ["one", "two"];

fn namespace() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMESPACES[..])
}

/// Generates text from few characters, including ones at which the end of a prefix range is hard to compute.
fn text(length: &str) -> impl Strategy<Value = String> {
    const CHARACTERS: &str = "[ab/\u{7f}\u{d7ff}\u{e000}\u{10ffff}]";
    prop::string::string_regex(&format!("{CHARACTERS}{{{length}}}")).expect("a pattern")
}

fn key() -> impl Strategy<Value = Key> {
    (namespace(), text("1,2")).prop_map(|(namespace, key)| Key(namespace, key))
}

fn scan() -> impl Strategy<Value = Step> {
    let order = prop_oneof![Just(Order::Ascending), Just(Order::Descending)];
    (namespace(), text("0,2"), prop::option::of(text("1,2")), 0u32..8, order).prop_map(
        |(namespace, prefix, after, limit, order)| Step::Scan(namespace, prefix, after, limit, order),
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Begin(Mode::ReadFirst)),
        1 => Just(Step::Begin(Mode::Write)),
        3 => key().prop_map(Step::Get),
        5 => (key(), 0usize..30).prop_map(|(key, padding)| Step::Set(key, padding)),
        2 => key().prop_map(Step::Delete),
        2 => (key(), 1i64..9).prop_map(|(key, delta)| Step::Increment(key, delta)),
        3 => scan(),
        1 => namespace().prop_map(Step::Forget),
        3 => namespace().prop_map(Step::Arm),
        1 => (namespace(), 0u32..2).prop_map(|(namespace, id)| Step::Disarm(namespace, id)),
        1 => Just(Step::Postpone),
        2 => Just(Step::NextTimer),
        2 => namespace().prop_map(Step::AddMessage),
        1 => (namespace(), 0u32..4).prop_map(|(namespace, limit)| Step::Messages(namespace, limit)),
        1 => Just(Step::HasMessages),
        1 => (0usize..40).prop_map(Step::TakeMessages),
        5 => Just(Step::Commit),
        1 => Just(Step::RollBack),
    ]
}

/// Store under test, with its open transactions.
struct Side {
    /// The same workspace, opened twice.
    stores: [Arc<dyn Store>; 2],
    open: [Option<Box<dyn Transaction>>; 2],
    seen: [Timer; 2],
    changes: Box<dyn Changes>,
}

impl Side {
    fn new(stores: [Arc<dyn Store>; 2]) -> Self {
        let nothing = Timer { namespace: NAMESPACES[0].to_owned(), id: 0, due: 0 };
        let changes = stores[0].changes().expect("changes");
        Self { stores, open: [None, None], seen: [nothing.clone(), nothing], changes }
    }

    fn take(&mut self, at: u64, who: usize, step: &Step) -> Result<Outcome, StoreError> {
        let outcome = self.attempt(at, who, step);
        if outcome == Err(StoreError::Conflict) {
            self.open[who] = None;
        }
        outcome
    }

    fn attempt(&mut self, at: u64, who: usize, step: &Step) -> Result<Outcome, StoreError> {
        match step {
            Step::Begin(mode) => {
                // End the previous transaction first, because it may be the writer.
                self.open[who] = None;
                self.open[who] = Some(self.stores[who].try_begin(*mode)?);
                return Ok(Outcome::Done);
            }
            Step::RollBack => {
                self.open[who] = None;
                return Ok(Outcome::Done);
            }
            Step::Commit => {
                return self.open[who].take().map_or(Ok(()), Transaction::commit).map(|()| Outcome::Done);
            }
            _ => {}
        }
        if self.open[who].is_none() {
            self.open[who] = Some(self.stores[who].try_begin(Mode::ReadFirst)?);
        }
        let open = self.open[who].as_mut().expect("open");
        let outcome = on(&mut **open, at, step, &self.seen[who])?;
        if let Outcome::Timer(Some(timer)) = &outcome {
            self.seen[who] = timer.clone();
        }
        Ok(outcome)
    }
}

fn on(open: &mut dyn Transaction, at: u64, step: &Step, seen: &Timer) -> Result<Outcome, StoreError> {
    let done = |()| Outcome::Done;
    match step {
        Step::Get(Key(namespace, key)) => open.get(namespace, key).map(Outcome::Value),
        Step::Set(Key(namespace, key), padding) => {
            // Without padding the value is a counter.
            let value = format!("{}{}", at * 1000, "x".repeat(padding.saturating_sub(15)));
            open.set(namespace, key, value.as_bytes(), QUOTA).map(done)
        }
        Step::Delete(Key(namespace, key)) => open.delete(namespace, key).map(done),
        Step::Increment(Key(namespace, key), delta) => {
            open.increment(namespace, key, *delta, QUOTA).map(Outcome::Sum)
        }
        Step::Scan(namespace, prefix, after, limit, order) => {
            open.scan(namespace, prefix, after.as_deref(), *limit, *order).map(Outcome::Entries)
        }
        Step::Forget(namespace) => open.forget(namespace).map(Outcome::Is),
        // Two consecutive steps use the same due time for different timers.
        Step::Arm(namespace) => open.arm(namespace, u32::from(at % 2 == 1), at / 2 * 10).map(done),
        Step::Disarm(namespace, id) => open.disarm(namespace, *id).map(done),
        Step::Postpone => open.postpone(seen, at * 10 + 5).map(done),
        Step::NextTimer => open.next_timer().map(Outcome::Timer),
        Step::AddMessage(namespace) => {
            open.add_message(namespace, 1, at, &format!("message {at}")).map(Outcome::Sequence)
        }
        Step::Messages(namespace, limit) => open.messages(namespace, *limit).map(Outcome::Messages),
        Step::HasMessages => open.has_messages().map(Outcome::Is),
        Step::TakeMessages(room) => {
            open.take_messages(*room, &|message: &Message| message.text.len()).map(Outcome::Messages)
        }
        Step::Begin(_) | Step::Commit | Step::RollBack => unreachable!("not within a transaction"),
    }
}

/// Returns the complete contents, and checks the remaining quotas.
fn everything(store: &Arc<dyn Store>) -> Vec<Outcome> {
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || {}).expect("a transaction");
    let mut found = Vec::new();
    for namespace in NAMESPACES {
        let entries = transaction.scan(namespace, "", None, 100, Order::Ascending).expect("scan");
        let used: usize = entries.iter().map(|entry| entry.key.len() + entry.value.len()).sum();
        found.push(Outcome::Entries(entries));
        found.push(Outcome::Messages(transaction.messages(namespace, 100).expect("messages")));
        let used = used as u64;
        transaction.set(namespace, "rest", &[0; 6], used + 10).expect("what a quota counts is what is there");
        assert_eq!(transaction.set(namespace, "rest", &[0; 7], used + 10), Err(StoreError::Quota(used + 10)));
    }
    while let Some(timer) = transaction.next_timer().expect("timer") {
        transaction.disarm(&timer.namespace, timer.id).expect("disarm");
        found.push(Outcome::Timer(Some(timer)));
    }
    found
}

/// Unused workspace, opened twice, and a guard to keep alive while it is used.
pub type Opened = ([Arc<dyn Store>; 2], Box<dyn Any>);

/// Runs `runs` random sequences of steps with a store and with the model.
///
/// # Panics
///
/// Panics if the results differ.
pub fn agrees_with_the_model(runs: u32, open: impl Fn() -> Opened) {
    let config = ProptestConfig { cases: runs, failure_persistence: None, ..ProptestConfig::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[1; 32]);
    let steps = prop::collection::vec((0usize..2, step()), 1..80);
    let mut runner = TestRunner::new_with_rng(config, random);
    runner.run(&steps, |steps| agrees(open(), &steps)).unwrap_or_else(|error| panic!("{error}"));
}

/// Runs the same steps with both.
fn agrees((opened, _stays): Opened, steps: &[(usize, Step)]) -> Result<(), TestCaseError> {
    let model = MemoryStore::new();
    let cloned = || -> Arc<dyn Store> { Arc::new(model.clone()) };
    let mut store = Side::new(opened);
    let mut model = Side::new([cloned(), cloned()]);
    for (at, (who, step)) in (1..).zip(steps) {
        let (found, expected) = (store.take(at, *who, step), model.take(at, *who, step));
        prop_assert_eq!(found, expected, "step {}, {:?} of {}", at, step, who);
        let (told, changed) = (store.changes.changed(), model.changes.changed());
        prop_assert!(told == Ok(true) || changed == Ok(false), "a change that is missed, step {}", at);
    }
    (store.open, model.open) = ([None, None], [None, None]);
    prop_assert_eq!(everything(&store.stores[0]), everything(&model.stores[0]));
    Ok(())
}
