//! Installation of plugins.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, ensure};
use scorpiox_plugin::{ApprovalHash, Decisions, PluginFolder, PluginName, Record, Status};
use scorpiox_plugin_manager::install::{Keys, Look, Overrides, Source, is_still, replace};
use scorpiox_policy::Approve;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_workspace_config::Operator;

use super::address::Addresses;
use super::decide::{Said, judge, kept, not_approved, not_taken, recorded_judged, refused};
use crate::cli::environment::Environment;
use crate::cli::recorder::Recorder;

/// Name of the action in the audit.
const ADD: &str = "plugin add";

/// Path or address of a plugin, and the user's choices for it.
pub(super) type Given<'a> = (&'a Path, Overrides<'a>);

pub(super) fn run(
    environment: &Environment,
    (path, overrides): Given<'_>,
    said: Said<'_>,
) -> Result<ExitCode> {
    install(environment, ADD, &Addresses::new(environment).source(path, overrides)?, said)
}

/// Installs a plugin that was read from a directory, a file or an address.
pub(super) fn install(
    environment: &Environment,
    what: &str,
    source: &Source,
    said: Said<'_>,
) -> Result<ExitCode> {
    // Nothing is put in place that the policy requires a line for and that cannot have one.
    Recorder::new(environment).check()?;
    let plugin_folder = PluginFolder::new(&environment.own_home);
    // This order leaves an approved version unchanged until the new one is approved.
    let staged = source.stage(&plugin_folder)?;
    let mut look = Look::at(&environment.site(), staged.installed.clone(), Some(&source.anatomy))?;
    look.plain_names = said.plain_names || what != ADD && had_plain_names(environment, source.name())?;
    let is_meant = said.yes.is_none_or(|given| given == look.hashes().approval.as_str());
    // The verdict of the policy about a plugin that is added is shown, also if the plugin was approved before.
    let is_left = what != ADD || is_open_to_people(environment, &look);
    if is_meant && is_left && is_current(environment, &plugin_folder, &look)? {
        let version = format!("{} {}", source.name(), look.installed.manifest.version);
        let said = format!("{} is current: exactly this is installed and approved.", version.trim_end());
        terminal::print(&Shown::line(&said));
        return Ok(ExitCode::SUCCESS);
    }
    let judged = judge(environment, what, &look, said)?;
    if !judged.is_approved() && runs(environment, &plugin_folder, source.name())? {
        refused(environment, what, &look, judged);
        return Ok(not_taken(source.name(), judged));
    }
    let folder = plugin_folder.folder_of(source.name());
    let _alone = plugin_folder.lock().context("cannot wait for other processes that change plugins")?;
    // The approval covers the displayed files, even if they were changed while the user was reading.
    let meanwhile = "its files were changed while it was looked at; nothing was approved";
    ensure!(is_still(&staged.plugin_folder(), &look), "{}: {meanwhile}", source.name());
    recorded_judged(environment, what, &look, judged)?;
    replace(&staged.plugin, &folder)?;
    ensure!(is_still(&plugin_folder, &look), "{}: {meanwhile}", source.name());
    let installed =
        plugin_folder.find_settled(source.name()).map_err(|why| anyhow!("{}: {why}", folder.display()))?;
    let look = Look { stamps: installed.settled_stamps().copied(), installed, ..look };
    if judged.is_approved() {
        return kept(environment, &look);
    }
    Ok(not_approved(&look, judged))
}

/// Returns the keys of trusted signers. Without a usable policy, there are none.
pub(super) fn keys(environment: &Environment) -> Keys {
    Operator::new(environment.site()).policy().map(Keys::of).unwrap_or_default()
}

/// Prints the hash for `--yes` and for a policy's list, for reviewers who pass it on.
pub(super) fn hash(
    environment: &Environment,
    (path, overrides): Given<'_>,
    plain_names: bool,
) -> Result<ExitCode> {
    terminal::print(&Shown::line(hash_of(environment, (path, overrides), plain_names)?.as_str()));
    Ok(ExitCode::SUCCESS)
}

/// Returns the hash that identifies a plugin to users.
pub(super) fn hash_of(
    environment: &Environment,
    (path, overrides): Given<'_>,
    plain_names: bool,
) -> Result<ApprovalHash> {
    let source = Addresses::new(environment).source(path, overrides)?;
    let staged = source.stage(&PluginFolder::new(&environment.own_home))?;
    let mut look = Look::at(&environment.site(), staged.installed.clone(), Some(&source.anatomy))?;
    look.plain_names = plain_names;
    Ok(look.hashes().approval)
}

/// Returns `true` if the plugin is approved with unprefixed names. A new version inherits this.
fn had_plain_names(environment: &Environment, name: &PluginName) -> Result<bool> {
    Ok(Decisions::read(&environment.own_home)?.get(name).is_some_and(Record::has_plain_names))
}

/// Returns `true` if this exact version, with the same signature, is installed and approved.
fn is_current(environment: &Environment, plugin_folder: &PluginFolder, look: &Look) -> Result<bool> {
    let name = &look.installed.name;
    let Ok(installed) = plugin_folder.find(name) else { return Ok(false) };
    let decisions = Decisions::read(&environment.own_home)?;
    Ok(match Status::of(&installed, decisions.get(name)) {
        Status::Approved(approval) => look.is_as_approved(approval),
        _ => false,
    })
}

/// Returns `true` if the policy leaves a plugin to the user's approval.
fn is_open_to_people(environment: &Environment, look: &Look) -> bool {
    let operator = Operator::new(environment.site());
    operator.policy().is_ok_and(|policy| {
        let hashes = look.hashes();
        let is_denied = policy.plugins.check(&look.candidate(&hashes)).is_err();
        !is_denied && policy.plugins.approve.value == Approve::Person
    })
}

/// Returns `true` if a plugin of that name is installed and may run.
fn runs(environment: &Environment, plugin_folder: &PluginFolder, name: &PluginName) -> Result<bool> {
    let Ok(installed) = plugin_folder.find(name) else { return Ok(false) };
    let decisions = Decisions::read(&environment.own_home)?;
    Ok(matches!(Status::of(&installed, decisions.get(name)), Status::Approved(_)))
}
