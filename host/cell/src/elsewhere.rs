//! Systems that have no sandbox yet.
//!
//! Invariant: nothing runs. [`Cell`] and [`Running`] have no values, so what is done with one
//! is never reached.

use std::io;
use std::net::TcpListener;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;
use std::time::Duration;

use crate::seam::{CellError, Happened, Helper};
use crate::wire::{CellSpec, CommandSpec, Fault};
use crate::worker::{Entered, Work, WorkEnd};

/// A sandbox that is built and runs commands: there is none.
#[derive(Debug)]
pub enum Cell {}

/// A command that runs: there is none.
#[derive(Debug)]
pub enum Running {}

/// Does the helper's work, of which there is none.
pub fn helper_main() -> ExitCode {
    ExitCode::FAILURE
}

/// Nothing is started here that could get a descriptor.
pub fn start_clean() {}

/// Fails: strangers' bytes are worked on in a sandbox only.
pub fn run(_: Work<'_>, _: impl Fn() -> bool) -> Result<WorkEnd, CellError> {
    Err(CellError::NoSandbox)
}

/// Takes every right from this process, if it was started as a worker; here none is.
pub fn enter(_: impl FnOnce() -> io::Result<()>) -> Option<Result<Entered, Fault>> {
    None
}

impl Cell {
    /// Fails, in every tier: also for commands without a sandbox.
    pub fn build(_: &Helper, _: &CellSpec) -> Result<Self, CellError> {
        Err(CellError::NoSandbox)
    }

    /// A listener on [`crate::PROXY_PORT`] of the cell's own network, if it was to have one.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        match *self {}
    }

    /// Starts a command.
    pub fn run(&self, _: CommandSpec, _: Option<BorrowedFd<'_>>) -> Result<Running, CellError> {
        match *self {}
    }

    /// Ends the cell and everything in it.
    pub fn end(&self) {
        match *self {}
    }
}

impl Running {
    /// Waits until the command's sandbox is complete and its shell is about to run.
    pub fn wait_until_started(&mut self) -> Result<(), CellError> {
        match *self {}
    }

    /// A listener on [`crate::PROXY_PORT`] of the command's own network.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        match *self {}
    }

    /// Waits for what happens next.
    pub fn next(
        &mut self,
        _: Option<Duration>,
        _: Option<BorrowedFd<'_>>,
    ) -> Result<Happened<'_>, CellError> {
        match *self {}
    }

    /// Asks for the end.
    pub fn stop(&self, _gently: bool) {
        match *self {}
    }
}
