//! Distribution of plugins: packing, signing, and updates.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Subcommand;
use scorpiox_plugin::{Installed, PluginFolder, PluginName};
use scorpiox_plugin_manager::install::{
    Listed, Opened, Overrides, Protection, Source, Trusts, Whose, keygen, pack, sign, sign_hash, verify,
};
use scorpiox_policy::Policy;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_workspace_config::Operator;
use semver::Version;

use super::add::{hash_of, install};
use super::address::{Addresses, push};
use super::decide::Said;
use super::{Choices, name};
use crate::cli::environment::Environment;

/// Name of updates in the audit.
const UPDATE: &str = "plugin update";

#[derive(Subcommand)]
pub(in crate::cli) enum ShareCommand {
    /// Pack a plugin's folder into one file; the same content always gives the same bytes
    Pack {
        /// A folder with plugin.toml
        folder: PathBuf,
        /// The path of the pack [default: NAME-VERSION.plugin]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Also sign the pack with this secret key
        #[arg(long, value_name = "SECRET_KEY")]
        sign: Option<PathBuf>,
        /// A file with the key's password [default: asked at a terminal, else from standard input]
        #[arg(long, value_name = "FILE", requires = "sign")]
        password_file: Option<PathBuf>,
    },
    /// Create a key for signing, as NAME.key and NAME.pub, and print the policy lines that trust it
    Keygen {
        /// The name of the files, and of the signer in policies
        name: String,
        /// A file with the key's password [default: asked at a terminal, else from standard input]
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
        /// Do not protect the secret key with a password
        #[arg(long, conflicts_with = "password_file")]
        no_password: bool,
    },
    /// Sign a pack, a component or a folder with a minisign secret key; writes FILE.minisig
    Sign {
        /// A pack (.plugin), a component (.wasm), or a folder with plugin.toml
        file: PathBuf,
        /// The secret key, as created by `plugin keygen` or `minisign -G`
        #[arg(long, value_name = "SECRET_KEY")]
        key: PathBuf,
        /// A file with the key's password [default: asked at a terminal, else from standard input]
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
        /// The plugin's name, for a component [default: the file's]
        #[arg(long, value_name = "NAME", value_parser = name)]
        name: Option<PluginName>,
        /// Its version, for a component
        #[arg(long, value_name = "VERSION", value_parser = version)]
        version: Option<Version>,
    },
    /// Verify the signature next to a pack or a component, and show its signer
    Verify {
        /// A pack (.plugin), or a component (.wasm)
        file: PathBuf,
        /// Verify with this public key (RW…, or a .pub file) [default: those of the policy's signers]
        #[arg(long, value_name = "PUBLIC_KEY", conflicts_with = "signer")]
        key: Option<String>,
        /// Verify with the key of this signer in the policy
        #[arg(long, value_name = "NAME")]
        signer: Option<String>,
    },
    /// Upload a pack or a component to a registry, with the signature next to it
    Push {
        /// A pack (.plugin), or a component (.wasm)
        file: PathBuf,
        /// The destination: `oci://REGISTRY/NAME:TAG`
        address: String,
    },
    /// Install newer versions of plugins; shows the differences, and asks
    Update {
        /// The plugin [default: all]
        #[arg(value_parser = name)]
        name: Option<PluginName>,
        /// The source of the version: a component, a pack, a folder, or an address [default: the index, else
        /// where the plugin came from]
        #[arg(long, value_name = "FROM", requires = "name")]
        from: Option<PathBuf>,
        #[command(flatten)]
        choices: Choices,
        /// Approve without asking if the plugin has this hash, which its reviewer gave you
        #[arg(long, value_name = "HASH", requires = "name", value_parser = super::hash)]
        yes: Option<String>,
        /// Also offer a version that is older than the approved one
        #[arg(long)]
        allow_downgrade: bool,
    },
    /// List the plugins that have a newer version in the policy's index
    Outdated,
    /// Search the policy's index
    Search {
        /// Words of the name or the description
        text: String,
    },
}

