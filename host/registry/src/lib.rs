//! Plugins over the network: from OCI registries and `https` addresses, and to registries.
//!
//! Reading order: [`Address`] is what a person types; [`fetch`] gets what is there, by [`Registry`] or from an address;
//! `manifest` reads what registries say, `authorization` answers their challenges, [`push`] uploads.
//!
//! Invariants:
//! - Every request goes through [`scorpiox_web::Courier`], so the operator's policy decides about each host.
//! - What is given back has the digest of the bytes that arrived. What a registry says of a digest is compared, and
//!   never believed. A tag is looked up once.
//! - The size of a layer is known, and within bounds, before it is asked for.
//! - Credentials go to the registry that they are for, and to the one host that is named beside them; over https, or on
//!   this machine.
//!
//! What the bytes are, who signed them and whether they may run is for others to say.

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

/// Largest file that is downloaded: a component, with room for what a pack has beside it.
pub const MAX_BYTES: u64 = MAX_COMPONENT_BYTES + 8 * 1024 * 1024;
/// Largest manifest or index. Those of components have two kilobytes; what is larger lists something else.
const MAX_MANIFEST_BYTES: u64 = 256 * 1024;
/// Largest signature: as plugins have them.
const MAX_SIGNATURE_BYTES: u64 = 4096;
/// Most signatures that are asked for: anybody who may push can add some.
const MAX_SIGNATURES: usize = 4;

/// The one layer of a component, and what older tools call it.
const WASM_LAYERS: [&str; 2] = ["application/wasm", "application/vnd.wasm.content.layer.v1+wasm"];
/// How the type of a layer begins that is a pack.
const PACK_LAYER: &str = "application/vnd.scorpiox.plugin.v1+";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const WASM_CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
/// What a signature is called among those who refer to a manifest.
const SIGNATURE_TYPE: &str = "application/vnd.scorpiox.minisign.v1";
