//! Tests of the question screen in a tmux popup. A popup is not a pane, so it is captured from the pane of an
//! outer tmux that contains the client of the inner one.

use std::path::Path;

use rustix::process::{Pid, Signal};
use serde_json::json;

use super::tmux::{Tmux, until};
use super::{TWO, ask};

/// Text behind the popup.
const BEHIND: &str = "behind the popup";

/// Starts an inner tmux with a client, and an outer tmux that displays this client.
fn attached(width: u16, height: u16) -> (Tmux, Tmux) {
    let inner = Tmux::with_window(width, height, &["cat"]);
    // A client refuses to start if it detects the outer tmux.
    let client = ["env", "-u", "TMUX", "tmux", "-u", "-S", &inner.socket(), "attach"];
    let outer = Tmux::with_window(width, height, &client);
    let size = format!("{width}x{height}");
    until(|| {
        let clients = inner.run(&["list-clients", "-F", "#{client_width}x#{client_height}"]);
        if clients.trim() == size { Ok(()) } else { Err(format!("no client of {size}, but {clients:?}")) }
    });
    inner.scribble(BEHIND);
    outer.screen_with(BEHIND);
    (inner, outer)
}

/// Returns the process with the screen in this tmux.
fn screen_in(tmux: &Tmux) -> Pid {
    let socket = format!("TMUX={},", tmux.socket());
    let is_screen = |process: &Path| {
        let read = |file| std::fs::read_to_string(process.join(file)).unwrap_or_default();
        // The second argument tells it from the client of tmux, which is started with the same command line.
        read("cmdline").split('\0').nth(1) == Some("ask") && read("environ").contains(&socket)
    };
    let mut processes =
        std::fs::read_dir("/proc").expect("processes").map(|entry| entry.expect("a process").path());
    let screen = processes.find(|process| is_screen(process)).expect("a screen");
    let id = screen.file_name().and_then(|name| name.to_str()?.parse().ok()).expect("a process ID");
    Pid::from_raw(id).expect("a process ID")
}

#[test]
fn where_somebody_is_in_tmux_the_questions_come_over_it() {
    let (inner, outer) = attached(80, 24);
    let mut server = inner.serve();
    let id = ask(&mut server, TWO);
    outer.shows("popup_80x24");
    assert_eq!(inner.panes(), 1, "a popup is no pane");
    outer.press(&["Down", "Enter", "Space", "End"]);
    outer.write("größer, 大");
    outer.shows("popup_written_80x24");
    outer.press(&["Enter", "Enter"]);
    let answer = server.answer(id);
    let expected = json!({"answers": [
        {"question": "Which colour?", "selected": "Grün"},
        {"question": "Which sizes?", "selected": ["S", "größer, 大"]}
    ]});
    assert_eq!(answer["result"]["structuredContent"], expected, "{answer}");
    outer.screen_with(BEHIND);
}

#[test]
fn a_popup_has_the_size_of_its_client() {
    let (inner, outer) = attached(80, 24);
    let mut server = inner.serve();
    ask(&mut server, TWO);
    outer.shows("popup_80x24");
    outer.run(&["resize-window", "-x", "40", "-y", "12"]);
    outer.shows("popup_40x12");
    outer.run(&["resize-window", "-x", "80", "-y", "24"]);
    outer.shows("popup_80x24");
}

#[test]
fn escape_in_a_popup_declines() {
    let (inner, outer) = attached(80, 24);
    let mut server = inner.serve();
    let id = ask(&mut server, TWO);
    outer.listens_with("Which colour?");
    outer.press(&["Down", "Enter"]);
    outer.screen_with("Which sizes?");
    outer.press(&["Escape"]);
    let answer = server.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["declined"], true, "{answer}");
    outer.screen_with(BEHIND);
    // The question does not reopen in a pane.
    assert_eq!(inner.panes(), 1);
}

#[test]
fn a_cancelled_call_says_so_in_its_popup() {
    let (inner, outer) = attached(80, 24);
    let mut server = inner.serve();
    let id = ask(&mut server, TWO);
    outer.listens_with("Which colour?");
    server.notify("notifications/cancelled", json!({"requestId": id}));
    outer.screen_with("Taken back, nothing is sent: Esc closes");
    outer.press(&["Enter", "Escape"]);
    outer.screen_with(BEHIND);
    assert_eq!(inner.panes(), 1, "it is not asked again in a pane");
}

#[test]
fn to_close_a_popup_is_to_decline() {
    for close in [&["display-popup", "-C"][..], &["detach-client", "-s", "0"]] {
        let (inner, outer) = attached(80, 24);
        let mut server = inner.serve();
        let id = ask(&mut server, TWO);
        outer.screen_with("Esc decline");
        inner.run(close);
        let answer = server.answer(id);
        assert_eq!(answer["result"]["structuredContent"]["declined"], true, "{answer}");
        // The question does not reopen in a pane.
        assert_eq!(inner.panes(), 1);
    }
}

#[test]
fn to_kill_the_screen_is_to_decline() {
    let (inner, outer) = attached(80, 24);
    let mut server = inner.serve();
    let id = ask(&mut server, TWO);
    outer.screen_with("Esc decline");
    rustix::process::kill_process(screen_in(&inner), Signal::KILL).expect("the screen can be killed");
    let answer = server.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["declined"], true, "{answer}");
    assert_eq!(inner.panes(), 1, "the question does not reopen in a pane");
}
