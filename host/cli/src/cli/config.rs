//! The command `scorpiox-code config CLIENT`.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use scorpiox_client_config::{self as clients, Client, Existing, How, Owner, Removed, Written};
use scorpiox_fs::{Writable, programs, resolve};
use scorpiox_policy::access::Auth;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_transport_http::files::Files;

use super::clients::{Target, around, record, target};
use super::environment::Environment;
use scorpiox_workspace_config::Operator;

/// Arguments of `config`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct ConfigArguments {
    /// The client
    client: Client,
    /// Write the entry into the client's file; the rest of the file stays, and a backup is kept
    #[arg(long)]
    write: bool,
    /// Remove the entry from the client's file; the rest of the file stays, and a backup is kept
    #[arg(long, conflicts_with = "write")]
    remove: bool,
    /// Print the entry as a URL that adds it when opened in the client (cursor, vscode)
    #[arg(long, conflicts_with_all = ["write", "remove"])]
    link: bool,
    /// Print the entry for a server that runs as `scorpiox-code serve --http` at this address, with its token
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["write", "remove", "link"],
        value_parser = scorpiox_transport_http::listening_address)]
    http: Option<SocketAddr>,
    /// The treatment of additional members of an entry in the project's own file, such as `env`
    #[arg(long, value_name = "WHAT", requires = "write")]
    existing: Option<Existing>,
}

pub(super) fn run(environment: &Environment, arguments: ConfigArguments) -> Result<ExitCode> {
    let ConfigArguments { client, write, remove, link, http, existing } = arguments;
    let workspace = &environment.workspace.path;
    let around = around(environment)?;
    let Target { file: path, start, .. } =
        target(environment, &around, client, clients::config_path(client, &around))?;
    let is_of_project = client.is_of_project() || path.starts_with(workspace);
    if let (true, Some(folder)) = (is_of_project && write, &environment.workspace.instead_of) {
        bail!(
            "{} is no project, and this client reads {} in the folder of a project; change to that folder first",
            folder.display(),
            path.strip_prefix(workspace).unwrap_or(&path).display()
        );
    }
    if write || remove {
        // A project may contain a link in place of the file. It must not be followed.
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
        let owner = if is_of_project { Owner::Project(existing) } else { Owner::Person };
        let written = clients::write(&path, client, &start, owner)?;
        terminal::print(&said(&written));
        record(environment, client, &written.path)?;
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
    let http = &operator.server_policy().map_err(|error| anyhow::anyhow!("{error}"))?.http;
    let token = match &http.auth.value {
        Auth::OwnToken => Some(Files::of(&environment.own_home).token()?),
        // Only the owner of a token knows it.
        Auth::Tokens(_) => Some("TOKEN".to_owned()),
        Auth::Jwt(_) | Auth::Nothing => None,
    };
    let url = http.url.as_ref().map(|url| url.value.clone());
    let url = url.unwrap_or_else(|| scorpiox_transport_http::url(address, http.tls.is_some()));
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

/// Checks that commands cannot replace this program: a client would run the replacement outside the sandbox.
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
        Removed::Gone => Ok(Shown::line(&format!("removed {path}, which had only this entry"))),
        Removed::Stays => {
            bail!("{path}: remove the entry \"{}\" by hand; nothing was changed", clients::ENTRY_NAME)
        }
    }
}

/// Advice after an entry was written.
const OPEN_AGAIN: &str = "Quit the client if it is open, and open it again: it starts the server by itself.";

fn said(written: &Written) -> Shown {
    let Written { path, how, stayed } = written;
    let path = Path::display(path);
    let shown = Shown::line(&match how {
        How::Created => format!("created {path}"),
        How::Updated { backup } => format!("updated {path} (before: {})", backup.display()),
        How::Unchanged => format!("{path} already has the entry"),
    });
    let shown = match how {
        How::Unchanged => shown,
        How::Created | How::Updated { .. } => shown.and(&Shown::line(OPEN_AGAIN)),
    };
    if stayed.is_empty() {
        return shown;
    }
    let shown = shown.and(&Shown::line("The entry keeps these members:"));
    stayed.iter().fold(shown, |shown, member| shown.and(&Shown::line(&format!("  {member}"))))
}
