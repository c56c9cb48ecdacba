//! What an operator decides about clients over HTTP: who they are, which tools they may call, and where they work.
//!
//! Reading order: [`HttpPolicy`] is `[http]` (`auth` says how clients say who they are), [`Principal`] is who one is, [`Who`] says for whom something is, [`AccessPolicy`]
//! is `[access]`, [`LimitsPolicy`] is `[limits]`, [`ServedWorkspace`] is `[workspace.NAME]`; `parse` reads all of it, `render` writes it again, [`notes`] says what
//! was perhaps not meant.
//!
//! Invariants: what is not said is closed: without `[http.auth]` a client has to show the token that the program made;
//! a rule that opens something closes the rest; everything in use knows its line. Nothing here reads a file.

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
pub use notes::{Note, notes, open_to_all};
pub use parse::{read_access, read_http, read_limits, read_workspace};
pub use principal::Principal;
pub use render::{render_access, render_http, render_limits, render_workspace, token_table};
pub use rules::{AccessDenial, AccessPolicy, AccessRule};
pub use served::{DEFAULT_WORKSPACE, ServedWorkspace};
pub use who::Who;
