//! Parses, combines and explains the operator's policy.toml, which limits each tool.
//!
//! Reading order: `layers` reads the managed file, the user's file and the repository's file. `managed`, `load` and
//! `repository` check that each file may be used. `parse` turns the text into the types of `shell`, `profile`, `files`, `web`, `tools`
//! and `plugins`, starting from the defaults in `builtin`. `why` explains the decision for a path, `narrow`
//! intersects two profiles, and `meet` intersects two policies. `render` prints a policy, and `diff` prints
//! the differences between two.
//! `circumstances` has conditions on the workspace, the account, the client and the caller.
//! Single rules and their sources are defined in [`rule`], the syntax of a document in [`document`], and the
//! rules for HTTP clients in [`access`].
//!
//! Invariants:
//! - A file is accepted entirely or rejected; unknown keys are errors.
//! - Every rule and value in use knows the line it comes from.
//! - This crate reads only the policy files, and never the environment.
//! - The user's file narrows the managed policy and never widens it. The repository's file narrows both.
//! - Symbolic links are not followed: callers resolve a path before they query it.
//!
//! The sandbox and the proxy enforce the policy.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod access;
mod approved;
mod approvers;
mod audit;
mod builtin;
mod call_rules;
mod circumstances;
mod diff;
pub mod document;
mod files;
mod layers;
mod load;
mod managed;
mod meet;
mod narrow;
mod opened;
mod parse;
mod plugins;
mod profile;
mod render;
mod repository;
mod restrictions;
pub mod rule;
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
use std::sync::Arc;

use crate::access::{AccessPolicy, HttpPolicy, LimitsPolicy, ServedWorkspace};
use crate::rule::Layer;

pub use crate::document::Problem;
pub use crate::rule::{
    Begun, Denial, DeniedBelow, DenyRule, DenySet, Export, File, HostDecision, HostPattern, HostRule,
    HostRules, Invalid, LocalRule, LocalService, LogServer, MANAGED_FILE, NamePattern, NetworkRule, PACKAGES,
    PROTECTED_IN_GIT, PathRule, Place, Places, REPOSITORY_FILE, Source, Sourced, TOOLCHAINS, Tier, covers,
    hands_out, has_protected_name, is_name, is_protected_name, local_entry, plain_protected_names,
    protected_below, protected_names, protected_names_in,
};
pub use approved::{Approved, ApprovedCalls};
pub use approvers::{Approver, ApproverKey, Approvers};
pub use audit::AuditPolicy;
pub use call_rules::{
    Argument, CONNECTION, CallDecision, CallFacts, CallRule, CallRules, Channel, Covering, Programs,
    Remember, Then, Unknown, exact_arguments,
};
pub use circumstances::{
    Account, Circumstances, Conditions, FirstRead, ReadBefore, RemotePattern, Remotes, TextPattern,
    Unobserved,
};
pub use diff::{changed_sections, differences};
pub use files::{FileDenial, FilesPolicy};
pub use layers::{Files, Loaded, Stamps};
pub use load::{mend, quoted};
pub use managed::kept_from_others;
pub use parse::Idle;
pub use plugins::{
    Approve, Candidate, CredentialsFrom, PluginPattern, PluginsPolicy, RegistryLogin, Required, SecretFrom,
    Signed, SignedFile, Signer, Updates,
};
pub use profile::{
    Access, DEFAULT_PROFILE, EnvRules, Limits, Network, Origins, Profile, READONLY, UnknownHosts,
};
pub use render::render;
pub use restrictions::{Restriction, Written};
pub use rules::{Refusal, Rules};
pub use search::{ENGINES, EnginePolicy, SearchPolicy};
pub use seen::note as seen_note;
pub use shell::{Grant, ShellGrant, ShellPolicy};
pub use store::{DatabasePolicy, StorePolicy};
pub use tools::ToolsPolicy;
pub use web::{Redirects, WebDenial, WebPattern, WebPolicy, WebRule, WebVerdict};
pub use why::Verdict;
pub use workspaces::WorkspacesPolicy;

