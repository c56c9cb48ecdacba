//! Installing a plugin.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, ensure};
use scorpiox_install::{Keys, Look, Source, is_still, replace};
use scorpiox_operator::Operator;
use scorpiox_plugin::{Decisions, PluginFolder, PluginName, Record, Status};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::address::Addresses;
use super::decide::{Said, approved, judge, not_approved, not_taken, recorded_unapproved, refused};
use crate::cli::environment::Environment;

/// What lines of it are called.
const ADD: &str = "plugin add";

/// What is added, and the name that it gets, if not its own.
pub(super) type Named<'a> = (&'a Path, Option<&'a PluginName>);

pub(super) fn run(environment: &Environment, (path, name): Named<'_>, said: Said<'_>) -> Result<ExitCode> {
    install(environment, ADD, &Addresses::new(environment).source(path, name)?, said)
}

/// Installs what was read: from a folder, a file, or elsewhere.
pub(super) fn install(
    environment: &Environment,
    what: &str,
    source: &Source,
    said: Said<'_>,
) -> Result<ExitCode> {
    let plugin_folder = PluginFolder::new(&environment.own_home);
    // In the order that leaves an approved version as it is until another one is.
    let staged = source.stage(&plugin_folder)?;
    let mut look = Look::at(&environment.site(), staged.installed.clone(), Some(&source.anatomy))?;
    look.plain_names = said.plain_names || what != ADD && had_plain_names(environment, source.name())?;
    let judged = judge(environment, what, &look, said)?;
    if !judged.is_approved() && runs(environment, &plugin_folder, source.name())? {
        refused(environment, what, &look, judged);
        return Ok(not_taken(source.name(), judged));
    }
    let folder = plugin_folder.folder_of(source.name());
    let _alone = plugin_folder.lock().context("cannot wait for other processes that change plugins")?;
    // What is approved is what was shown, whatever was done to the files while somebody read.
    let meanwhile = "its files were changed while it was looked at; nothing was approved";
    ensure!(is_still(&staged.plugin_folder(), &look), "{}: {meanwhile}", source.name());
    replace(&staged.plugin, &folder)?;
    ensure!(is_still(&plugin_folder, &look), "{}: {meanwhile}", source.name());
    let installed =
        plugin_folder.find_settled(source.name()).map_err(|why| anyhow!("{}: {why}", folder.display()))?;
    let look = Look { stamps: installed.settled_stamps().copied(), installed, ..look };
    if judged.is_approved() {
        return approved(environment, what, &look, judged);
    }
    recorded_unapproved(environment, what, &look, judged)?;
    Ok(not_approved(&look, judged))
}

/// Whose signatures of files count. Under a policy that cannot be used nothing is approved, whoever signed it.
pub(super) fn keys(environment: &Environment) -> Keys {
    Operator::new(environment.site()).policy().map(Keys::of).unwrap_or_default()
}

/// Prints what `--yes` takes for a plugin, and a policy's list: for who reviewed it, and tells others.
pub(super) fn hash(
    environment: &Environment,
    (path, name): Named<'_>,
    plain_names: bool,
) -> Result<ExitCode> {
    let source = Addresses::new(environment).source(path, name)?;
    let staged = source.stage(&PluginFolder::new(&environment.own_home))?;
    let mut look = Look::at(&environment.site(), staged.installed.clone(), Some(&source.anatomy))?;
    look.plain_names = plain_names;
    terminal::print(&Shown::line(look.hashes().approval.as_str()));
    Ok(ExitCode::SUCCESS)
}

/// Whether a plugin of that name was approved with the names that it gives itself: a new version keeps that.
fn had_plain_names(environment: &Environment, name: &PluginName) -> Result<bool> {
    Ok(Decisions::read(&environment.own_home)?.get(name).is_some_and(Record::has_plain_names))
}

/// Whether a plugin of that name is there and may run.
fn runs(environment: &Environment, plugin_folder: &PluginFolder, name: &PluginName) -> Result<bool> {
    let Ok(installed) = plugin_folder.find(name) else { return Ok(false) };
    let decisions = Decisions::read(&environment.own_home)?;
    Ok(matches!(Status::of(&installed, decisions.get(name)), Status::Approved(_)))
}
