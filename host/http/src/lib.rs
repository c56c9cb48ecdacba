//! The transport over HTTP: many clients on one address, each with its requests and sessions.
//!
//! Reading order: [`listen`] takes connections, [`endpoint`] has what they share and takes a request through its checks
//! (`admission` those of its head, `claims`, `modern` and `params` those of its body), [`access`] says who a client is. `post`, `get`
//! and `end` answer by the method; `running` runs a message where there is a place (`places`), `stream` is what is said to a client on the way to its
//! answer, `events` writes that as server-sent events. `sessions` keeps the clients of the era with a handshake, whose ids
//! (`session_id`) outlive the process, as does what was `ended`.
//!
//! Invariants: nothing of a request is looked at before its sender is known, but for its head; what a session or a request
//! has is found by its own client alone; a client that reads nothing costs bounded memory, and no thread.

pub mod access;
mod admission;
mod answer;
mod claims;
mod encoded;
mod end;
mod ended;
mod endpoint;
mod events;
mod get;
mod listen;
mod modern;
mod params;
mod places;
mod post;
mod running;
mod session_id;
mod sessions;
mod stream;

pub use endpoint::url;
pub use listen::Server;
