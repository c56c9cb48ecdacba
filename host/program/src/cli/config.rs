//! `scorpiox-code config CLIENT`.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use scorpiox_access::Auth;
use scorpiox_clients::{
    self as clients, Client, Existing, How, Owner, Removed, Start, Surroundings, Written, Wsl,
};
use scorpiox_http::files::Files;
use scorpiox_paths::{Writable, programs, resolve};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::environment::Environment;
use scorpiox_operator::Operator;

/// What is done with an entry.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct ConfigArguments {
    /// The client
    client: Client,
    /// Write the entry into the client's file; the rest of the file stays, and a backup is kept
    #[arg(long)]
    write: bool,
    /// Take the entry out of the client's file; the rest of the file stays, and a backup is kept
    #[arg(long, conflicts_with = "write")]
    remove: bool,
    /// Print the entry as an address, which the client opens to add it (cursor, vscode)
    #[arg(long, conflicts_with_all = ["write", "remove"])]
    link: bool,
    /// Print the entry of a server that `scorpiox-code serve --http` serves at this address, with its token
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["write", "remove", "link"],
        value_parser = scorpiox_http::listening_address)]
    http: Option<SocketAddr>,
    /// What to do with further members of an entry in the project's own file, such as `env`
    #[arg(long, value_name = "WHAT", requires = "write")]
    existing: Option<Existing>,
}

pub(super) fn run(environment: &Environment, arguments: ConfigArguments) -> Result<ExitCode> {
    let ConfigArguments { client, write, remove, link, http, existing } = arguments;
    let home = environment.home.as_ref().context("there is no home folder; set HOME")?;
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let workspace = &environment.workspace.path;
    let around = Surroundings { home, workspace, variable: &variable };
    let mut path = clients::config_path(client, &around);
    let program = environment.binary.to_str().context("this program's path is not valid Unicode")?.to_owned();
    let mut start = Start { program, arguments: environment.chosen()? };
    // Claude Desktop is a program of Windows there.
    if let (Client::ClaudeDesktop, Some(wsl)) = (client, Wsl::here(&around)) {
        path = wsl.desktop_file()?;
        start = wsl.start(start);
    }
    if write || remove {
        // A project may bring a link in the place of its own file: not to be written through.
        resolve(&path, &Writable::new([workspace.clone()]))
            .with_context(|| format!("{} is not written", path.display()))?;
    }
    if let Some(address) = http {
        return print_remote(environment, client, address, &path);
    }
    if link {
        let address =
            clients::link(client, &start).context("this client has no such address; use --write")?;
        check_program(environment).context("clients must not start this program where it is")?;
        terminal::print(&Shown::line(&address));
    } else if remove {
        terminal::print(&taken_out(&path, clients::remove(&path, client)?)?);
    } else if write {
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

fn print_remote(
    environment: &Environment,
    client: Client,
    address: SocketAddr,
    path: &Path,
) -> Result<ExitCode> {
    let operator = Operator::new(environment.site());
    let http = &operator.policy().map_err(|error| anyhow::anyhow!("{error}"))?.http;
    let token = match &http.auth.value {
        Auth::OwnToken => Some(Files::of(&environment.own_home).token()?),
        // Only who was given one has it.
        Auth::Tokens(_) => Some("TOKEN".to_owned()),
        Auth::Jwt(_) | Auth::Nothing => None,
    };
    let url = http.url.as_ref().map(|url| url.value.clone());
    let url = url.unwrap_or_else(|| scorpiox_http::url(address, http.tls.is_some()));
    let snippet = clients::remote_snippet(client, &clients::Remote { url, token })
        .context("this client takes no server at an address from a file; add it in its settings")?;
    let path = if client.is_of_project() { Path::new("the client's file in your home folder") } else { path };
    let file = path.display();
    terminal::complain(&match &http.auth.value {
        Auth::OwnToken => format!("Put this into {file}, and into no project's file: the token is in it."),
        Auth::Tokens(_) => {
            format!("Put this into {file}, with the client's own token in the place of TOKEN.")
        }
        Auth::Jwt(_) | Auth::Nothing => format!("Put this into {file}."),
    });
    terminal::print(&Shown::text(&format!("{snippet}\n")));
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

fn taken_out(path: &Path, removed: Removed) -> Result<Shown> {
    let path = path.display();
    match removed {
        Removed::Nothing => Ok(Shown::line(&format!("{path} has no entry"))),
        Removed::Out { backup } => Ok(Shown::line(&format!("updated {path} (before: {})", backup.display()))),
        Removed::Stays => {
            anyhow::bail!("{path}: remove the entry \"{}\" by hand; nothing was changed", clients::ENTRY_NAME)
        }
    }
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
