//! Intersects two policies, key by key.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::access::{AccessPolicy, LimitsPolicy};
use crate::rule::{DenyRule, File, NamePattern, NetworkRule, PathRule, Places, Source, Sourced};

use crate::Policy;
use crate::audit::AuditPolicy;
use crate::files::FilesPolicy;
use crate::narrow::{least, meet_all};
use crate::plugins::{PluginPattern, PluginsPolicy, Signer};
use crate::profile::{DEFAULT_PROFILE, Profile};
use crate::rules::Rules;
use crate::search::{EnginePolicy, SearchPolicy};
use crate::shell::{Grant, ShellPolicy};
use crate::web::{Redirects, WebPolicy};
use crate::workspaces::WorkspacesPolicy;

impl Policy {
    /// Returns the intersection with a policy that was parsed on top of this one. Where both are equal, the
    /// result cites this policy as the source.
    pub(crate) fn narrowed_by(&self, by: &Self, places: &Places) -> Self {
        Self {
            last_good: self.last_good.clone(),
            shell: shell(&self.shell, &by.shell, places),
            web: web(&self.web, &by.web),
            files: files(&self.files, &by.files, places),
            search: search(&self.search, &by.search),
            audit: audit(&self.audit, &by.audit),
            grants: grants(&self.grants, &by.grants),
            tools: rules(&self.tools, &by.tools, NamePattern::meet),
            calls: self.calls.and(&by.calls),
            approvers: self.approvers.meet(&by.approvers),
            approved: self.approved.meet(&by.approved),
            restrictions: crate::restrictions::union(&self.restrictions, &by.restrictions),
            before: None,
            plugins: plugins(&self.plugins, &by.plugins),
            workspaces: workspaces(&self.workspaces, &by.workspaces, places),
            // The user cannot override the managed storage location.
            store: if self.store.source.is_some() { &self.store } else { &by.store }.clone(),
            // The user cannot override the managed rules on who may connect, and where.
            http: if self.http.is_set() { &self.http } else { &by.http }.clone(),
            served: if self.served.is_empty() { &by.served } else { &self.served }.clone(),
            access: access(&self.access, &by.access),
            limits: limits(&self.limits, &by.limits),
        }
    }
}

impl Policy {
    /// Returns the intersection with the policy of a repository, or of a restriction. Only its rules for commands, pages,
    /// files, tools and single calls have an effect. Refusals name `file` as the one to edit.
    pub(crate) fn narrowed_as(&self, by: &Self, places: &Places, file: File) -> Self {
        let narrowed = self.narrowed_by(by, places);
        let mut shell = narrowed.shell;
        for (name, profile) in &mut shell.profiles {
            if self.shell.profiles.get(name) != Some(profile) {
                profile.origins.file = file;
            }
        }
        let is_same_web = self.web == by.web;
        let is_same_files = self.files == by.files;
        Self {
            shell,
            web: if is_same_web { self.web.clone() } else { WebPolicy { file, ..narrowed.web } },
            files: if is_same_files { self.files.clone() } else { FilesPolicy { file, ..narrowed.files } },
            tools: if self.tools == by.tools { self.tools.clone() } else { narrowed.tools },
            calls: narrowed.calls,
            before: Some(self.before.clone().unwrap_or_else(|| Arc::new(self.clone()))),
            ..self.clone()
        }
    }

    /// Marks the policy as managed, so that refusals name the managed file as the one to edit.
    pub(crate) fn for_all(mut self) -> Self {
        (self.web.file, self.files.file) = (File::Managed, File::Managed);
        self.shell.profiles.values_mut().for_each(|profile| profile.origins.file = File::Managed);
        self
    }

    /// Drops the managed policies that were narrowed, so that effective policies can be compared.
    pub(crate) fn without_outer(mut self) -> Self {
        self.shell.profiles.values_mut().for_each(|profile| profile.outer = None);
        (self.web.outer, self.files.outer, self.workspaces.outer) = (None, None, None);
        (self.tools.outer, self.plugins.rules.outer, self.access.outer) = (None, None, None);
        self.limits.outer = None;
        self.before = None;
        // Their keys say what they are; the rest of their policies depends on other keys.
        self.restrictions.iter_mut().for_each(|restriction| restriction.by = Arc::new(Self::builtin()));
        self
    }
}

/// Requires both policies to allow a tool.
fn access(own: &AccessPolicy, by: &AccessPolicy) -> AccessPolicy {
    if own == by || own.is_empty() {
        return by.clone();
    }
    AccessPolicy { rules: by.rules.clone(), outer: Some(Box::new(own.clone())) }
}

/// Applies the limits of both policies.
fn limits(own: &LimitsPolicy, by: &LimitsPolicy) -> LimitsPolicy {
    if own == by || own.is_empty() {
        return by.clone();
    }
    LimitsPolicy { rules: by.rules.clone(), outer: Some(Box::new(own.clone())) }
}

