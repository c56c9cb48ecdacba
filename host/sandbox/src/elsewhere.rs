//! Systems without a sandbox.
//!
//! Invariant: nothing runs. [`Cell`] and [`Running`] have no values, so their methods are unreachable.

use std::time::Duration;

use crate::dialer::Dialer;
use crate::listeners::Listeners;
use crate::moves::Moves;
use crate::seam::{Bell, CellError, Happened, Helper};
use crate::wire::{CellSpec, CommandSpec};
use crate::worker::{Work, WorkEnd};

/// Sandbox for commands, which cannot be constructed.
#[derive(Debug)]
pub enum Cell {}

/// Running command, which cannot be constructed.
#[derive(Debug)]
pub enum Running {}

/// Fails: untrusted data is only processed in a sandbox.
pub fn run(_: Work<'_>, _: impl Fn() -> bool) -> Result<WorkEnd, CellError> {
    Err(CellError::NoSandbox)
}

impl Cell {
    /// Fails in every tier, including commands without a sandbox.
    pub fn build(_: &Helper, _: &CellSpec) -> Result<Self, CellError> {
        Err(CellError::NoSandbox)
    }

    /// Returns the listeners in the cell's own network.
    pub fn take_listeners(&mut self) -> Listeners {
        match *self {}
    }

    /// Returns the port of the proxy, if it is not [`crate::PROXY_PORT`].
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

    /// Returns the listeners in the command's own network.
    pub fn take_listeners(&mut self) -> Listeners {
        match *self {}
    }

    /// Returns the way to the command's servers.
    pub fn take_dialer(&mut self) -> Option<Dialer> {
        match *self {}
    }

    /// Waits for the next event.
    pub fn next(&mut self, _: Option<Duration>, _: Option<Bell<'_>>) -> Result<Happened<'_>, CellError> {
        match *self {}
    }

    /// Ends the command.
    pub fn stop(&self, _gently: bool) {
        match *self {}
    }
}
