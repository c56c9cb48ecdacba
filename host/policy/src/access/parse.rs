//! Strict parsers for `[http]`, `[access]`, `[limits]` and `[workspace.NAME]`.

mod access;
mod admin;
mod auth;
mod http;
mod limits;
mod observe;
mod words;
mod workspace;

pub use access::read_access;
pub use http::read_http;
pub use limits::read_limits;
pub(crate) use words::read_group;
pub use workspace::read_workspace;
