//! Serving over standard input and output.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scorpiox_rpc::Output;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::environment::Environment;
use crate::server::{Context, Server};

pub(super) fn run(environment: &Environment) -> Result<ExitCode> {
    for problem in environment.settings.problems() {
        tracing::warn!("{problem}");
    }
    let (input, output) = take_stdio().context("standard input and output cannot be used")?;
    let watched = input.try_clone()?;
    let context = Arc::new(Context::new(environment.options(), Output::new(File::from(output))));
    let server = Server::start(context, File::from(input), move || has_hung_up(&watched));
    stop_on_signals(&server)?;
    let end = server.wait();
    server.shut_down(end);
    Ok(ExitCode::SUCCESS)
}

/// Takes standard input and output away from the rest of the process: what prints by
/// mistake goes to standard error, and children can inherit neither.
fn take_stdio() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(std::io::stderr())?;
    Ok((input, output))
}

/// Ends the server on SIGTERM and SIGINT.
fn stop_on_signals(server: &Arc<Server>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let server = Arc::clone(server);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            server.stop();
        }
    })?;
    Ok(())
}

/// Whether the other end of a pipe is closed, without reading from it.
fn has_hung_up(input: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(input, PollFlags::empty())];
    let polls = poll(&mut polled, Some(&Timespec::default()));
    polls.is_ok() && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
