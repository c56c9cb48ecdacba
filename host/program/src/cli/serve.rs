//! Serving over standard input and output.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scorpiox_executor::threads;
use scorpiox_rpc::Output;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::environment::Environment;
use scorpiox_server::{Audience, Workspace};
use scorpiox_stdio::Server;

/// The least that a pipe holds, in bytes: a page of memory.
const SMALLEST_PIPE: usize = 4096;

pub(super) fn run(environment: &Environment) -> Result<ExitCode> {
    for problem in environment.settings.problems() {
        tracing::warn!("{problem}");
    }
    let (input, output) = take_stdio().context("standard input and output cannot be used")?;
    let watched = input.try_clone()?;
    // What is no pipe may block at once. A client can make a pipe smaller at any time, but not below a page.
    let room = rustix::pipe::fcntl_getpipe_size(&output).map_or(0, |room| room.min(SMALLEST_PIPE));
    let output = Output::with_room(File::from(output), room);
    let workspace = environment.open();
    let server =
        Server::new(&workspace, Audience::Model, File::from(input), output, move || has_hung_up(&watched));
    let (bell, ringer) = std::io::pipe()?;
    let (ended, signals) = (Arc::clone(&server), ringer.try_clone()?);
    // Until then a signal ends the process as it ends any other, with nothing to be lost.
    let listen = move || or_exit(ring_on_signals(&signals));
    let end = move || or_exit(end_when_told(ended, workspace, bell));
    server.serve(ringer, [Box::new(listen), Box::new(end)]);
    // The process ends with the thread that was started.
    loop {
        thread::park();
    }
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

/// Rings on SIGTERM and SIGINT.
fn ring_on_signals(bell: &PipeWriter) -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?;
    }
    Ok(())
}

/// Starts to wait for the end.
fn end_when_told(server: Arc<Server>, workspace: Arc<Workspace>, bell: PipeReader) -> std::io::Result<()> {
    threads::start("end", move || end(&server, &workspace, bell)).map(drop)
}

/// Ends the server, and the process, when the bell rings: its input has ended, or a signal came.
fn end(server: &Server, workspace: &Workspace, mut bell: PipeReader) {
    let _ = bell.read(&mut [0]);
    server.shut_down(server.end());
    workspace.close();
    std::process::exit(0);
}

/// A server that cannot be told to end does not go on.
fn or_exit(done: std::io::Result<()>) {
    if let Err(error) = done {
        tracing::error!("the server cannot be told to end: {error}");
        std::process::exit(1);
    }
}

/// Whether the other end of a pipe is closed, without reading from it.
fn has_hung_up(input: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(input, PollFlags::empty())];
    let polls = poll(&mut polled, Some(&Timespec::default()));
    polls.is_ok() && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
