//! The operator's policy.toml: what each tool may touch.
//!
//! Reading order: `layers` reads the two files there can be (`managed` says which text can be trusted to be the
//! machine's, `load` which to be the person's), `parse` turns it into the types of `shell`,
//! `profile`, `files`, `web`, `tools` and `plugins` over the defaults of `builtin`; `why` explains a
//! decision about a path, `narrow` intersects two profiles, `meet` two policies, `render` shows everything, `diff` what
//! differs.
//! What a single rule is about, and who wrote it, is in `scorpiox-rules`.
//!
//! Invariants:
//! - The file is taken whole or not at all, and every part of it is understood.
//! - Everything in use knows the line it comes from.
//! - Nothing here reads more than the two files, and nothing looks at the environment.
//! - A person's own file narrows what holds for all users of the machine, and never widens it.
//!   Links are not followed: paths that are asked about are resolved already.
//!
//! Enforcement is left to the sandbox and the proxy.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod audit;
mod builtin;
mod diff;
mod files;
mod layers;
mod load;
mod managed;
mod meet;
mod narrow;
mod parse;
mod plugins;
mod profile;
mod render;
mod rules;
mod search;
mod seen;
mod shell;
mod store;
mod tools;
mod web;
mod why;
mod workspaces;

use std::collections::BTreeMap;
use std::path::Path;

use scorpiox_access::{AccessPolicy, HttpPolicy, LimitsPolicy, ServedWorkspace};
use scorpiox_rules::Layer;

pub use audit::AuditPolicy;
pub use diff::differences;
pub use files::{FileDenial, FilesPolicy};
pub use layers::{Files, Loaded};
pub use load::quoted;
pub use managed::kept_from_others;
pub use parse::Idle;
pub use plugins::{
    Approve, Candidate, CredentialsFrom, PluginPattern, PluginsPolicy, RegistryLogin, Required, SecretFrom,
    Signed, SignedFile, Signer, Updates,
};
pub use profile::{Access, DEFAULT_PROFILE, EnvRules, Limits, Network, Origins, Profile, READONLY};
pub use render::render;
pub use rules::{Refusal, Rules};
pub use scorpiox_document::Problem;
pub use scorpiox_rules::{
    Begun, Denial, DeniedBelow, DenyRule, DenySet, Export, File, HostDecision, HostPattern, HostRule,
    HostRules, Invalid, LogServer, MANAGED_FILE, NamePattern, NetworkRule, PACKAGES, PROTECTED_IN_GIT,
    PathRule, Place, Places, Source, Sourced, TOOLCHAINS, Tier, covers, has_protected_name, is_name,
    is_protected_name, plain_protected_names, protected_below, protected_names, protected_names_in,
};
pub use search::{EnginePolicy, SearchPolicy};
pub use seen::note as seen_note;
pub use shell::{Grant, ShellGrant, ShellPolicy};
pub use store::{DatabasePolicy, StorePolicy};
pub use tools::ToolsPolicy;
pub use web::{Redirects, WebDenial, WebPattern, WebPolicy, WebRule, WebVerdict};
pub use why::Verdict;
pub use workspaces::WorkspacesPolicy;

/// Largest file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// All that the operator decided, over the built-in defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// `[shell]`: commands.
    pub shell: ShellPolicy,
    /// `[web]`: pages.
    pub web: WebPolicy,
    /// `[files]`: files that tools read.
    pub files: FilesPolicy,
    /// `[search]`: search engines.
    pub search: SearchPolicy,
    /// `[tools]`: which tools may be called.
    pub tools: ToolsPolicy,
    /// `[plugins]`: which plugins may be installed and run.
    pub plugins: PluginsPolicy,
    /// `[workspaces]`: which folders may be worked on.
    pub workspaces: WorkspacesPolicy,
    /// `[audit]`: what is recorded of calls.
    pub audit: AuditPolicy,
    /// `[store]`: where what tools keep is.
    pub store: StorePolicy,
    /// `[http]`: how the server may be reached over HTTP.
    pub http: HttpPolicy,
    /// `[access.NAME]`: which tools a principal may call.
    pub access: AccessPolicy,
    /// `[limits.NAME]`: how much a principal may have.
    pub limits: LimitsPolicy,
    /// `[workspace.NAME]`: folders that are served over HTTP, by name.
    pub served: BTreeMap<String, ServedWorkspace>,
    /// `[grant."NAME"]`: what single components are narrowed to, by name (`plugin/NAME` for a plugin).
    pub grants: BTreeMap<String, Grant>,
}

impl Policy {
    /// The policy when there is no file.
    pub fn builtin() -> Self {
        Self {
            shell: builtin::shell(),
            web: WebPolicy::builtin(),
            files: FilesPolicy::builtin(builtin::denied()),
            search: SearchPolicy::default(),
            tools: ToolsPolicy::builtin(),
            plugins: PluginsPolicy::builtin(),
            workspaces: WorkspacesPolicy::builtin(),
            audit: AuditPolicy::builtin(),
            store: StorePolicy::default(),
            http: HttpPolicy::builtin(),
            access: AccessPolicy::default(),
            limits: LimitsPolicy::default(),
            served: BTreeMap::new(),
            grants: BTreeMap::new(),
        }
    }

    /// Reads the text of a file; `path` is for messages only.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Problem> {
        parse::policy(text, path, Layer::Own, Self::builtin())
    }

    /// All mistakes of a text, for a person who mends it; none where it can be used.
    pub fn mistakes(text: &str, path: &Path) -> Vec<Problem> {
        parse::mistakes(text, path, Layer::Own, &Self::builtin())
    }

    /// The text of one file that may hold a policy, under the same conditions as [`Policy::load`].
    pub fn text(path: &Path) -> Result<Option<String>, Problem> {
        load::text(path)
    }

    /// Reads one file; an absent one gives [`Policy::builtin`]. A file that cannot be read,
    /// is larger than [`MAX_FILE_BYTES`], or that others than its owner (the process's
    /// user, or root) can write is a [`Problem`].
    pub fn load(path: &Path) -> Result<Self, Problem> {
        load::text(path)?.map_or_else(|| Ok(Self::builtin()), |text| Self::parse(&text, path))
    }
}
