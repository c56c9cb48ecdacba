//! The rules that a policy is made of: what each is about, and who wrote it.
//!
//! [`Place`] and [`PathRule`] are about folders and files, [`DenySet`] about files that stay closed inside of them,
//! [`HostRule`] and [`NetworkRule`] about hosts and addresses, [`NamePattern`] about tools and plugins,
//! [`Tier`] about sandboxes, [`Export`] about places that lines of the audit go to.
//! Each rule is read from one value of the file, tells whether it is about something, and says what it has in common
//! with another rule.
//!
//! Invariants:
//! - A rule is read as a whole, or refused with what to write instead ([`Invalid`]).
//! - A rule knows its [`Source`], so that each refusal can name a line.
//! - What can be read in two ways is never allowed: a host that is not spelled plainly is denied.
//! - Nothing here reads a file or the environment, and no link is followed: paths are resolved already.
//!
//! Which rules there are, and which of them holds where there are several, is left to `scorpiox-policy`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod deny;
mod export;
mod hosts;
mod invalid;
mod names;
mod network;
mod obeyed;
mod place;
mod source;
mod tier;

pub use deny::{Begun, DeniedBelow, DenyRule, DenySet};
pub use export::{Export, LogServer, collector};
pub use hosts::{Denial, Host, HostDecision, HostPattern, HostRule, HostRules, Odd, covers};
pub use invalid::{Invalid, shorten, suggest};
pub use names::NamePattern;
pub use network::NetworkRule;
pub use obeyed::{
    is_name, is_protected_name, plain_protected_names, protected_below, protected_names, protected_names_in,
};
pub use place::{
    PACKAGES, PROTECTED_IN_GIT, PathRule, Place, Places, SYSTEM, TOOLCHAINS, has_protected_name, slashed,
};
pub use source::{File, Layer, MANAGED_FILE, Source, Sourced};
pub use tier::{Tier, UnknownTier};
