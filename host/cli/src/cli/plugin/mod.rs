//! The command `scorpiox-code plugin`: lists plugins, and manages the decisions about them.

mod add;
mod address;
mod decide;
mod dev;
mod listed;
mod secret;
mod share;
mod test;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use scorpiox_plugin::PluginName;

use super::environment::Environment;
use decide::Said;
use scorpiox_plugin_manager::author::Language;
use scorpiox_plugin_manager::install::Overrides;
use secret::SecretCommand;
use share::ShareCommand;
use why::Subject;

/// Choices for a plugin that is read from somewhere.
#[derive(Debug, Args)]
pub(super) struct Choices {
    /// Describe the tools by the doc comments of this WIT package, a folder or a file
    #[arg(long, value_name = "DIR")]
    wit: Option<PathBuf>,
    /// Allow the plugin this many tools instead of 64, up to 256
    #[arg(long, value_name = "NUMBER")]
    max_tools: Option<usize>,
}

impl Choices {
    /// Returns the choices together with a name for the plugin.
    fn named<'a>(&'a self, name: Option<&'a PluginName>) -> Overrides<'a> {
        Overrides { name, wit: self.wit.as_deref(), max_tools: self.max_tools, kept: None }
    }

    fn is_empty(&self) -> bool {
        self.wit.is_none() && self.max_tools.is_none()
    }
}

