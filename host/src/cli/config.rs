//! `scorpiox-code config CLIENT`.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use scorpiox_paths::{Writable, resolve};

use super::clients::{self, Client, Surroundings};
use super::environment::Environment;
use super::terminal;

pub(super) fn run(environment: &Environment, client: Client, write: bool) -> Result<ExitCode> {
    let home = environment.home.as_ref().context("there is no home folder; set HOME")?;
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let around = Surroundings { home, workspace: &environment.workspace.path, variable: &variable };
    let path = clients::config_path(client, &around);
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
