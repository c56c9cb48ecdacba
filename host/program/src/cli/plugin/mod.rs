//! `scorpiox-code plugin …`: which plugins there are, and what was decided about them.

mod add;
mod decide;
mod list;
mod look;
mod new;
mod test;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use scorpiox_plugin::PluginName;

use super::environment::Environment;
use new::Language;
use why::Subject;

#[derive(Subcommand)]
pub(super) enum PluginCommand {
    /// Write the beginning of a plugin into a new folder
    New {
        /// What it is written in
        #[arg(long, value_name = "LANGUAGE")]
        lang: Language,
        /// Its name, which is the folder's
        #[arg(value_parser = name)]
        name: PluginName,
    },
    /// Install a plugin, show what it asks for, and ask whether it may run
    Add {
        /// A component (.wasm), or a folder with plugin.toml
        source: PathBuf,
        /// Approve without asking, if this is its hash, which somebody who reviewed it gave you
        #[arg(long, value_name = "HASH")]
        yes: Option<String>,
    },
    /// Print the hash that `--yes` and policies take, for who reviewed a plugin
    Hash {
        /// A component (.wasm), or a folder with plugin.toml
        source: PathBuf,
    },
    /// Approve a plugin that waits, was denied, or was changed
    Approve {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
        /// Approve without asking, if this is its hash, which somebody who reviewed it gave you
        #[arg(long, value_name = "HASH")]
        yes: Option<String>,
    },
    /// Keep a plugin, but do not let it run
    Deny {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
    },
    /// All plugins, and where each stands
    List,
    /// What a plugin is, what it asks for, and what was approved
    Show {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
    },
    /// Look into a plugin before it is installed, and call a tool of it with what it asks for
    Test {
        /// A component (.wasm), or a folder with plugin.toml
        source: PathBuf,
        /// The tool, without the plugin's name
        tool: Option<String>,
        /// The arguments as a JSON object
        #[arg(default_value = "{}")]
        arguments: String,
    },
    /// Say which line lets a plugin do something, or keeps it from it
    Why {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
        /// What it is about
        capability: Subject,
        /// A path, a URL or a host, or a variable
        argument: Option<String>,
    },
    /// Delete a plugin and what was decided about it; what it stored stays
    Remove {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
        /// Also what it stored, in every workspace
        #[arg(long)]
        purge: bool,
    },
}

impl PluginCommand {
    /// Whether it tries a plugin for who writes it.
    pub(super) fn is_trial(&self) -> bool {
        matches!(self, Self::Test { .. })
    }
}

pub(super) fn run(environment: &Environment, command: PluginCommand) -> Result<ExitCode> {
    match command {
        PluginCommand::New { lang, name } => new::run(lang, &name),
        PluginCommand::Add { source, yes } => add::run(environment, &source, yes.as_deref()),
        PluginCommand::Hash { source } => add::hash(environment, &source),
        PluginCommand::Approve { name, yes } => decide::approve(environment, &name, yes.as_deref()),
        PluginCommand::Deny { name } => decide::deny(environment, &name),
        PluginCommand::List => list::run(environment),
        PluginCommand::Show { name } => look::show(environment, &name),
        PluginCommand::Test { source, tool, arguments } => {
            test::run(environment, &source, tool.as_deref(), &arguments)
        }
        PluginCommand::Why { name, capability, argument } => {
            why::run(environment, &name, capability, argument.as_deref())
        }
        PluginCommand::Remove { name, purge } => decide::remove(environment, &name, purge),
    }
}

fn name(name: &str) -> Result<PluginName, String> {
    PluginName::try_from(name.to_owned()).map_err(|error| error.to_string())
}
