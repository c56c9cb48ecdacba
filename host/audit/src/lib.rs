//! Audit log: one line for each tool call, and the figures of running servers.
//!
//! Reading order: [`Uses`] collects the resources a call accessed, and [`Entry`] serializes them as a line.
//! [`Spool`] buffers lines, and [`Log`] writes them to disk, each with the hash of the previous line.
//! [`read`] reads them back, [`BackReader`] from the newest on, [`Filter`] selects lines, and [`verify()`] detects manipulation. [`Export`]
//! copies lines to another destination, where [`verify_copy`] checks the copy. [`Figures`] counts calls in
//! memory, and [`StatusFile`] publishes the counts to other processes.
//!
//! Invariants:
//! - A line is written completely by one system call, and there is only one writer at a time.
//! - Each line has the next sequence number and the hash of the previous line, across servers and files.
//! - Text from untrusted sources is stripped of control characters and truncated before it enters a line.
//! - Exports contain the lines as written, byte for byte and in order.
//! - The value of an argument appears in a line only through [`Entry::arguments`].
//!
//! The server decides what to record, according to the operator's policy.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod back;
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
mod left;
mod log;
pub mod read;
mod spool;
mod status_file;
mod system;
pub mod time;
mod trace;
mod uses;
mod verify;
mod watch;

pub use back::{BackReader, Position};
pub use chain::{Hash, Link};
pub use copy::{Begins, Breaks, Chain, Copied, Copies, LineHash, each_row, owner, verify_copy};
pub use entry::{ClientName, Component, Entry, NOT_RECORDED, Origin, Outcome, PluginLabel, Recorder};
pub use export::{Authorities, Export, ExportError, LogServer, Named, Sink, Target, Tell};
pub use figures::{Called, Cost, Counts, Figures, PrincipalFigures, ToolFigures};
pub use filter::{ComponentId, Filter, Glob};
pub use left::Waiting;
pub use log::{Bounds, Log, LogError};
pub use read::{Record, Use};
pub use scorpiox_text::{RuleTexts, principals};
pub use spool::Spool;
pub use status_file::{Posted, Server, StatusFile, posted};
pub use trace::Trace;
pub use uses::{APPROVAL, Aside, BUILT_IN, UnderPolicy, Uses};
pub use verify::{Break, Broken, Place, Verified, verify};
pub use watch::{FileNames, FileWatch};
