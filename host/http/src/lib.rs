//! The transport over HTTP: many clients on one address, each with its requests and sessions.
//!
//! Reading order: [`listen`] takes connections, which `tls` encrypts (`descriptors` lets there be many), [`endpoint`] has what they share and takes a request through its
//! checks (`scorpiox-http-request` knows those of its head and its body). `callers` says who sends it, by a
//! token or by what an `issuer` signed, `challenge` tells others how they get in, `cors` lets
//! pages of a browser call. `served` has the workspaces. `lookups` ask the database whether a session has ended. Bounds, and the threads for what may block, are those of `scorpiox-http-bounds`. `post`, `get` and `end` answer by the method; `running` runs a message where there is a place, `stream` is what is said to a client on the way to its
//! answer, and stays as far as there is room (`kept`), `events` writes that as server-sent events. `sessions` keeps the clients of the era with a handshake, whose ids
//! (`scorpiox-http-request` makes them) outlive the process, as does what was `ended`; what is for another server is `passed` on; `visits` records what comes to no call; [`files`] are those of the transport. [`pages`] are for people, on `paper` for browsers.
//!
//! Invariants: nothing of a request is looked at before its sender is known, but for its head; what a session or a request
//! has is found by its own client alone; a client that reads nothing costs bounded memory, and no thread; a thread that carries
//! connections waits for nothing.

mod answer;
mod callers;
mod challenge;
mod cors;
mod descriptors;
mod end;
mod ended;
mod endpoint;
mod events;
pub mod files;
mod fresh;
mod get;
mod kept;
mod listen;
mod lookups;
pub mod pages;
mod paper;
mod passed;
mod post;
mod running;
mod served;
mod sessions;
mod shared;
mod stream;
mod tls;
mod visits;

pub use callers::sha256;
pub use endpoint::{listening_address, url};
pub use listen::{Load, Server, check_policy};