/// Maximum size of a policy file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// The complete policy: the operator's decisions on top of the built-in defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// `last_good`: `true` if the last valid managed file stays in force while the file is broken.
    pub last_good: Sourced<bool>,
    /// `[shell]`: rules for commands.
    pub shell: ShellPolicy,
    /// `[web]`: rules for fetching web pages.
    pub web: WebPolicy,
    /// `[files]`: files that tools may read.
    pub files: FilesPolicy,
    /// `[search]`: search engines.
    pub search: SearchPolicy,
    /// `[tools]`: tools that may be called.
    pub tools: ToolsPolicy,
    /// `[[rules]]`: calls that need an approval or are refused.
    pub calls: CallRules,
    /// `[approvers.NAME]`: people whose signatures answer questions of rules.
    pub approvers: Approvers,
    /// `[approved.NUMBER]`: approvals of single calls that hold always.
    pub approved: ApprovedCalls,
    /// `[[narrow]]`: restrictions under conditions.
    pub restrictions: Vec<Restriction>,
    /// Policy before a repository's file or restrictions narrowed it, if they did.
    before: Option<Arc<Policy>>,
    /// `[plugins]`: plugins that may be installed and run.
    pub plugins: PluginsPolicy,
    /// `[workspaces]`: folders that may be opened as a workspace.
    pub workspaces: WorkspacesPolicy,
    /// `[audit]`: recording of tool calls.
    pub audit: AuditPolicy,
    /// `[store]`: storage backend for tool data.
    pub store: StorePolicy,
    /// `[http]`: access to the server over HTTP.
    pub http: HttpPolicy,
    /// `[access.NAME]`: tools that a principal may call.
    pub access: AccessPolicy,
    /// `[limits.NAME]`: resource limits of a principal.
    pub limits: LimitsPolicy,
    /// `[workspace.NAME]`: folders served over HTTP, by name.
    pub served: BTreeMap<String, ServedWorkspace>,
    /// `[grant."NAME"]`: restrictions on single components, by name (`plugin/NAME` for a plugin).
    pub grants: BTreeMap<String, Grant>,
}

impl Policy {
    /// Returns the policy that applies without any policy file.
    pub fn builtin() -> Self {
        Self {
            last_good: Sourced::builtin(false),
            shell: builtin::shell(),
            web: WebPolicy::builtin(),
            files: FilesPolicy::builtin(builtin::denied()),
            search: SearchPolicy::default(),
            tools: ToolsPolicy::builtin(),
            calls: CallRules::default(),
            approvers: Approvers::default(),
            approved: ApprovedCalls::default(),
            restrictions: Vec::new(),
            before: None,
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

    /// Returns all conditions on circumstances.
    pub fn conditions(&self) -> impl Iterator<Item = &Conditions> {
        let restrictions = self.restrictions.iter().map(|restriction| &restriction.conditions);
        self.calls.0.iter().map(|rule| &rule.conditions).chain(restrictions)
    }

    /// Returns the policy before a repository's file or restrictions narrowed it. Commands of other calls may have the
    /// access that it grants.
    pub fn widest(&self) -> &Self {
        self.before.as_deref().unwrap_or(self)
    }

    /// Parses the text of a policy file; `path` appears only in messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Problem> {
        parse::policy(text, path, Layer::Own, Self::builtin())
    }

    /// Parses the text of a file as the managed file, which may have other keys than a user's.
    pub fn parse_managed(text: &str, path: &Path) -> Result<Self, Problem> {
        parse::policy(text, path, Layer::Managed, Self::builtin())
    }

    /// Returns all mistakes in a text as the managed file. Empty if the text is valid.
    pub fn managed_mistakes(text: &str, path: &Path) -> Vec<Problem> {
        parse::mistakes(text, path, Layer::Managed, &Self::builtin())
    }

    /// Returns all mistakes in a text, so that the user can fix them together. Empty if the text is valid.
    pub fn mistakes(text: &str, path: &Path) -> Vec<Problem> {
        parse::mistakes(text, path, Layer::Own, &Self::builtin())
    }

    /// Returns the text of a policy file, under the same conditions as [`Policy::load`].
    pub fn text(path: &Path) -> Result<Option<String>, Problem> {
        load::text(path)
    }

    /// Loads a policy file; an absent file gives [`Policy::builtin`].
    ///
    /// Fails if the file cannot be read or is larger than [`MAX_FILE_BYTES`]. Also fails if the file is
    /// writable by users other than its owner, or if the owner is neither root nor the user of this process.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        load::text(path)?.map_or_else(|| Ok(Self::builtin()), |text| Self::parse(&text, path))
    }
}
