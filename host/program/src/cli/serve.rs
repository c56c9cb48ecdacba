//! Serving over standard input and output.

use std::fs::File;
use std::io::{PipeReader, Read as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use scorpiox_executor::threads;
use scorpiox_rpc::Output;

use self::system::{has_hung_up, ring_when_told, room_of, take_stdio};
use super::environment::Environment;
use scorpiox_server::{Audience, Workspace};
use scorpiox_stdio::Server;

pub(super) fn run(environment: &Environment) -> Result<ExitCode> {
    for problem in environment.settings.problems() {
        tracing::warn!("{problem}");
    }
    let (input, output) = take_stdio().context("standard input and output cannot be used")?;
    let watched = input.try_clone()?;
    let room = room_of(&output);
    let output = Output::with_room(File::from(output), room);
    let workspace = environment.open();
    let server =
        Server::new(&workspace, Audience::Model, File::from(input), output, move || has_hung_up(&watched));
    let (bell, ringer) = std::io::pipe()?;
    let (ended, signals) = (Arc::clone(&server), ringer.try_clone()?);
    // Until then a signal ends the process as it ends any other, with nothing to be lost.
    let listen = move || or_exit(ring_when_told(signals));
    let end = move || or_exit(end_when_told(ended, workspace, bell));
    server.serve(ringer, [Box::new(listen), Box::new(end)]);
    // The process ends with the thread that was started.
    loop {
        thread::park();
    }
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

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io::PipeWriter;
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use signal_hook::consts::{SIGINT, SIGTERM};

    /// The least that a pipe holds, in bytes: a page of memory.
    const SMALLEST_PIPE: usize = 4096;

    /// How many bytes can be written without blocking. What is no pipe may block at once. A client can make a pipe
    /// smaller at any time, but not below a page.
    pub(super) fn room_of(output: &OwnedFd) -> usize {
        rustix::pipe::fcntl_getpipe_size(output).map_or(0, |room| room.min(SMALLEST_PIPE))
    }

    /// Takes standard input and output away from the rest of the process: what prints by
    /// mistake goes to standard error, and children can inherit neither.
    pub(super) fn take_stdio() -> std::io::Result<(OwnedFd, OwnedFd)> {
        let input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let output = std::io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(std::io::stderr())?;
        Ok((input, output))
    }

    /// Rings on SIGTERM and SIGINT.
    pub(super) fn ring_when_told(bell: PipeWriter) -> std::io::Result<()> {
        signal_hook::low_level::pipe::register(SIGINT, bell.try_clone()?)?;
        signal_hook::low_level::pipe::register(SIGTERM, bell)?;
        Ok(())
    }

    /// Whether the other end of a pipe is closed, without reading from it.
    pub(super) fn has_hung_up(input: &OwnedFd) -> bool {
        let mut polled = [PollFd::new(input, PollFlags::empty())];
        let polls = poll(&mut polled, Some(&Timespec::default()));
        polls.is_ok() && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }
}

#[cfg(windows)]
mod system {
    use std::io::{PipeWriter, Write as _};
    use std::os::windows::io::{AsHandle as _, OwnedHandle};

    use parking_lot::Mutex;
    pub(super) use scorpiox_windows::stdio::take as take_stdio;
    use scorpiox_windows::{console, stdio};

    /// How many bytes can be written without blocking: nobody says so here.
    pub(super) fn room_of(_: &OwnedHandle) -> usize {
        0
    }

    /// Rings when the console says to end.
    pub(super) fn ring_when_told(bell: PipeWriter) -> std::io::Result<()> {
        let bell = Mutex::new(bell);
        console::at_end(move || drop(bell.lock().write(&[0])))
    }

    pub(super) fn has_hung_up(input: &OwnedHandle) -> bool {
        stdio::has_hung_up(input.as_handle())
    }
}
