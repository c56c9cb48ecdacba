//! The operator's decisions about HTTP clients: authentication, permitted tools, limits, and workspaces.
//!
//! Reading order: [`HttpPolicy`] is `[http]`, with authentication in `auth`. [`Principal`] is an
//! authenticated client, and [`Who`] selects principals. [`AccessPolicy`] is `[access]`, [`LimitsPolicy`] is
//! `[limits]`, and [`ServedWorkspace`] is `[workspace.NAME]`. `parse` parses all of these, `render` writes
//! them, and [`notes`] reports valid settings that may be unintended.
//!
//! Invariants:
//! - The default is to deny: without `[http.auth]`, a client has to present the token that the program
//!   generated.
//! - A rule that allows tools denies all others.
//! - Every value in use knows its line.
//! - This crate reads no files.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod auth;
mod http;
mod limits;
mod notes;
mod parse;
mod principal;
mod render;
mod rules;
mod served;
mod who;

pub use auth::{Algorithm, Auth, Issuers, Jwt, KeysFrom, Token};
pub use http::{HttpPolicy, ObservePolicy, Tls};
pub use limits::{LimitRule, LimitsPolicy};
pub use notes::{Note, notes, observed_by_others, open_to_all, shared_folders};
pub(crate) use parse::read_group;
pub use parse::{read_access, read_http, read_limits, read_workspace};
pub use principal::Principal;
pub use render::{render_access, render_http, render_limits, render_workspace, token_table};
pub use rules::{AccessDenial, AccessPolicy, AccessRule};
pub use served::{DEFAULT_WORKSPACE, ServedWorkspace};
pub use who::Who;
