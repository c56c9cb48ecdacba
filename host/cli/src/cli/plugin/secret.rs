//! Commands for the secrets of plugins. Users set and delete them; their values are never displayed.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Subcommand;
use scorpiox_plugin::{MAX_SECRET_BYTES, PluginFolder, PluginName, SecretName, Secrets};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_workspace_config::Operator;

use super::decide::{find, recorded};
use crate::cli::environment::Environment;

#[derive(Subcommand)]
pub(in crate::cli) enum SecretCommand {
    /// Set a secret, typed without echo or read from standard input
    Set {
        /// The plugin
        #[arg(value_parser = super::name)]
        name: PluginName,
        /// The name of the secret in [secrets] of plugin.toml
        #[arg(value_parser = key)]
        key: SecretName,
    },
    /// List the names of a plugin's secrets, and show which are missing
    List {
        /// The plugin
        #[arg(value_parser = super::name)]
        name: PluginName,
    },
    /// Delete a secret
    Remove {
        /// The plugin
        #[arg(value_parser = super::name)]
        name: PluginName,
        /// The secret
        #[arg(value_parser = key)]
        key: SecretName,
    },
}

pub(super) fn run(environment: &Environment, command: SecretCommand) -> Result<ExitCode> {
    match command {
        SecretCommand::Set { name, key } => set(environment, &name, &key),
        SecretCommand::List { name } => list(environment, &name),
        SecretCommand::Remove { name, key } => remove(environment, &name, &key),
    }
}

fn key(key: &str) -> Result<SecretName, String> {
    SecretName::try_from(key.to_owned()).map_err(|error| error.to_string())
}

fn set(environment: &Environment, name: &PluginName, key: &SecretName) -> Result<ExitCode> {
    let plugin = find(environment, name)?;
    let what_for = plugin.manifest.secret(key)?;
    let read = terminal::read_secret(&format!("{what_for}\n{key} (not shown): "), MAX_SECRET_BYTES);
    let value = plugin.manifest.secret_value(key, read.context("nothing was set")?)?;
    recorded(environment, "plugin secret set", name, None)?;
    change(environment, name, |secrets| secrets.set(key.clone(), value))?;
    terminal::print(&Shown::line(&format!("{key} of {name} is set.")));
    Ok(ExitCode::SUCCESS)
}

fn list(environment: &Environment, name: &PluginName) -> Result<ExitCode> {
    let plugin = find(environment, name)?;
    let kept = Secrets::read(&environment.own_home, name)?;
    let operator = Operator::new(environment.site());
    let policy = operator.policy().map_err(|error| anyhow::anyhow!("{error}"))?;
    let given = &policy.plugins.secrets;
    let mut text = String::new();
    for (key, what_for) in &plugin.manifest.secrets {
        let given = given.get(&(name.to_string(), key.to_string()));
        let state = match given {
            Some(given) => format!("in {}, as {} says", given.value, given.source),
            None => if kept.get(key).is_some() { "set" } else { "missing" }.to_owned(),
        };
        let _ = writeln!(text, "{key}  {state}: {what_for}");
    }
    for key in kept.names().filter(|key| !plugin.manifest.secrets.contains_key(key)) {
        let _ = writeln!(
            text,
            "{key}  set, and no longer used; `scorpiox-code plugin secret remove {name} {key}`"
        );
    }
    if text.is_empty() {
        let _ = writeln!(text, "{name} has no secrets");
    }
    terminal::print(&Shown::text(&text));
    Ok(ExitCode::SUCCESS)
}

fn remove(environment: &Environment, name: &PluginName, key: &SecretName) -> Result<ExitCode> {
    let kept = Secrets::read(&environment.own_home, name)?;
    ensure!(kept.get(key).is_some(), "{key} of {name} is not set");
    recorded(environment, "plugin secret remove", name, None)?;
    change(environment, name, |secrets| _ = secrets.remove(key))?;
    terminal::print(&Shown::line(&format!("{key} of {name} is removed.")));
    Ok(ExitCode::SUCCESS)
}

/// Changes the secrets under the lock for changes to plugins.
fn change(environment: &Environment, name: &PluginName, change: impl FnOnce(&mut Secrets)) -> Result<()> {
    let plugins = PluginFolder::new(&environment.own_home);
    let _alone = plugins.lock().context("cannot wait for other processes that change plugins")?;
    Ok(Secrets::change(&environment.own_home, name, change)?)
}
