//! Tests of overload: calls that wait for a lock, and a random mix of all messages.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::support::{Random, WriteLock, call, create, database_of, request, seed, stored};

/// Limits that the server documents: running calls and waiting calls.
const RUNNING: usize = 64;
const WAITING: usize = 192;
/// Error code of a request that exceeds the limits.
const BUSY: i64 = -31_001;

/// Starts a server with stored data, so that its store can be locked.
fn with_a_store(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.text("TaskManager", json!({ "action": "create", "text": "first" }));
    server
}

fn ping_time(server: &mut Started) -> Duration {
    let start = Instant::now();
    let answer = server.ask("ping", json!({}));
    assert_eq!(answer["result"], json!({}));
    start.elapsed()
}

#[test]
fn a_ping_is_answered_while_a_call_is_blocked_each_time_anew() {
    let program = Program::new();
    let mut server = with_a_store(&program);
    for round in 0..5 {
        let lock = WriteLock::hold(&database_of(&program));
        server.send_raw(create(format!("blocked {round}"), "a task").as_bytes());
        let time = ping_time(&mut server);
        lock.release();
        let blocked = server.next().expect("an answer");
        assert_eq!(blocked["result"]["isError"], false, "{blocked}");
        assert!(time < Duration::from_millis(100), "round {round}: the ping took {time:?}");
    }
}

#[test]
fn of_300_slow_calls_at_once_64_run_and_192_wait_and_the_rest_is_refused() {
    const CALLS: usize = 300;
    let program = Program::new();
    let mut server = with_a_store(&program);
    let lock = WriteLock::hold(&database_of(&program));
    let calls: String = (0..CALLS).map(|n| create(format!("c{n}"), &format!("slow {n}"))).collect();
    let start = Instant::now();
    server.send_raw(calls.as_bytes());
    for _ in 0..CALLS - RUNNING - WAITING {
        let refused = server.next().expect("an answer");
        assert_eq!(refused["error"]["code"], BUSY, "{refused}");
    }
    let refused = start.elapsed();
    let mut pings: Vec<_> = (0..5).map(|_| ping_time(&mut server)).collect();
    pings.sort();
    lock.release();
    let release = Instant::now();
    let mut done = HashMap::new();
    for _ in 0..RUNNING + WAITING {
        let answer = server.next().expect("an answer");
        assert_eq!(answer["result"]["isError"], false, "admitted, so it must succeed: {answer}");
        *done.entry(answer["id"].to_string()).or_insert(0) += 1;
    }
    let finished = release.elapsed();
    eprintln!(
        "300 slow calls: refusals after {refused:?}, pings {pings:?}, the rest {finished:?} after the release"
    );
    assert_eq!(done.len(), RUNNING + WAITING, "exactly one answer each");
    assert!(finished < Duration::from_secs(10), "{finished:?}");
    assert!(pings[4] < Duration::from_millis(100), "pings took {pings:?}");
    assert!(refused < Duration::from_secs(2), "the refusals took {refused:?}");
    assert_eq!(stored(&database_of(&program)).tasks.len(), 1 + RUNNING + WAITING);
    server.close_input();
    assert!(server.wait().0.success());
}

#[test]
fn an_id_that_is_still_in_flight_is_refused_and_free_again_afterwards() {
    let program = Program::new();
    let mut server = with_a_store(&program);
    let lock = WriteLock::hold(&database_of(&program));
    server.send_raw(create("twice", "original").as_bytes());
    for again in [create("twice", "again"), request("twice", "tools/list", json!({}))] {
        server.send_raw(again.as_bytes());
        let refused = server.next().expect("an answer");
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&json!("twice"), &json!(-32600)),
            "{refused}"
        );
    }
    // The same characters as a number form a different ID.
    server.send_raw(request(2, "tools/list", json!({})).as_bytes());
    assert!(server.next().expect("an answer")["result"]["tools"].is_array());
    lock.release();
    let original = server.next().expect("an answer");
    assert_eq!(original["result"]["structuredContent"]["tasks"][0]["name"], "original", "{original}");
    server.send_raw(create("twice", "afterwards").as_bytes());
    assert_eq!(server.next().expect("an answer")["result"]["isError"], false);
    assert_eq!(stored(&database_of(&program)).tasks.len(), 3);
}

