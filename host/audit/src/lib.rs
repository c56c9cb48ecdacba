//! What tools did: a line for each call, and the figures of running servers.
//!
//! Reading order: [`Uses`] is what one call touched, [`Entry`] makes a line of it, [`Spool`] keeps
//! lines until they are written and [`Log`] writes them, each with the hash of the one before it; [`read`] gives them
//! back, as far as a [`Filter`] wants, a [`Report`] sums them up, and [`verify()`] finds what was done to them. An
//! [`Export`] sends what was written to another place, where [`verify_copy`] checks it. [`Figures`] counts in memory,
//! and a [`StatusFile`] shows the counts to other processes.
//!
//! Invariants:
//! - A line is written whole, by one system call, and by one writer at a time.
//! - Each line has the next number and the hash of the line before it, whoever wrote that, in whatever file it is.
//! - Text that others chose has no control characters and is bounded before it gets into a line.
//! - What is exported is what was written, byte for byte and in its order.
//! - An argument's value is in a line only where [`Entry::arguments`] has it.
//!
//! When something is recorded, and what the operator wants, is left to the server.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod chain;
mod copy;
mod entry;
mod export;
mod figures;
mod files;
mod filter;
mod head;
mod histogram;
mod holder;
mod log;
pub mod read;
mod spool;
mod status_file;
mod system;
pub mod time;
mod trace;
mod uses;
mod verify;

pub use chain::{Hash, Link};
pub use copy::{Begins, Breaks, Chain, Copied, Copies, LineHash, each_row, owner, verify_copy};
pub use entry::{ClientName, Component, Entry, NOT_RECORDED, Origin, Outcome, PluginLabel, Recorder};
pub use export::{Authorities, Export, ExportError, LogServer, Named, Sink, Target, Tell};
pub use figures::{Called, Cost, Counts, Figures, PrincipalFigures, ToolFigures};
pub use filter::{ComponentId, Filter, Glob};
pub use log::{Bounds, Log, LogError};
pub use read::{Record, Use};
pub use scorpiox_text::{RuleTexts, principals};
pub use spool::Spool;
pub use status_file::{Posted, Server, StatusFile, posted};
pub use trace::Trace;
pub use uses::{APPROVAL, BUILT_IN, Uses};
pub use verify::{Break, Broken, Place, Verified, verify};
