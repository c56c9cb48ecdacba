//! Finds tables with names of their own that nothing refers to, or that name nothing that is there: most of them are
//! misspelled.

use scorpiox_plugin::{PluginFolder, PluginName};
use scorpiox_policy::access::Note;
use scorpiox_policy::{Approve, ENGINES, Policy, Remember, Updates};

use super::check::did_you_mean;
use crate::cli::environment::Environment;

/// Returns the notes: the text before the rule, the rule, and the text after it.
pub(super) fn notes(environment: &Environment, policy: &Policy) -> Vec<Note> {
    let mut notes = engines(policy);
    notes.extend(approvers(policy));
    notes.extend(credentials(policy));
    notes.extend(approved(policy));
    notes.extend(signers(policy));
    notes.extend(secrets(environment, policy));
    notes
}

/// Finds search engines that WebSearch does not have.
fn engines(policy: &Policy) -> Vec<Note> {
    let unknown = policy.search.engines.iter().filter(|(name, _)| !ENGINES.contains(&name.as_str()));
    let note = |(name, engine): (&String, &scorpiox_policy::EnginePolicy)| {
        let near = match &*did_you_mean(name, &ENGINES) {
            "" => format!("; there are {}", ENGINES.join(", ")),
            near => near.to_owned(),
        };
        (format!("[search.engine.{name}]"), engine.source, format!(" is for no engine of WebSearch{near}"))
    };
    unknown.map(note).collect()
}

/// Finds approvers that no rule asks.
fn approvers(policy: &Policy) -> Vec<Note> {
    let asking: Vec<_> = policy.calls.0.iter().filter(|rule| rule.may_ask()).collect();
    let is_asked =
        |name: &str| asking.iter().any(|rule| rule.who.is_empty() || rule.who.iter().any(|who| who == name));
    let named: Vec<_> = asking.iter().flat_map(|rule| &rule.who).map(String::as_str).collect();
    let unused = policy.approvers.iter().filter(|(name, _)| !is_asked(name));
    let note = |(name, approver): (&str, &scorpiox_policy::Sourced<scorpiox_policy::Approver>)| {
        let near = did_you_mean(name, &named);
        let after = format!(" is asked by no rule: no [[rules]] that asks names it in `who`{near}");
        (format!("[approvers.{name}]"), approver.source, after)
    };
    unused.map(note).collect()
}

/// Finds credentials of approvers without a page to enter them on.
fn credentials(policy: &Policy) -> Vec<Note> {
    let has_pages = policy.http.admin.is_some();
    let unused = policy.approvers.iter().filter(|(_, approver)| approver.value.credential.is_some());
    let note = |(name, approver): (&str, &scorpiox_policy::Sourced<scorpiox_policy::Approver>)| {
        let after = " has a credential for /admin/approvals, and no [http.admin] opens that page".to_owned();
        (format!("[approvers.{name}]"), approver.source, after)
    };
    unused.filter(|_| !has_pages).map(note).collect()
}

/// Finds approvals that hold always without a rule that offers that to their approver.
fn approved(policy: &Policy) -> Vec<Note> {
    let offers = |name: &str| {
        let offering = policy.calls.0.iter().filter(|rule| rule.remember.contains(&Remember::Always));
        offering
            .into_iter()
            .any(|rule| rule.answered_by(&policy.approvers, None).any(|(known, _)| known == name))
    };
    let unused = policy.approved.iter().filter(|(_, entry)| !offers(&entry.value.by));
    let note = |(number, entry): (u64, &scorpiox_policy::Sourced<scorpiox_policy::Approved>)| {
        let by = &entry.value.by;
        let after =
            format!(" approves nothing: no rule offers \"always\" (`remember`) to the approver \"{by}\"");
        (format!("[approved.{number}]"), entry.source, after)
    };
    unused.map(note).collect()
}

/// Finds signers whose signature decides nothing.
fn signers(policy: &Policy) -> Vec<Note> {
    let plugins = &policy.plugins;
    let listed = || plugins.rules.allow.iter().chain(&plugins.rules.deny);
    let decides = |name: &str| {
        let demands =
            |required: &scorpiox_policy::Required| required.signers.iter().any(|signer| signer.name == name);
        listed().any(|rule| rule.value.signer() == Some(name)) || plugins.required.iter().any(demands)
    };
    let unused = plugins
        .signers
        .iter()
        .filter(|(name, signer)| !decides(name) && signer.value.updates == Updates::Person);
    let note = |(name, signer): (
        &String,
        &scorpiox_policy::Sourced<std::sync::Arc<scorpiox_policy::Signer>>,
    )| {
        let more = if plugins.approve.value == Approve::Policy { ", so it approves nothing" } else { "" };
        let after = format!(
            " decides nothing: no rule of [plugins] has \"signer:{name}\", `require_signature` is not set, and its \
             `approve` is \"person\"{more}"
        );
        (format!("[plugins.signers.{name}]"), signer.source, after)
    };
    unused.map(note).collect()
}

/// Finds secrets of plugins that are not installed here, or that have no such secret.
fn secrets(environment: &Environment, policy: &Policy) -> Vec<Note> {
    if policy.plugins.secrets.is_empty() {
        return Vec::new();
    }
    let installed: Vec<_> = PluginFolder::new(&environment.own_home).scan().into_iter().flatten().collect();
    let names: Vec<_> = installed.iter().map(|plugin| plugin.name.as_str()).collect();
    let note = |((plugin, secret), from): (&(String, String), &scorpiox_policy::Sourced<_>)| {
        let after = match installed.iter().find(|installed| installed.name.as_str() == plugin) {
            None if PluginName::try_from(plugin.clone()).is_err() => {
                format!(" is for no plugin: \"{plugin}\" is not a name of one")
            }
            None => format!(" is for a plugin that is not installed here{}", did_you_mean(plugin, &names)),
            Some(installed) => {
                let known: Vec<_> = installed.manifest.secrets.keys().map(ToString::to_string).collect();
                let known: Vec<_> = known.iter().map(String::as_str).collect();
                if known.contains(&secret.as_str()) {
                    return None;
                }
                format!(" is for a secret that {plugin} does not have{}", did_you_mean(secret, &known))
            }
        };
        Some((format!("[plugins.secrets.{plugin}.{secret}]"), from.source, after))
    };
    policy.plugins.secrets.iter().filter_map(note).collect()
}

/// Finds folders of `[workspaces]` that are reached by links: the folder that they lead to counts.
pub(super) fn linked_workspaces(operator: &scorpiox_workspace_config::Operator) -> Vec<Note> {
    let note = |linked: scorpiox_workspace_config::LinkedWorkspace| {
        let after = match &linked.leads_to {
            Some(folder) => format!(", which leads to {}: that folder counts", folder.display()),
            None => ", which is reached by a link that commands can change: it allows nothing; name what it leads to"
                .to_owned(),
        };
        (format!("`allow` of [workspaces] has \"{}\"", linked.rule.place), linked.rule.source, after)
    };
    operator.linked_workspaces().into_iter().flatten().map(note).collect()
}
