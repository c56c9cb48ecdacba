//! `[http]`, `[access]` and `[workspace.NAME]`, strictly.

mod access;
mod auth;
mod http;
mod words;
mod workspace;

pub use access::read_access;
pub use http::read_http;
pub use workspace::read_workspace;
