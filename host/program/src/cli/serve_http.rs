//! Serving over HTTP.

use std::io::Read as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use scorpiox_http::Server;
use scorpiox_stdio::streams::ring_when_told;
use scorpiox_terminal::Shown;

use super::environment::Environment;

/// Calls in flight may take this long when the server is told to end.
const FINISH_TIME: Duration = Duration::from_secs(5);

pub(super) fn run(environment: &Environment, address: SocketAddr) -> Result<ExitCode> {
    environment.settings.problems().iter().for_each(|problem| tracing::warn!("{problem}"));
    let (mut bell, ringer) = std::io::pipe()?;
    ring_when_told(ringer)?;
    let workspace = environment.open();
    let workspaces = environment.served(&workspace)?;
    let database = environment.databases.chosen(workspace.operator())?;
    let server = Server::start(workspaces, &environment.own_home, database, address)?;
    let how = server
        .token()
        .map_or_else(String::new, |token| format!("; clients show the token in {}", token.display()));
    if let Some(found) = &environment.workspace.instead_of {
        tracing::warn!(
            "{} cannot be worked on; start the server in a project's folder, or name one with --workspace",
            found.display()
        );
    }
    let folder = environment.workspace.path.display();
    scorpiox_terminal::print(&Shown::line(&format!("serving {folder} at {}{how}", server.url())));
    let _ = bell.read(&mut [0]);
    server.end(FINISH_TIME);
    std::process::exit(0);
}
