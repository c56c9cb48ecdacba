//! What is known about the client of the handshake era.

use std::sync::{Mutex, PoisonError};

use crate::mcp::{ClientTraits, LogLevel, Revision};

/// Facts that the handshake and later messages establish.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)] // what a client can, each by itself
pub(crate) struct Facts {
    /// Negotiated by `initialize`; none before.
    pub revision: Option<Revision>,
    /// What is known of the client by its name.
    pub traits: &'static ClientTraits,
    /// The client said that it is ready for notifications.
    pub ready: bool,
    /// From which level on the client wants log messages.
    pub log_level: Option<LogLevel>,
    /// The client shows messages of `notifications/claude/channel`.
    pub channel: bool,
    /// The client shows forms to the person, in a revision that has such.
    pub elicits: bool,
    /// The client lets its model be asked.
    pub samples: bool,
}

/// The facts, shared by all threads.
#[derive(Debug, Default)]
pub(crate) struct Session(Mutex<Facts>);

impl Session {
    pub(crate) fn facts(&self) -> Facts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
