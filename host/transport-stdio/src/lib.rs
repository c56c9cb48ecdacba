//! The transport over standard input and output, or any other pair of streams, with one message per line.
//!
//! Reading order: [`server`] is the lifecycle of a server, `reading` is the work of its threads, and
//! `workers` decides which thread reads and which ones run calls. `batch` runs batches, `later` defers
//! startup work, `stuck` detects a client that stopped reading, and [`streams`] opens the process's streams,
//! which [`blocking`] makes blocking. This crate knows no method; the session interprets messages.

mod batch;
pub mod blocking;
mod later;
mod reading;
mod server;
pub mod streams;
mod stuck;
mod workers;

use server::Input;
pub use server::{End, Server};
