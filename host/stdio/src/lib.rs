//! The transport over standard input and output, or any other pair of streams: lines in, lines out.
//!
//! Reading order: [`server`] is a server's life, `reading` what its threads do, `workers` decides which thread
//! reads and which works, `batch` and `later` are what their names say, `stuck` notices a client that reads no
//! answers any more, [`streams`] are the process's own. What messages mean is the session's business: nothing here knows a method.

mod batch;
mod later;
mod reading;
mod server;
pub mod streams;
mod stuck;
mod workers;

use server::Input;
pub use server::{End, Server};
