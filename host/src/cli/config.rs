//! `scorpiox-code config CLIENT`.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use scorpiox_paths::{Writable, resolve};

use super::clients::{self, Client};
use super::environment::Environment;
use super::terminal;

pub(super) fn run(environment: &Environment, client: Client, write: bool) -> Result<ExitCode> {
    let home = environment.home.as_ref().context("there is no home folder; set HOME")?;
    let variable = if cfg!(windows) { "APPDATA" } else { "XDG_CONFIG_HOME" };
    let config_home = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let path = clients::config_path(client, home, &environment.workspace.path, config_home.as_deref());
    let command = environment.binary.to_str().context("this program's path is not valid Unicode")?;
    if write {
        // A project may bring a link in the place of its own file: not to be written through.
        resolve(&path, &Writable::new([environment.workspace.path.clone()]))
            .with_context(|| format!("{} is not written", path.display()))?;
        let written = clients::write(&path, client, command)?;
        terminal::print(&format!("{written}\n"));
    } else {
        let snippet = clients::snippet(client, command);
        terminal::complain(&format!("Put this into {} (or run again with --write):", path.display()));
        terminal::print(&format!("{}\n", snippet.trim_end()));
    }
    Ok(ExitCode::SUCCESS)
}