/// Returns the larger value, with its source.
fn most<T: Ord + Clone>(own: &Sourced<T>, by: &Sourced<T>) -> Sourced<T> {
    if by.value > own.value { by.clone() } else { own.clone() }
}

/// Returns the intersection of two lists, and the source of the deciding one.
fn both<T: Clone + PartialEq>(
    (own, origin): (&[T], Source),
    (by, narrower): (&[T], Source),
    meet: impl Fn(&T, &T) -> Option<T>,
) -> (Vec<T>, Source) {
    if own == by {
        return (own.to_vec(), origin);
    }
    let mut shared: Vec<T> = Vec::new();
    for rule in own.iter().flat_map(|one| by.iter().filter_map(|other| meet(one, other))) {
        if !shared.contains(&rule) {
            shared.push(rule);
        }
    }
    (shared, narrower)
}

/// Returns the union of two lists, and the source of the deciding one.
fn either<T: Clone>(
    (own, origin): (&[T], Source),
    (by, narrower): (&[T], Source),
    same: impl Fn(&T, &T) -> bool,
) -> (Vec<T>, Source) {
    let more: Vec<_> = by.iter().filter(|rule| !own.iter().any(|other| same(rule, other))).cloned().collect();
    let origin = if more.is_empty() { origin } else { narrower };
    (own.iter().cloned().chain(more).collect(), origin)
}

fn shell(own: &ShellPolicy, by: &ShellPolicy, places: &Places) -> ShellPolicy {
    let mut profiles = own.profiles.clone();
    for (name, narrower) in &by.profiles {
        // A profile that only the user defines starts from the default profile, and allows no more than that
        // one.
        let Some(wider) = own.profiles.get(name).or_else(|| own.profiles.get(DEFAULT_PROFILE)) else {
            continue;
        };
        if wider == narrower {
            continue;
        }
        let mut narrowed = wider.narrowed(narrower, places);
        // Managed variables win: programs may rely on them.
        narrowed.env.set.extend(wider.env.set.clone());
        let outer = Some(Box::new(wider.clone()));
        // The user can allow again in the own file whatever the managed profile allows.
        narrowed.origins.file = File::Own;
        profiles.insert(name.clone(), Profile { name: name.clone(), outer, ..narrowed });
    }
    ShellPolicy {
        min_tier: most(&own.min_tier, &by.min_tier),
        allow_unsandboxed: least(&own.allow_unsandboxed, &by.allow_unsandboxed),
        default_timeout: least(&own.default_timeout, &by.default_timeout),
        max_timeout: least(&own.max_timeout, &by.max_timeout),
        max_background_tasks: least(&own.max_background_tasks, &by.max_background_tasks),
        profiles,
    }
}

fn web(own: &WebPolicy, by: &WebPolicy) -> WebPolicy {
    let (allow, allow_origin) =
        both((&own.allow, own.allow_origin), (&by.allow, by.allow_origin), super::web::WebRule::meet);
    let (deny, deny_origin) =
        either((&own.deny, own.deny_origin), (&by.deny, by.deny_origin), |one, other| {
            one.pattern == other.pattern
        });
    let (allow_private, private_origin) = both(
        (&own.allow_private, own.private_origin),
        (&by.allow_private, by.private_origin),
        NetworkRule::meet,
    );
    let strict = |redirects: &Sourced<Redirects>| redirects.value == Redirects::SameHost;
    WebPolicy {
        enabled: least(&own.enabled, &by.enabled),
        allow,
        allow_origin,
        deny,
        deny_origin,
        allow_private,
        private_origin,
        redirects: if strict(&own.redirects) { own.redirects.clone() } else { by.redirects.clone() },
        browser: least(&own.browser, &by.browser),
        // The user cannot override the managed browser.
        browser_path: own.browser_path.clone().or_else(|| by.browser_path.clone()),
        outer: Some(Box::new(own.clone())),
        file: File::Own,
    }
}

fn files(own: &FilesPolicy, by: &FilesPolicy, places: &Places) -> FilesPolicy {
    let (deny, deny_origin) =
        either((&own.deny, own.deny_origin), (&by.deny, by.deny_origin), DenyRule::says_no_more_than);
    let (read, read_origin) = paths((&own.read, own.read_origin), (&by.read, by.read_origin), places);
    FilesPolicy {
        read,
        read_origin,
        deny,
        deny_origin,
        seen: own
            .seen
            .iter()
            .chain(by.seen.iter().filter(|rule| !own.seen.contains(rule)))
            .cloned()
            .collect(),
        is_like_commands: by.is_like_commands,
        outer: Some(Box::new(own.clone())),
        file: File::Own,
    }
}

fn paths(own: (&[PathRule], Source), by: (&[PathRule], Source), places: &Places) -> (Vec<PathRule>, Source) {
    if own.0 == by.0 { (own.0.to_vec(), own.1) } else { (meet_all(own.0, by.0, places), by.1) }
}