#[test]
fn a_cancelled_call_is_neither_answered_nor_done() {
    let program = Program::new();
    let mut server = with_a_store(&program);
    let lock = WriteLock::hold(&database_of(&program));
    for n in 0..100 {
        server.send_raw(create(n + 100, &format!("cancelled {n}")).as_bytes());
    }
    for n in 0..100 {
        server.notify("notifications/cancelled", json!({ "requestId": n + 100 }));
    }
    // All previous messages have been read when the ping is answered.
    ping_time(&mut server);
    lock.release();
    server.text("TaskManager", json!({ "action": "create", "text": "kept" }));
    server.close_input();
    let cancelled = |message: &Value| message["id"].as_u64().is_some_and(|id| (100..200).contains(&id));
    while server.next().is_some() {}
    assert!(!server.received.iter().any(cancelled), "a cancelled request was answered");
    assert!(server.wait().0.success());
    let names: Vec<_> = stored(&database_of(&program)).tasks.into_values().collect();
    assert_eq!(names, ["first", "kept"]);
}

/// Messages sent with one ID, which determine the possible answers.
#[derive(Debug, Default)]
struct Asked {
    /// Kinds of the requests sent with this ID.
    kinds: Vec<Kind>,
    cancels: usize,
    answers: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ping,
    Write,
    List,
    Tools,
    NoTool,
    NoMethod,
}

const KINDS: [Kind; 6] = [Kind::Ping, Kind::Write, Kind::List, Kind::Tools, Kind::NoTool, Kind::NoMethod];

impl Kind {
    fn line(self, id: Value) -> String {
        match self {
            Self::Ping => request(id, "ping", json!({})),
            Self::Write => create(id, "a task"),
            Self::List => call(id, "TaskManager", json!({ "action": "list", "query": "" })),
            Self::Tools => request(id, "tools/list", json!({})),
            Self::NoTool => call(id, "NoSuchTool", json!({})),
            Self::NoMethod => request(id, "no/such/method", json!({})),
        }
    }

    /// `true` if the request may be refused because of other requests in flight.
    fn is_call(self) -> bool {
        !matches!(self, Self::Ping | Self::NoMethod)
    }

    fn fits(self, answer: &Value) -> bool {
        let (result, code) = (&answer["result"], answer["error"]["code"].as_i64());
        match self {
            Self::Ping => *result == json!({}),
            Self::Write | Self::List => result["isError"] == false,
            Self::Tools => result["tools"].is_array(),
            Self::NoTool => code == Some(-32602),
            Self::NoMethod => code == Some(-32601),
        }
    }
}

impl Asked {
    fn check(&self, id: &str) {
        let (sent, came) = (self.kinds.len(), self.answers.len());
        let least = sent.saturating_sub(self.cancels);
        assert!((least..=sent).contains(&came), "id {id}: {self:?}");
        let mut repeated = 0;
        for answer in &self.answers {
            let code = answer["error"]["code"].as_i64();
            let fits = self.kinds.iter().any(|kind| kind.fits(answer));
            let busy = code == Some(BUSY) && self.kinds.iter().any(|kind| kind.is_call());
            repeated += usize::from(code == Some(-32600));
            assert!(fits || busy || code == Some(-32600), "id {id}: {answer}");
        }
        assert!(repeated < sent, "id {id} was not in flight before: {self:?}");
    }
}

/// Mix of messages, with the requests that it contains.
#[derive(Default)]
struct Mix {
    asked: HashMap<String, (Value, Asked)>,
    /// Keys of `asked` in the order of sending.
    ids: Vec<String>,
}

