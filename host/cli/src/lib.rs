//! Command line of the program, for users, clients and scripts.
//!
//! The functionality is in other crates, from the bottom: `scorpiox-workspace-config` (the effective policy),
//! `scorpiox-shell` (commands), `scorpiox-capabilities` (interfaces for components), `scorpiox-runtime`
//! (calls of components), `scorpiox-mcp` (protocol types), `scorpiox-tools` (available tools),
//! `scorpiox-server` (apps, workspaces, sessions), `scorpiox-transport-stdio` and `scorpiox-transport-http` (the transports).
//! [`auditing`] reads audit logs, and [`state`] opens the store that the policy selects.
//!
//! Invariant: this crate makes no policy decisions. It prints those of the crates that decide for clients.

pub mod auditing;
pub mod cli;
pub mod state;