pub(super) fn run(environment: &Environment, command: ShareCommand) -> Result<ExitCode> {
    match command {
        ShareCommand::Pack { folder, out, sign: key, password_file } => {
            let file = pack(&folder, out.as_deref())?;
            if let Some(key) = key {
                sign(&file, (&key, password_file.as_deref()), (None, None))?;
            }
        }
        ShareCommand::Keygen { name, password_file, no_password } => {
            let password = Protection::Password(password_file.as_deref());
            keygen(
                Path::new(""),
                &name,
                if no_password { Protection::None } else { password },
                Trusts::Plugins,
            )?;
        }
        ShareCommand::Sign { file, key, password_file, name, version } if file.is_dir() => {
            ensure!(
                name.is_none() && version.is_none(),
                "{} is a folder: its plugin.toml says its name and version",
                file.display()
            );
            let hash = hash_of(environment, (&file, Overrides::default()), false)?;
            sign_hash(&file, hash.as_str(), (&key, password_file.as_deref()))?;
        }
        ShareCommand::Sign { file, key, password_file, name, version } => {
            sign(&file, (&key, password_file.as_deref()), (name.as_ref(), version.as_ref()))?;
        }
        ShareCommand::Verify { file, key, signer } => {
            let whose = match (&key, &signer) {
                (Some(key), _) => Whose::Key(key),
                (None, Some(signer)) => Whose::Signer(signer),
                (None, None) => Whose::Any,
            };
            verify(&file, whose, || policy(environment))?;
        }
        ShareCommand::Push { file, address } => push(environment, &file, &address)?,
        ShareCommand::Update { name, from, choices, yes, allow_downgrade } => {
            let said = Said { yes: yes.as_deref(), allow_downgrade, plain_names: false };
            ensure!(name.is_some() || choices.is_empty(), "--wit and --max-tools are for a plugin; name it");
            return update(environment, choices.named(name.as_ref()), from.as_deref(), said);
        }
        ShareCommand::Outdated => {
            let opened = opened(environment, &Addresses::new(environment))?;
            scorpiox_plugin_manager::install::outdated(&opened, &Listed::of(&environment.site()));
        }
        ShareCommand::Search { text } => {
            let opened = opened(environment, &Addresses::new(environment))?;
            scorpiox_plugin_manager::install::search(&opened, &text, &Listed::of(&environment.site()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn policy(environment: &Environment) -> Result<Policy> {
    Ok(Operator::new(environment.site()).policy()?.clone())
}

fn opened(environment: &Environment, addresses: &Addresses<'_>) -> Result<Opened> {
    let policy = policy(environment)?;
    Opened::read(policy.plugins.index.as_ref(), &environment.site(), addresses)
}

fn update(
    environment: &Environment,
    overrides: Overrides<'_>,
    from: Option<&Path>,
    said: Said<'_>,
) -> Result<ExitCode> {
    let addresses = Addresses::new(environment);
    let Some(name) = overrides.name else { return update_all(environment, &addresses, said) };
    let installed = PluginFolder::new(&environment.own_home).find(name);
    let installed = installed.map_err(|why| anyhow!("there is no plugin {name} that can be used: {why}"))?;
    let kept = installed.chosen();
    let overrides = Overrides { kept: Some(&kept), ..overrides };
    match newer(environment, (name, overrides), &installed, from, &addresses)? {
        Some(source) => install(environment, UPDATE, &source, said),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Returns the version that replaces an installed one, if there is one.
fn newer(
    environment: &Environment,
    (name, overrides): (&PluginName, Overrides<'_>),
    installed: &Installed,
    from: Option<&Path>,
    addresses: &Addresses<'_>,
) -> Result<Option<Source>> {
    if let Some(from) = from {
        return addresses.source(from, overrides).map(Some);
    }
    if policy(environment)?.plugins.index.is_some() {
        let opened = opened(environment, addresses)?;
        let found = opened.newer(std::slice::from_ref(installed));
        let Some(found) = found.first() else {
            terminal::print(&Shown::line(&format!("{name} has no newer version in the index.")));
            return Ok(None);
        };
        return opened.source(found, overrides, addresses, addresses.keys()).map(Some);
    }
    let address = installed.address().with_context(|| {
        format!("it is not known where {name} came from; name the new version with --from")
    })?;
    addresses.source(Path::new(&address), overrides).map(Some)
}

/// Updates all plugins from where they came from, one after the other.
fn update_from_origins(environment: &Environment, addresses: &Addresses<'_>, said: Said<'_>) -> ExitCode {
    let listed = Listed::of(&environment.site());
    if listed.plugins().is_empty() {
        terminal::print(&Shown::line("No plugin is installed."));
    }
    let mut failed = false;
    for installed in listed.plugins() {
        let name = &installed.name;
        let kept = installed.chosen();
        let overrides = Overrides { name: Some(name), kept: Some(&kept), ..Overrides::default() };
        let outcome = match newer(environment, (name, overrides), installed, None, addresses) {
            Ok(Some(source)) => install(environment, UPDATE, &source, said),
            Ok(None) => continue,
            Err(error) => Err(error),
        };
        failed |= is_failure(name, outcome);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Reports the error of one of several updates. Returns `true` if the plugin was not updated.
fn is_failure(name: &PluginName, outcome: Result<ExitCode>) -> bool {
    match outcome {
        Ok(code) => code != ExitCode::SUCCESS,
        Err(error) => {
            terminal::complain(&format!("scorpiox-code: {name}: {error:#}"));
            true
        }
    }
}

/// Updates all plugins that have a newer version in the policy's index, or without an index all that have another
/// version where they came from, one after the other.
fn update_all(environment: &Environment, addresses: &Addresses<'_>, said: Said<'_>) -> Result<ExitCode> {
    if policy(environment)?.plugins.index.is_none() {
        return Ok(update_from_origins(environment, addresses, said));
    }
    let opened = opened(environment, addresses)?;
    let listed = Listed::of(&environment.site());
    let found = opened.newer(listed.plugins());
    if found.is_empty() {
        terminal::print(&Shown::line("Nothing that is installed has a newer version in the index."));
    }
    let mut failed = false;
    for found in found {
        let installed = listed.plugins().iter().find(|installed| installed.name == found.name);
        let kept = installed.map(Installed::chosen);
        let overrides = Overrides { kept: kept.as_ref(), ..Overrides::default() };
        let source = opened.source(&found, overrides, addresses, addresses.keys());
        let outcome = source.and_then(|source| install(environment, UPDATE, &source, said));
        failed |= is_failure(&found.name, outcome);
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Parses a version.
fn version(text: &str) -> Result<Version, String> {
    Version::parse(text).map_err(|_| "a version has three numbers, such as 1.0.0".to_owned())
}
