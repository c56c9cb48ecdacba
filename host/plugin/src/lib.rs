//! Plugins on disk: their manifests, the user's decisions about them, and detection of changes.
//!
//! Reading order: [`Manifest`] is the plugin's own description, and [`Asks`] the capabilities that it
//! requests. [`PluginFolder`] finds plugins in the program's directory, [`Decisions`] stores the approvals
//! and denials, and [`Status`] combines the two. [`Secrets`] holds values that the user sets for a plugin.
//! [`package`] packs and unpacks plugins, as an [`archive`] with fixed bytes.
//!
//! Invariants:
//! - An approval is stored completely, with the fingerprints of the files that it covers. A plugin gets the
//!   capabilities in the stored approval, never those in its current manifest.
//! - The approval of a directory applies to the path that it resolved to at that time. A directory that
//!   resolves to another path, or is reached through a link, is not covered.
//! - A changed file disables its plugin. Only a new decision enables it again.
//! - This crate never runs or compiles a component.

pub mod archive;
mod asks;
mod component_name;
mod decisions;
mod difference;
mod fingerprint;
mod hashes;
mod headers;
mod manifest;
mod name;
mod origin;
pub mod package;
mod plugin_folder;
mod secrets;
mod status;
mod tool_note;

pub use asks::{
    Ask, Asks, EnvAsk, FilesAsk, Limits, PlainAsk, Root, SamplingAsk, ShellAsk, WORKSPACE, WebAsk,
};
pub use component_name::ComponentName;
pub use decisions::{Approval, Decision, Decisions, DecisionsError, Pins, Record};
pub use difference::{Difference, Kind, Line, Version};
pub use fingerprint::{Fingerprint, Stamps};
pub use hashes::{ApprovalHash, Hashes, PluginHash, led_elsewhere};
pub use headers::Template;
pub use manifest::{MAX_MANIFEST_BYTES, MAX_TOOLS, Manifest, ManifestError, USUAL_TOOLS};
pub use name::{NameError, PluginName};
pub use origin::{Chosen, ORIGIN, Origin};
pub use plugin_folder::{
    Installed, MANIFEST, MAX_COMPONENT_BYTES, PluginFolder, SIGNATURE, read_file, read_signature,
};
pub use secrets::{
    MAX_SECRET_BYTES, SecretName, SecretNameError, SecretValue, SecretValueError, Secrets, SecretsError,
};
pub use status::{Change, Status};
pub use tool_note::{ImageType, ToolNote};