#[derive(Subcommand)]
pub(super) enum PluginCommand {
    /// Create a plugin in a new folder, ready to build and run
    New {
        /// The language to write it in
        #[arg(long, value_name = "rust|python|js|program|go")]
        lang: Language,
        /// The name of the plugin, and of its folder
        #[arg(value_parser = name)]
        name: PluginName,
    },
    /// Install a plugin, show what it requests, and ask whether it may run
    Add {
        /// A component (.wasm), a pack (.plugin), a folder with plugin.toml, or an address (https://, oci://)
        source: PathBuf,
        /// Install it under this name, instead of its own
        #[arg(long, value_name = "NAME", value_parser = name)]
        name: Option<PluginName>,
        #[command(flatten)]
        choices: Choices,
        /// Approve without asking if the plugin has this hash, which its reviewer gave you
        #[arg(long, value_name = "HASH", value_parser = hash)]
        yes: Option<String>,
        /// Also offer a version that is older than the approved one
        #[arg(long)]
        allow_downgrade: bool,
        /// Serve tools and prompts without the plugin's name as a prefix, and resources under any URI scheme
        #[arg(long)]
        plain_names: bool,
    },
    #[command(flatten)]
    Share(ShareCommand),
    /// Print the hash of a plugin, for `--yes` and, after `sha256:`, for policies
    Hash {
        /// A component (.wasm), a pack (.plugin), a folder with plugin.toml, or an address (https://, oci://)
        source: PathBuf,
        /// The name to install it under, if not its own
        #[arg(long, value_name = "NAME", value_parser = name)]
        name: Option<PluginName>,
        #[command(flatten)]
        choices: Choices,
        /// Compute the hash for `plugin add --plain-names`
        #[arg(long)]
        plain_names: bool,
    },
    /// Show the kind of a WebAssembly file, its imports and exports, and the tools that it would have
    Inspect {
        /// The file
        file: PathBuf,
    },
    /// Draft a plugin.toml for a component, from its imports and exports
    Init {
        /// A component (.wasm)
        file: PathBuf,
        /// The name of the plugin [default: the file's]
        #[arg(long, value_name = "NAME", value_parser = name)]
        name: Option<PluginName>,
        /// Write into this folder, with a copy of the component [default: next to the component]
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
        /// Request what this policy.yaml of Wassette allows; parts without an equivalent are named
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Approve a pending, denied or changed plugin
    Approve {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
        /// Approve without asking if the plugin has this hash, which its reviewer gave you
        #[arg(long, value_name = "HASH", value_parser = hash)]
        yes: Option<String>,
        /// Serve tools and prompts without the plugin's name as a prefix, and resources under any URI scheme
        #[arg(long)]
        plain_names: bool,
    },
    /// Keep a plugin, and do not let it run
    Deny {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
    },
    /// List plugins and their state
    List {
        /// Print the plugins as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a plugin, what it requests, and what was approved
    Show {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
        /// Print the plugin as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a plugin before it is installed, or call one of its tools with the capabilities that it requests
    Test {
        /// A component (.wasm), a pack (.plugin), a folder with plugin.toml, or an address (https://, oci://)
        source: PathBuf,
        /// The tool, without the plugin's name
        tool: Option<String>,
        /// The arguments: one JSON object, or NAME=TEXT and NAME:=JSON
        arguments: Vec<String>,
        #[command(flatten)]
        choices: Choices,
    },
    /// Build and test a plugin's folder whenever its files change, until Ctrl-C
    Dev {
        /// A folder with plugin.toml; `make` builds it, if it has a Makefile
        folder: PathBuf,
        /// The tool to call each time, without the plugin's name [default: only show the plugin]
        tool: Option<String>,
        /// The arguments: one JSON object, or NAME=TEXT and NAME:=JSON
        arguments: Vec<String>,
    },
    /// Show which line allows or denies a capability to a plugin
    Why {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
        /// The capability
        capability: Subject,
        /// The object of the capability: a path for files, a URL or host for web, a variable for env
        argument: Option<String>,
    },
    /// Set, list and delete secrets; their values are never shown
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Delete a plugin, its approval and its secrets; its stored data stays
    Remove {
        /// The plugin
        #[arg(value_parser = name)]
        name: PluginName,
        /// Also delete its stored data, in every workspace
        #[arg(long)]
        purge: bool,
    },
}

impl PluginCommand {
    /// Returns `true` if the command tries a plugin for its author.
    pub(super) fn is_trial(&self) -> bool {
        matches!(self, Self::Test { .. } | Self::Dev { .. })
    }
}

pub(super) fn run(environment: &Environment, command: PluginCommand) -> Result<ExitCode> {
    match command {
        PluginCommand::New { lang, name } => {
            scorpiox_plugin_manager::author::new(lang, &name).map(|()| ExitCode::SUCCESS)
        }
        PluginCommand::Add { source, name, choices, yes, allow_downgrade, plain_names } => {
            let said = Said { yes: yes.as_deref(), allow_downgrade, plain_names };
            add::run(environment, (&source, choices.named(name.as_ref())), said)
        }
        PluginCommand::Share(command) => share::run(environment, command),
        PluginCommand::Hash { source, name, choices, plain_names } => {
            add::hash(environment, (&source, choices.named(name.as_ref())), plain_names)
        }
        PluginCommand::Inspect { file } => {
            let check = || add::hash_of(environment, (&file, Overrides::default()), false).map(drop);
            scorpiox_plugin_manager::author::inspect(&file, check)
        }
        PluginCommand::Init { file, name, out, policy } => {
            let (out, policy) = (out.as_deref(), policy.as_deref());
            scorpiox_plugin_manager::author::init(&file, name.as_ref(), out, policy)
                .map(|()| ExitCode::SUCCESS)
        }
        PluginCommand::Approve { name, yes, plain_names } => {
            let said = Said { yes: yes.as_deref(), plain_names, ..Said::default() };
            decide::approve(environment, &name, said)
        }
        PluginCommand::Deny { name } => decide::deny(environment, &name),
        PluginCommand::List { json: true } => listed::list(environment),
        PluginCommand::List { json: false } => scorpiox_plugin_manager::install::list(&environment.site()),
        PluginCommand::Show { name, json: true } => listed::show(environment, &name),
        PluginCommand::Show { name, json: false } => {
            scorpiox_plugin_manager::install::show(&environment.site(), &name)
        }
        PluginCommand::Test { source, tool, arguments, choices } => {
            test::run(environment, (&source, choices.named(None)), tool.as_deref(), &arguments)
        }
        PluginCommand::Dev { folder, tool, arguments } => {
            dev::run(environment, &folder, (tool.as_deref(), &arguments))
        }
        PluginCommand::Why { name, capability, argument } => {
            why::run(environment, &name, capability, argument.as_deref())
        }
        PluginCommand::Secret(command) => secret::run(environment, command),
        PluginCommand::Remove { name, purge } => decide::remove(environment, &name, purge),
    }
}

/// Makes all the checks of an installation of the plugin in a folder.
pub(super) fn installable(environment: &Environment, folder: &std::path::Path) -> Result<()> {
    add::hash_of(environment, (folder, Overrides::default()), false).map(drop)
}

/// Returns the digits of a hash that is written as in a policy or without `sha256:`.
#[allow(clippy::unnecessary_wraps)] // the form that clap asks for
fn hash(text: &str) -> Result<String, String> {
    Ok(text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase())
}

fn name(name: &str) -> Result<PluginName, String> {
    PluginName::try_from(name.to_owned()).map_err(|error| error.to_string())
}
