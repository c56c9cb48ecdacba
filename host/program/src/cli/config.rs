//! `scorpiox-code config CLIENT`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use scorpiox_clients::{self as clients, Client, Existing, How, Owner, Start, Surroundings, Written};
use scorpiox_paths::{Writable, programs, resolve};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::environment::Environment;
use scorpiox_operator::Operator;

pub(super) fn run(
    environment: &Environment,
    client: Client,
    write: bool,
    existing: Option<Existing>,
) -> Result<ExitCode> {
    let home = environment.home.as_ref().context("there is no home folder; set HOME")?;
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let workspace = &environment.workspace.path;
    let around = Surroundings { home, workspace, variable: &variable };
    let path = clients::config_path(client, &around);
    let program = environment.binary.to_str().context("this program's path is not valid Unicode")?.to_owned();
    let start = Start { program, arguments: environment.chosen()? };
    if write {
        // A project may bring a link in the place of its own file: not to be written through.
        resolve(&path, &Writable::new([workspace.clone()]))
            .with_context(|| format!("{} is not written", path.display()))?;
        check_program(environment).context("clients must not start this program where it is")?;
        let is_of_project = client.is_of_project() || path.starts_with(workspace);
        let owner = if is_of_project { Owner::Project(existing) } else { Owner::Person };
        terminal::print(&said(&clients::write(&path, client, &start, owner)?));
    } else {
        let snippet = clients::snippet(client, &start);
        terminal::complain(&format!("Put this into {} (or run again with --write):", path.display()));
        terminal::print(&Shown::text(&format!("{}\n", snippet.trim_end())));
    }
    Ok(ExitCode::SUCCESS)
}

/// A program that commands can exchange would run their code outside, as soon as a client starts it.
pub(super) fn check_program(environment: &Environment) -> Result<()> {
    let writable = Operator::new(environment.site())
        .writable()
        .map_err(|error| anyhow::anyhow!("this program cannot tell where commands can write: {error}"))?;
    programs::check_own(&environment.binary, &writable)
        .context("install it elsewhere (`make install` does, into ~/.scorpiox) and run it from there")
}

fn said(written: &Written) -> Shown {
    let Written { path, how, stayed } = written;
    let path = Path::display(path);
    let shown = Shown::line(&match how {
        How::Created => format!("created {path}"),
        How::Updated { backup } => format!("updated {path} (before: {})", backup.display()),
        How::Unchanged => format!("{path} already has the entry"),
    });
    if stayed.is_empty() {
        return shown;
    }
    let shown = shown.and(&Shown::line("The entry keeps these members:"));
    stayed.iter().fold(shown, |shown, member| shown.and(&Shown::line(&format!("  {member}"))))
}
