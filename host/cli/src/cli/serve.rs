//! Serves a client over standard input and output.

use std::fs::File;
use std::io::{IsTerminal as _, PipeReader, Read as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use scorpiox_executor::threads;
use scorpiox_mcp::jsonrpc::Output;

use super::environment::Environment;
use scorpiox_server::{Audience, Workspace};
use scorpiox_transport_stdio::Server;
use scorpiox_transport_stdio::blocking::Blocking;
use scorpiox_transport_stdio::streams::{has_hung_up, ring_when_told, room_of, take};

/// Text for a user who starts the server at a terminal, where no client can be connected.
const AT_A_TERMINAL: &str = "\
scorpiox-code is a server: an AI client starts it, and talks to it over a pipe. Nobody does here, so it ends.
Try:
  scorpiox-code setup                          set up the clients on this machine
  scorpiox-code doctor                         check the installation
  scorpiox-code tools                          see what each tool may touch
  scorpiox-code call Bash command='echo hi'    call a tool yourself
  scorpiox-code --help                         all commands";
/// Exit code of a command line that asks for nothing.
const USAGE: u8 = 2;

pub(super) fn run(environment: &Environment) -> Result<ExitCode> {
    for problem in environment.settings.problems() {
        tracing::warn!("{problem}");
    }
    if std::io::stdin().is_terminal() {
        if std::io::stdout().is_terminal() {
            scorpiox_terminal::complain(AT_A_TERMINAL);
            return Ok(ExitCode::from(USAGE));
        }
        scorpiox_terminal::complain(
            "Waiting for a client on standard input (Ctrl+D ends it); see `scorpiox-code --help`.",
        );
    }
    let (input, output) = take().context("standard input and output cannot be used")?;
    let watched = input.try_clone()?;
    let room = room_of(&output);
    let output = Output::with_room(Blocking::from(File::from(output)), room);
    let workspace = environment.open();
    let server =
        Server::new(&workspace, Audience::Model, Blocking::from(File::from(input)), output, move || {
            has_hung_up(&watched)
        });
    let (bell, ringer) = std::io::pipe()?;
    let (ended, signals) = (Arc::clone(&server), ringer.try_clone()?);
    // Until the handler is installed, a signal ends the process normally, and no state is lost.
    let listen = move || or_exit(ring_when_told(signals));
    let end = move || or_exit(end_when_told(ended, workspace, bell));
    server.serve(ringer, [Box::new(listen), Box::new(end)]);
    // The thread started for the end terminates the process.
    loop {
        thread::park();
    }
}

/// Starts the thread that waits for the end.
fn end_when_told(server: Arc<Server>, workspace: Arc<Workspace>, bell: PipeReader) -> std::io::Result<()> {
    threads::start("end", move || end(&server, &workspace, bell)).map(drop)
}

/// Ends the server and the process when the pipe becomes readable: the input has ended, or a signal arrived.
fn end(server: &Server, workspace: &Workspace, mut bell: PipeReader) {
    let _ = bell.read(&mut [0]);
    server.shut_down(server.end());
    workspace.close();
    std::process::exit(0);
}

/// Exits if the setup failed: a server that cannot be ended must not continue.
fn or_exit(done: std::io::Result<()>) {
    if let Err(error) = done {
        tracing::error!("the server cannot be told to end: {error}");
        std::process::exit(1);
    }
}
