//! What is known about the client of the handshake era.

use scorpiox_mcp::{ClientTraits, LogLevel, Revision};

/// Facts that the handshake and later messages establish.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)] // what a client can, each by itself
pub struct Facts {
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
    /// The client says which folders it works on.
    pub roots: bool,
}