fn workspaces(own: &WorkspacesPolicy, by: &WorkspacesPolicy, places: &Places) -> WorkspacesPolicy {
    let allow = match (&own.allow, &by.allow) {
        (None, other) | (other, None) => other.clone(),
        (Some(one), Some(other)) => Some(meet_all(one, other, places)),
    };
    let origin = if own.allow == allow { own.origin } else { by.origin };
    WorkspacesPolicy { allow, origin, outer: Some(Box::new(own.clone())) }
}

fn search(own: &SearchPolicy, by: &SearchPolicy) -> SearchPolicy {
    let mut engines = by.engines.clone();
    for (name, decided) in &own.engines {
        let wish = engines.remove(name);
        let wish = wish.as_ref();
        let enabled = match (&decided.enabled, wish.and_then(|wish| wish.enabled.as_ref())) {
            (Some(one), Some(other)) => Some(least(one, other)),
            (one, other) => one.as_ref().or(other).cloned(),
        };
        // The user cannot redirect the queries of a managed engine.
        let base_url = decided.base_url.as_ref().or(wish.and_then(|wish| wish.base_url.as_ref())).cloned();
        let key = decided.key.as_ref().or(wish.and_then(|wish| wish.key.as_ref())).cloned();
        engines.insert(name.clone(), EnginePolicy { enabled, base_url, key, source: decided.source });
    }
    SearchPolicy { engines }
}

fn plugins(own: &PluginsPolicy, by: &PluginsPolicy) -> PluginsPolicy {
    // A signer allows nothing by itself, only through a rule, and rules are intersected below.
    let mut signers = by.signers.clone();
    for (name, decided) in &own.signers {
        // The parser rejects a different signer under a managed name. The same signer may get weaker update
        // rights from the user.
        let is_narrower = |wish: &Sourced<Arc<Signer>>| {
            wish.value.says_the_same(&decided.value) && wish.value.updates < decided.value.updates
        };
        if !signers.get(name).is_some_and(is_narrower) {
            signers.insert(name.clone(), decided.clone());
        }
    }
    let more = by.required.iter().filter(|required| !own.required.contains(required));
    PluginsPolicy {
        rules: rules(&own.rules, &by.rules, PluginPattern::meet),
        approve: most(&own.approve, &by.approve),
        signers,
        required: own.required.iter().chain(more).cloned().collect(),
        // The user cannot override the managed plugin index.
        index: own.index.clone().or_else(|| by.index.clone()),
        // Nor the managed credentials for registries.
        registries: by.registries.clone().into_iter().chain(own.registries.clone()).collect(),
        // Nor the managed locations of plugin secrets.
        secrets: by.secrets.clone().into_iter().chain(own.secrets.clone()).collect(),
    }
}

/// Combines two audit policies so that the result records no less, retains no shorter, and exports to no
/// fewer destinations.
fn audit(own: &AuditPolicy, by: &AuditPolicy) -> AuditPolicy {
    let (export, export_origin) =
        either((&own.export, own.export_origin), (&by.export, by.export_origin), |one, other| {
            one.value == other.value
        });
    AuditPolicy {
        enabled: most(&own.enabled, &by.enabled),
        arguments: most(&own.arguments, &by.arguments),
        required: most(&own.required, &by.required),
        max_file_size: most(&own.max_file_size, &by.max_file_size),
        max_files: most(&own.max_files, &by.max_files),
        export,
        export_origin,
        // The user cannot override the authorities that the managed log servers are verified with.
        export_ca: if own.export.is_empty() { by.export_ca.clone() } else { own.export_ca.clone() },
    }
}

/// Runs a component's commands under every profile that either policy names for it.
fn grants(own: &BTreeMap<String, Grant>, by: &BTreeMap<String, Grant>) -> BTreeMap<String, Grant> {
    let mut grants = by.clone();
    for (name, decided) in own {
        let mut grant = decided.clone();
        let wish = grants.remove(name).map(|wish| wish.shell).unwrap_or_default();
        grant.shell.extend(wish.into_iter().filter(|shell| !decided.shell.contains(shell)));
        // An empty managed grant leaves the commands alone for all users.
        if decided.shell.is_empty() {
            grant.shell.clear();
        }
        grants.insert(name.clone(), grant);
    }
    grants
}

fn rules<T: Clone + PartialEq>(
    own: &Rules<T>,
    by: &Rules<T>,
    meet: impl Fn(&T, &T) -> Option<T>,
) -> Rules<T> {
    let narrower = |one: &Sourced<T>, other: &Sourced<T>| {
        let value = meet(&one.value, &other.value)?;
        let source = if value == one.value { one.source } else { other.source };
        Some(Sourced { value, source })
    };
    let (allow, allow_origin) = both((&own.allow, own.allow_origin), (&by.allow, by.allow_origin), narrower);
    let (deny, deny_origin) =
        either((&own.deny, own.deny_origin), (&by.deny, by.deny_origin), |one, other| {
            one.value == other.value
        });
    Rules { allow, allow_origin, deny, deny_origin, outer: Some(Box::new(own.clone())) }
}

#[cfg(test)]
mod tests;
