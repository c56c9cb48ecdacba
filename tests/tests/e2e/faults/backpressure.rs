//! Tests of a client that does not read: no message is lost, memory stays bounded, and the server can exit.

use std::io::{ErrorKind, Write};
use std::process::ChildStdin;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{ioctl_fionbio, ioctl_fionread};
use rustix::process::Signal;
use scorpiox_tests::Program;
use serde_json::json;

use super::support::{Bare, MAX_RSS, handshake, mebibytes, memory, request};

/// Time without progress after which the server counts as blocked on its client.
const STANDSTILL: Duration = Duration::from_millis(300);
/// Maximum time for the server to exit if its output is not read.
const END: Duration = Duration::from_secs(3);

fn connected(program: &Program) -> Bare {
    let mut server = Bare::start(program);
    server.send(&handshake()).expect("the server reads");
    server.line().expect("an answer");
    server
}

/// Writes until the server stops reading and returns the number of accepted bytes.
fn write_until_standstill(input: &mut ChildStdin, bytes: &[u8]) -> usize {
    ioctl_fionbio(&*input, true).expect("a pipe");
    let mut written = 0;
    while written < bytes.len() {
        match input.write(&bytes[written..]) {
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let mut polled = [PollFd::new(&*input, PollFlags::OUT)];
                let time = Timespec::try_from(STANDSTILL).expect("a short time");
                if poll(&mut polled, Some(&time)).expect("a pipe") == 0 {
                    break;
                }
            }
            Err(error) => panic!("the server does not read: {error}"),
        }
    }
    ioctl_fionbio(&*input, false).expect("a pipe");
    written
}

/// Sends `lines` without reading until the server blocks, then reads everything. Returns the IDs in the order
/// of their answers.
fn ids_after_a_pause(lines: &str, what: &str) -> Vec<u64> {
    let program = Program::new();
    let mut server = connected(&program);
    let mut input = server.input.take().expect("open");
    let (_, before) = memory(server.pid());
    let written = write_until_standstill(&mut input, lines.as_bytes());
    let (_, paused) = memory(server.pid());
    assert!(written < lines.len(), "the server took {written} bytes without an answer being read");
    let ids = thread::scope(|scope| {
        scope.spawn(|| input.write_all(&lines.as_bytes()[written..]).expect("the server reads on"));
        let sent = lines.lines().count();
        let id = |server: &mut Bare| server.line().expect("an answer")["id"].as_u64().expect("an id");
        (0..sent).map(|_| id(&mut server)).collect()
    });
    let (_, peak) = memory(server.pid());
    eprintln!(
        "{what}: stood still after {written} of {} bytes; memory {} before, at most {} in the pause, {} in all",
        lines.len(),
        mebibytes(before),
        mebibytes(paused),
        mebibytes(peak)
    );
    assert!(peak < MAX_RSS, "{}", mebibytes(peak));
    drop(input);
    assert!(server.end_within(END).is_some_and(|(status, _)| status.success()));
    assert!(server.rest().is_empty(), "nobody asked for more");
    ids
}

fn pings(count: u64) -> String {
    (0..count).map(|id| request(id, "ping", json!({}))).collect()
}

fn lists(count: u64) -> String {
    (0..count).map(|id| request(id, "tools/list", json!({}))).collect()
}

#[test]
fn pings_of_a_client_that_reads_late_are_all_answered_in_order() {
    const COUNT: u64 = 100_000;
    let ids = ids_after_a_pause(&pings(COUNT), "100,000 pings");
    assert!(ids.into_iter().eq(0..COUNT));
}

#[test]
fn large_answers_for_a_client_that_reads_late_all_arrive_once() {
    const COUNT: u64 = 5000;
    let mut ids = ids_after_a_pause(&lists(COUNT), "5,000 lists of tools");
    let turned = ids.windows(2).filter(|pair| pair[0] > pair[1]).count();
    eprintln!("5,000 lists of tools: {turned} answers overtook another");
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..COUNT));
}

/// Returns a server that is blocked on its output during a flood of requests.
fn flooded(program: &Program, lines: &str) -> Bare {
    let mut server = connected(program);
    let written = write_until_standstill(server.input.as_mut().expect("open"), lines.as_bytes());
    assert!(written < lines.len(), "the flood is too small to fill the pipes");
    server
}

/// Returns a server that is blocked on its output although its client sends a single request at a time.
fn filled_one_by_one(program: &Program) -> Bare {
    let mut server = connected(program);
    rustix::pipe::fcntl_setpipe_size(server.output.get_ref(), 4096).expect("a smaller pipe");
    let mut last = Instant::now();
    let mut filled = 0;
    while last.elapsed() < STANDSTILL {
        let now = ioctl_fionread(server.output.get_ref()).expect("a pipe");
        if now > filled || filled == 0 {
            filled = now;
            last = Instant::now();
            server.send(&request(1, "ping", json!({}))).expect("the server reads");
            while last.elapsed() < STANDSTILL
                && ioctl_fionread(server.output.get_ref()).expect("a pipe") == now
            {
                thread::yield_now();
            }
        }
    }
    assert!(filled > 3800, "the pipe is not full: {filled}");
    server
}

fn assert_ends_when_its_input_does(mut server: Bare, what: &str) {
    server.input = None;
    let end = server.end_within(2 * END);
    let (status, time) =
        end.unwrap_or_else(|| panic!("{what}: still there {:?} after its input ended", 2 * END));
    eprintln!("{what}, input closed: ended after {time:?}");
    assert!(status.success(), "{status}");
    assert!(time < END, "took {time:?}");
}

#[test]
fn a_server_whose_pings_nobody_reads_ends_with_its_input() {
    let program = Program::new();
    assert_ends_when_its_input_does(flooded(&program, &pings(20_000)), "pings unread");
}

#[test]
fn a_server_whose_large_answers_nobody_reads_ends_with_its_input() {
    let program = Program::new();
    assert_ends_when_its_input_does(flooded(&program, &lists(5000)), "lists unread");
}

#[test]
fn a_server_whose_single_answers_nobody_reads_ends_with_its_input() {
    let program = Program::new();
    assert_ends_when_its_input_does(filled_one_by_one(&program), "single pings unread");
}

#[test]
fn a_server_whose_answers_nobody_reads_ends_at_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let program = Program::new();
        let mut server = flooded(&program, &lists(5000));
        server.signal(signal);
        let end = server.end_within(END);
        let (status, time) = end.unwrap_or_else(|| panic!("{signal:?}: still there after {END:?}"));
        eprintln!("lists unread, {signal:?}: ended after {time:?}");
        assert_eq!(status.code(), Some(0), "{status}");
        assert!(time < Duration::from_secs(1), "{signal:?}: took {time:?}");
    }
}