impl Mix {
    fn request(&mut self, id: Value, kind: Kind) -> String {
        let key = id.to_string();
        let line = kind.line(id.clone());
        self.asked.entry(key.clone()).or_insert((id, Asked::default())).1.kinds.push(kind);
        self.ids.push(key);
        line
    }

    /// Returns a cancellation of a recent ID or of an ID that was never used.
    fn cancel(&mut self, at: usize) -> String {
        let asked = self.ids.get(at).and_then(|key| self.asked.get_mut(key));
        let id = asked.map_or(json!("never"), |(id, asked)| {
            asked.cancels += 1;
            id.clone()
        });
        let params = json!({ "requestId": id, "reason": "random" });
        format!("{}\n", json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
    }

    fn message(&mut self, random: &mut Random, n: usize) -> String {
        let recent = self.ids.len().saturating_sub(30);
        match random.below(100) {
            0..8 => self.cancel(recent + random.below(40)),
            8..12 => "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}\n".to_owned(),
            12..15 => format!("{}\n", json!({ "jsonrpc": "2.0", "id": n, "result": {} })),
            15..17 => " \n".to_owned(),
            // A request, sometimes with a recently used ID.
            other => {
                let kind = *random.pick(&KINDS);
                let again = (other < 25).then(|| self.ids.get(recent + random.below(30))).flatten();
                let fresh = if n.is_multiple_of(2) { json!(n) } else { json!(format!("é\"{n}")) };
                let id = again.map_or(fresh, |key| self.asked[key].0.clone());
                self.request(id, kind)
            }
        }
    }

    /// While the store is locked, sends a call, another call with the same ID, and possibly a cancellation.
    /// The server has read all of them when this returns.
    fn scene(&mut self, server: &mut Started, random: &mut Random, n: usize) {
        let call = json!(format!("scene {n}"));
        let mut lines = self.request(call.clone(), Kind::Write) + &self.request(call, Kind::Write);
        if random.chance(50) {
            lines += &self.cancel(self.ids.len() - 1);
        }
        let sync = json!(format!("sync {n}"));
        lines += &self.request(sync.clone(), Kind::Ping);
        server.send_raw(lines.as_bytes());
        while server.next().expect("the server is up")["id"] != sync {}
    }
}

#[test]
fn each_request_of_a_random_mix_gets_exactly_one_answer() {
    const MESSAGES: usize = 5000;
    let seed = seed();
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let program = Program::new();
    let mut server = with_a_store(&program);
    // The handshake and the first task used IDs that the mix reuses.
    server.received.clear();
    let mut mix = Mix::default();
    let mut lock = None;
    for n in 0..MESSAGES {
        if random.chance(2) && lock.take().is_none() {
            lock = Some(WriteLock::hold(&database_of(&program)));
            mix.scene(&mut server, &mut random, n);
        }
        server.send_raw(mix.message(&mut random, n).as_bytes());
    }
    drop(lock);
    server.close_input();
    while server.next().is_some() {}
    assert!(server.wait().0.success());
    for answer in std::mem::take(&mut server.received) {
        let entry = mix.asked.get_mut(&answer["id"].to_string());
        entry.unwrap_or_else(|| panic!("nobody asked for {answer}")).1.answers.push(answer);
    }
    for (key, (_, asked)) in &mix.asked {
        asked.check(key);
    }
    let all = || mix.asked.values().map(|(_, asked)| asked);
    let unanswered = all().filter(|asked| asked.answers.len() < asked.kinds.len()).count();
    let with_code = |code: i64| all().flat_map(|a| &a.answers).filter(|a| a["error"]["code"] == code).count();
    let (repeated, busy) = (with_code(-32600), with_code(BUSY));
    let ids = mix.asked.len();
    eprintln!(
        "random mix: {ids} ids, {unanswered} not answered, {repeated} in flight already, {busy} too many"
    );
    assert!(unanswered > 0 && repeated > 0, "the mix must have met these cases");
}
