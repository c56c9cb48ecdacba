//! Plugins on disk: what they ask for, what a person approved, and whether they are still that.
//!
//! Reading order: [`Manifest`] is a plugin's own word, [`Asks`] what it wants to touch; [`PluginFolder`]
//! finds plugins in the program's own folder; [`Decisions`] keeps what was decided about them;
//! [`Status`] joins the two; [`Secrets`] are what a person gave a plugin beside that.
//!
//! Invariants:
//! - What was approved is stored whole, with the fingerprints of the files it was approved for.
//!   A plugin gets what the ledger says, never what its manifest says now.
//! - A folder that was approved is the one that its path led to then. What leads elsewhere now, or
//!   through a link, is not it.
//! - A file that changed disables its plugin; nothing enables it but a decision.
//! - Nothing here runs or compiles a component.

mod asks;
mod decisions;
mod difference;
mod fingerprint;
mod hashes;
mod headers;
mod manifest;
mod name;
mod origin;
mod plugin_folder;
mod secrets;
mod status;
mod tool_note;

pub use asks::{Ask, Asks, EnvAsk, FilesAsk, Limits, PlainAsk, SamplingAsk, ShellAsk, WORKSPACE, WebAsk};
pub use decisions::{Approval, Decision, Decisions, DecisionsError, Pins, Record};
pub use difference::{Difference, Kind, Line, Version};
pub use fingerprint::{Fingerprint, Stamps};
pub use hashes::{ApprovalHash, Hashes, PluginHash, led_elsewhere};
pub use headers::Template;
pub use manifest::{MAX_MANIFEST_BYTES, Manifest, ManifestError};
pub use name::{MAX_TOOL_NAME_CHARS, NameError, PluginName, has_letters_of_a_tool, is_tool_name};
pub use origin::{ORIGIN, Origin};
pub use plugin_folder::{
    Installed, MANIFEST, MAX_COMPONENT_BYTES, PluginFolder, SIGNATURE, read_file, read_signature,
};
pub use secrets::{
    MAX_SECRET_BYTES, SecretName, SecretNameError, SecretValue, SecretValueError, Secrets, SecretsError,
};
pub use status::{Change, Status};
pub use tool_note::{ImageType, ToolNote};
