//! Clients on this machine, as `setup`, `config` and `uninstall` see them: their files, the command line that they
//! start, and a record of the files that have an entry.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;
use scorpiox_client_config::{self as clients, Client, Start, Surroundings, Wsl, allow};
use scorpiox_fs::home::private;
use serde::{Deserialize, Serialize};

use super::environment::Environment;

/// File in the program's own folder that lists the files with an entry.
const RECORD: &str = "entries.json";
/// Maximum number of recorded files; the oldest ones are forgotten.
const MAX_RECORDED: usize = 1000;

/// File of a client, and the command line that belongs into it.
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) start: Start,
    /// `true` if the file is that of a Windows program, outside of this WSL distribution.
    pub(super) is_of_windows: bool,
}

/// Returns the surroundings in which clients search for their files.
pub(super) fn around(environment: &Environment) -> Result<Surroundings<'_>> {
    let home = environment.home.as_ref().context("there is no home folder; set HOME")?;
    Ok(Surroundings { home, workspace: &environment.workspace.path, variable: &variable })
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the target for a client whose file is `file`, unless the client is a Windows program.
pub(super) fn target(
    environment: &Environment,
    around: &Surroundings<'_>,
    client: Client,
    file: PathBuf,
) -> Result<Target> {
    let program = environment.binary.to_str().context("this program's path is not valid Unicode")?.to_owned();
    let start = Start { program, arguments: environment.chosen()? };
    // On WSL, Claude Desktop is a Windows program.
    if let (Client::ClaudeDesktop, Some(wsl)) = (client, Wsl::here(around)) {
        return Ok(Target { file: wsl.desktop_file()?, start: wsl.start(start), is_of_windows: true });
    }
    Ok(Target { file, start, is_of_windows: false })
}

/// Returns all files with an entry: those of this user and of the workspace, those of workspaces that were worked on,
/// and those that were recorded.
pub(super) fn entries(environment: &Environment) -> Vec<(Client, PathBuf)> {
    let Ok(around) = around(environment) else { return Vec::new() };
    let mut files: Vec<(Client, PathBuf)> = Vec::new();
    for client in Client::value_variants() {
        let own = clients::own_path(*client, &around);
        let desktop = target(environment, &around, *client, own.clone()).ok().map(|target| target.file);
        let paths = [own, clients::config_path(*client, &around)].into_iter().chain(desktop);
        files.extend(paths.map(|path| (*client, path)));
        if client.is_of_project() {
            files.extend(environment.worked_on.iter().map(|workspace| {
                let around = Surroundings { workspace, ..around };
                (*client, clients::config_path(*client, &around))
            }));
        }
    }
    files.extend(recorded(&environment.own_home).into_iter().filter_map(Recorded::known));
    let mut seen = BTreeSet::new();
    files.retain(|(_, path)| seen.insert(resolved(path)));
    // A file that cannot be read contains no entry that could be removed.
    files.retain(|(client, path)| clients::is_in(path, *client).unwrap_or(false));
    files
}

/// Returns the files with an allow-list of this user's clients, apart from those that are part of an entry.
pub(super) fn lists(environment: &Environment) -> Vec<(Client, PathBuf)> {
    let Ok(around) = around(environment) else { return Vec::new() };
    let clients = Client::value_variants().iter();
    let files = clients.filter_map(|client| Some((*client, allow::path(*client, &around)?)));
    files.filter(|(client, path)| allow::is_in(path, *client).unwrap_or(false)).collect()
}

fn resolved(path: &Path) -> PathBuf {
    dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A file with an entry.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Recorded {
    client: String,
    file: PathBuf,
}

impl Recorded {
    fn known(self) -> Option<(Client, PathBuf)> {
        Client::from_str(&self.client, false).ok().map(|client| (client, self.file))
    }
}

fn recorded(own_home: &Path) -> Vec<Recorded> {
    let text = fs::read_to_string(own_home.join(RECORD)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Records that a client's file has an entry, so that `uninstall` finds it from any folder.
///
/// # Errors
///
/// Returns an error if the record cannot be written.
pub(super) fn record(environment: &Environment, client: Client, file: &Path) -> Result<()> {
    let own_home = &environment.own_home;
    let path = own_home.join(RECORD);
    let entry = Recorded { client: name(client), file: resolved(file) };
    let mut all = recorded(own_home);
    if all.contains(&entry) {
        return Ok(());
    }
    all.push(entry);
    let all = &all[all.len().saturating_sub(MAX_RECORDED)..];
    let text = serde_json::to_vec_pretty(all)?;
    let written = private::write(&path, |file| file.write_all(&text));
    written.with_context(|| {
        format!("{} cannot be written, so `uninstall` finds this entry only from its folder", path.display())
    })
}

/// Forgets the record.
pub(super) fn forget(environment: &Environment) {
    let _ = fs::remove_file(environment.own_home.join(RECORD));
}

/// Returns the name of a client on the command line.
pub(super) fn name(client: Client) -> String {
    client.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
