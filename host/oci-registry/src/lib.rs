//! Transfers plugins over the network: downloads from OCI registries and `https` URLs, and uploads to
//! registries.
//!
//! Reading order: [`Address`] is the user's input. [`fetch`] downloads its content, through [`Registry`] or
//! from a URL. `manifest` parses the registry's metadata, `authorization` answers its challenges, and
//! [`push`] uploads.
//!
//! Invariants:
//! - Every request goes through [`scorpiox_web::Courier`], so that the operator's policy decides about each
//!   host.
//! - Returned digests are computed from the received bytes. Digests from a registry are compared, never
//!   trusted. A tag is resolved once.
//! - The size of a layer is known and within limits before it is requested.
//! - Credentials are sent only to their registry and to the one configured token host, and only over https
//!   or on this machine.
//!
//! This crate does not interpret the content, verify signatures, or decide whether a plugin may run.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod authorization;
mod challenge;
mod credentials;
mod digest;
mod error;
mod fetch;
mod keyring;
mod manifest;
mod push;
mod registry;
mod signatures;

pub use address::{Address, AddressError, FileAddress, Reference, Repository, Version};
pub use credentials::{Credentials, Keyring, NoCredentials};
pub use digest::Digest;
pub use error::RegistryError;
pub use fetch::{Fetched, Kind, fetch, fetch_file};
pub use keyring::OperatorKeyring;
pub use push::{Annotations, Artifact, Pushed, push};
pub use registry::{Patience, Registry};

use scorpiox_plugin::MAX_COMPONENT_BYTES;

/// Maximum size of a downloaded file: a component, plus the other contents of a pack.
pub const MAX_BYTES: u64 = MAX_COMPONENT_BYTES + 8 * 1024 * 1024;
/// Maximum size of a manifest or index. Those of components have two kilobytes; larger ones describe
/// something else.
const MAX_MANIFEST_BYTES: u64 = 256 * 1024;
/// Maximum size of a signature; the same as in plugins.
const MAX_SIGNATURE_BYTES: u64 = 4096;
/// Maximum number of signatures that are fetched, since everybody with push access can add some.
const MAX_SIGNATURES: usize = 4;

/// Media type of a component's only layer, and the type used by older tools.
const WASM_LAYERS: [&str; 2] = ["application/wasm", "application/vnd.wasm.content.layer.v1+wasm"];
/// Prefix of the media type of a pack.
const PACK_LAYER: &str = "application/vnd.scorpiox.plugin.v1+";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const WASM_CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
/// Artifact type of a signature among the referrers of a manifest.
const SIGNATURE_TYPE: &str = "application/vnd.scorpiox.minisign.v1";
