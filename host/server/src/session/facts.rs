//! Known facts about a client of a revision with a handshake.

use scorpiox_mcp::{ClientTraits, LogLevel, Revision};

/// Facts established by the handshake and later messages.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)] // independent client capabilities
pub struct Facts {
    /// Revision negotiated by `initialize`, or `None` before.
    pub revision: Option<Revision>,
    /// Known properties of the client, by its name.
    pub traits: &'static ClientTraits,
    /// `true` once the client is ready for notifications.
    pub ready: bool,
    /// Minimum level of log messages that the client wants.
    pub log_level: Option<LogLevel>,
    /// `true` if the client shows `notifications/claude/channel` messages.
    pub channel: bool,
    /// `true` if the client shows forms to the user, and the revision has them.
    pub elicits: bool,
    /// `true` if the client allows sampling of its model.
    pub samples: bool,
    /// `true` if the client lists its roots.
    pub roots: bool,
}
