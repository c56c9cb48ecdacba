//! Plugins on disk: what they ask for, what a person approved, and whether they are still that.
//!
//! Reading order: [`Manifest`] is a plugin's own word, [`Asks`] what it wants to touch; [`Shelf`]
//! finds plugins in the program's own folder; [`Ledger`] keeps what was decided about them;
//! [`Status`] joins the two.
//!
//! Invariants:
//! - What was approved is stored whole, with the fingerprints of the files it was approved for.
//!   A plugin gets what the ledger says, never what its manifest says now.
//! - A folder that was approved is the one that its path led to then. What leads elsewhere now, or
//!   through a link, is not it.
//! - A file that changed disables its plugin; nothing enables it but a decision.
//! - Nothing here runs or compiles a component.

mod asks;
mod fingerprint;
mod ledger;
mod manifest;
mod name;
mod shelf;
mod status;

pub use asks::{Ask, Asks, EnvAsk, FilesAsk, Limits, PlainAsk, SamplingAsk, ShellAsk, WORKSPACE, WebAsk};
pub use fingerprint::{Fingerprint, Stamps};
pub use ledger::{Approval, Decision, Ledger, LedgerError, Pins, Record};
pub use manifest::{MAX_MANIFEST_BYTES, Manifest, ManifestError, ToolNote};
pub use name::{NameError, PluginName};
pub use shelf::{Installed, MANIFEST, MAX_COMPONENT_BYTES, SIGNATURE, Shelf, read_file, read_signature};
pub use status::{Change, Status};
