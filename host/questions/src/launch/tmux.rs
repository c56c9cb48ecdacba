//! A popup over tmux, or a pane next to the client's.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::{Call, Surroundings, Window};

/// First version with popups, which is also the first that reports its version.
const POPUPS_FROM: (u32, u32) = (3, 2);

pub(super) fn windows(around: &Surroundings<'_>, ask: &[OsString]) -> Vec<Window> {
    let (Some(server), Some(program)) = (&around.tmux, (around.find)("tmux")) else { return Vec::new() };
    // `TMUX` contains the socket, the server's process ID, and the session.
    let socket = server.as_bytes().split(|byte| *byte == b',').next().unwrap_or_default();
    let call = |command: &[&str]| {
        let mut call =
            Call::new(program.clone()).args([OsStr::new("-S"), OsStr::from_bytes(socket)]).args(command);
        if let Some(pane) = &around.tmux_pane {
            call = call.args([OsStr::new("-t"), pane]);
        }
        call.args(ask.iter().map(|argument| literal(argument)))
    };
    let popup = Window {
        name: "tmux popup",
        call: call(&["display-popup", "-E", "-w", "90%", "-h", "90%"]),
        is_attended: true,
    };
    let pane = Window { name: "tmux pane", call: call(&["split-window"]), is_attended: false };
    match version(around) {
        Some(version) if version < POPUPS_FROM => vec![pane],
        _ => vec![popup, pane],
    }
}

/// Parses the version. `3.3a` and `next-3.4` are versions, too.
fn version(around: &Surroundings<'_>) -> Option<(u32, u32)> {
    if around.term_program.as_deref() != Some(OsStr::new("tmux")) {
        return None;
    }
    let version = around.term_program_version.as_ref()?.to_str()?;
    let (major, minor) = version.rsplit('-').next()?.split_once('.')?;
    let minor = minor.trim_end_matches(|c: char| !c.is_ascii_digit());
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Escapes a trailing semicolon, which would end the tmux command.
fn literal(argument: &OsStr) -> OsString {
    let mut bytes = argument.as_bytes().to_vec();
    if bytes.last() == Some(&b';') {
        bytes.insert(bytes.len() - 1, b'\\');
    }
    OsString::from_vec(bytes)
}
