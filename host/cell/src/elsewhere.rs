//! Systems that have no sandbox yet.
//!
//! Invariant: nothing runs. [`Cell`] and [`Running`] have no values, so what is done with one
//! is never reached.

use std::net::TcpListener;
use std::time::Duration;

use crate::moves::Moves;
use crate::seam::{Bell, CellError, Happened, Helper};
use crate::wire::{CellSpec, CommandSpec};
use crate::worker::{Work, WorkEnd};

/// A sandbox that is built and runs commands: there is none.
#[derive(Debug)]
pub enum Cell {}

/// A command that runs: there is none.
#[derive(Debug)]
pub enum Running {}

/// Fails: strangers' bytes are worked on in a sandbox only.
pub fn run(_: Work<'_>, _: impl Fn() -> bool) -> Result<WorkEnd, CellError> {
    Err(CellError::NoSandbox)
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

    /// Where commands find the proxy, if not at [`crate::PROXY_PORT`].
    pub fn proxy_port(&self) -> Option<u16> {
        match *self {}
    }

    /// Starts a command.
    pub fn run(&self, _: CommandSpec, _: Option<Bell<'_>>, _: Option<&Moves>) -> Result<Running, CellError> {
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
    pub fn next(&mut self, _: Option<Duration>, _: Option<Bell<'_>>) -> Result<Happened<'_>, CellError> {
        match *self {}
    }

    /// Asks for the end.
    pub fn stop(&self, _gently: bool) {
        match *self {}
    }
}
