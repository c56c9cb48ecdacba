//! Suspensions over several calls.

use scorpiox_tool_kit::{Entry, Order, Store, StoreError};

use super::fake::*;
use super::*;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;

/// Returns a script in which Bing responds with `bing`, and the other engines respond normally.
fn with_bing(bing: impl Fn() -> Reply) -> impl Fn(&str, &scorpiox_tool_kit::web::Request) -> Reply {
    move |name, request| if name == "bing" { bing() } else { normal(name, request) }
}

/// Returns Bing's status in the result of the call.
fn search(server: &mut Server, bing: impl Fn() -> Reply) -> String {
    let output = server.search("tide", &with_bing(bing)).expect("Wiby answers");
    let data = data(output.structured.as_deref());
    data["engines"][0]["status"].as_str().expect("status").to_owned()
}

fn fails() -> Reply {
    (1, Ok(response(500, "")))
}

fn refuses() -> Reply {
    (1, Ok(response(429, "")))
}

fn challenges() -> Reply {
    (1, Ok(response(200, page("bing", "blocked"))))
}

fn answers() -> Reply {
    (1, Ok(response(200, page("bing", "normal"))))
}

fn server() -> Server {
    Server::only(&["bing", "wiby"])
}

fn wait(server: &Server, time: u64) {
    server.clock.set(server.clock.get() + time);
}

#[test]
fn three_failures_in_a_row_suspend_for_five_seconds() {
    let mut server = server();
    for _ in 0..3 {
        assert_eq!(search(&mut server, fails), "failed");
    }
    assert_eq!(search(&mut server, answers), "suspended");
    assert_eq!(server.asked(), ["wiby"], "it is left alone");
    wait(&server, 5 * SECOND);
    assert_eq!(search(&mut server, answers), "ok");
    assert_eq!(search(&mut server, fails), "failed", "a success starts the count again");
    assert_eq!(search(&mut server, answers), "ok");
}

#[test]
fn after_a_suspension_one_failure_suspends_again() {
    let mut server = server();
    for _ in 0..3 {
        search(&mut server, fails);
    }
    wait(&server, 5 * SECOND);
    assert_eq!(search(&mut server, fails), "failed");
    assert_eq!(search(&mut server, fails), "suspended");
}

#[test]
fn two_failures_and_a_success_do_not_suspend() {
    let mut server = server();
    for reply in [fails, fails, answers, fails, fails, answers] {
        assert_ne!(search(&mut server, reply), "suspended");
    }
}

#[test]
fn refusals_suspend_for_three_minutes() {
    let mut server = server();
    for _ in 0..3 {
        assert_eq!(search(&mut server, refuses), "blocked");
    }
    wait(&server, 3 * MINUTE - 100);
    assert_eq!(search(&mut server, answers), "suspended");
    wait(&server, SECOND);
    assert_eq!(search(&mut server, answers), "ok");
}

#[test]
fn a_captcha_suspends_at_once_for_an_hour() {
    let mut server = server();
    assert_eq!(search(&mut server, challenges), "blocked");
    wait(&server, 59 * MINUTE);
    let output = server.search("tide", &with_bing(answers)).expect("Wiby answers");
    let message = data(output.structured.as_deref())["engines"][0]["message"].clone();
    assert_eq!(message, "until 2026-11-20T23:40:32Z, after a captcha");
    wait(&server, MINUTE);
    assert_eq!(search(&mut server, answers), "ok");
}

#[test]
fn empty_answers_are_answers() {
    let mut server = server();
    for _ in 0..4 {
        assert_eq!(search(&mut server, || (1, Ok(response(200, page("bing", "empty"))))), "empty");
    }
}

#[test]
fn when_all_are_suspended_it_says_until_when() {
    let mut server = Server::only(&["bing", "brave"]);
    let all = |name: &str, _: &_| match name {
        "bing" => challenges(),
        _ => refuses(),
    };
    for _ in 0..3 {
        failed(server.search("tide", &all));
    }
    let text = failed(server.search("tide", &normal));
    assert!(text.starts_with("All search engines are suspended after failures, the first until 2026-11-20T22:43:32Z.\n- brave: suspended (until 2026-11-20T22:43:32Z, after repeated refusals), 0 ms\n- bing: suspended (until 2026-11-20T23:40:32Z, after a captcha), 0 ms\n"), "{text}");
    assert!(server.asked().is_empty());
}

#[test]
fn a_search_without_news_writes_nothing() {
    let mut server = server();
    search(&mut server, answers);
    assert_eq!(server.store.writes, 0);
}

#[test]
fn a_clock_that_was_set_back_does_not_suspend_for_ever() {
    let mut server = server();
    search(&mut server, challenges);
    server.clock.set(START - 48 * 60 * MINUTE);
    assert_eq!(search(&mut server, answers), "ok");
}

#[test]
fn a_damaged_record_counts_as_none() {
    let mut server = server();
    server.store.set("engine/bing", b"{").expect("stored");
    assert_eq!(search(&mut server, answers), "ok");
}

/// A store that records operations, or fails all of them.
#[derive(Default)]
struct Watched {
    steps: Vec<&'static str>,
    broken: bool,
}

impl Watched {
    fn note(&mut self, step: &'static str) -> Result<(), StoreError> {
        self.steps.push(step);
        if self.broken { Err(StoreError::Unavailable("the disk is full".to_owned())) } else { Ok(()) }
    }
}

impl Store for Watched {
    fn get(&mut self, _: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.note("get").map(|()| None)
    }

    fn set(&mut self, _: &str, _: &[u8]) -> Result<(), StoreError> {
        self.note("set")
    }

    fn delete(&mut self, _: &str) -> Result<(), StoreError> {
        self.note("delete")
    }

    fn scan(&mut self, _: &str, _: Option<&str>, _: u32, _: Order) -> Result<Vec<Entry>, StoreError> {
        self.note("scan").map(|()| Vec::new())
    }

    fn increment(&mut self, _: &str, _: i64) -> Result<i64, StoreError> {
        self.note("increment").map(|()| 0)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.note("commit")
    }
}

#[test]
fn the_store_is_let_go_before_the_network_and_committed_before_a_failure() {
    let steps = |reply: fn() -> Reply, broken: bool| {
        let mut store = Watched { broken, ..Default::default() };
        let result = Server::only(&["bing"]).search_with(&mut store, &|_, _| reply());
        (result.is_ok(), store.steps)
    };
    assert_eq!(steps(challenges, false), (false, vec!["scan", "commit", "scan", "set", "commit"]));
    assert_eq!(steps(answers, false), (true, vec!["scan", "commit", "scan", "commit"]));
    assert!(steps(answers, true).0, "a store that does not work does not keep from searching");
}
