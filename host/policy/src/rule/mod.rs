//! The rules that make up a policy, each with a subject and a source.
//!
//! [`Place`] and [`PathRule`] match folders and files, [`DenySet`] matches denied files inside them,
//! [`HostRule`] and [`NetworkRule`] match hosts and addresses, [`LocalRule`] names services of the machine, and
//! [`NamePattern`] matches tools and plugins. [`Tier`] ranks sandboxes, and [`Export`] names a destination of the
//! audit log. Each rule is parsed from one value of the file. It can be matched against a subject and intersected with
//! another rule of its kind.
//!
//! Invariants:
//! - A rule is parsed completely, or rejected with a suggested fix ([`Invalid`]).
//! - A rule knows its [`Source`], so that each refusal can cite a line.
//! - Ambiguous input is never allowed: a host in an unusual spelling is denied.
//! - This crate reads no file and no environment variable, and follows no symbolic link: paths are already
//!   resolved.
//!
//! `scorpiox-policy` defines the set of rules and their precedence.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod deny;
mod export;
mod hosts;
mod invalid;
mod local;
mod names;
mod network;
mod obeyed;
mod place;
mod source;
mod tier;

pub use deny::{Begun, DeniedBelow, DenyRule, DenySet};
pub use export::{Export, LogServer, collector};
pub(crate) use hosts::WEB_PORTS;
pub use hosts::{Denial, Host, HostDecision, HostPattern, HostRule, HostRules, Odd, covers};
pub use invalid::{Invalid, shorten, shorten_address, suggest};
pub use local::{LocalRule, LocalService, MAX_LOCAL, PROXY_PORT, hands_out, local_entry};
pub use names::NamePattern;
pub use network::NetworkRule;
pub use obeyed::{
    is_name, is_protected_name, plain_protected_names, protected_below, protected_names, protected_names_in,
};
pub use place::{
    PACKAGES, PROTECTED_IN_GIT, PathRule, Place, Places, SYSTEM, TOOLCHAINS, has_protected_name, slashed,
};
pub(crate) use source::REPOSITORY_NAME;
pub use source::{File, Layer, MANAGED_FILE, REPOSITORY_FILE, Source, Sourced};
pub use tier::{Tier, UnknownTier};
