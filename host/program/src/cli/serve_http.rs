//! Serving over HTTP.

use std::io::Read as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use scorpiox_http::endpoint::PATH;
use scorpiox_http::{Access, Options, Server};
use scorpiox_stdio::streams::ring_when_told;

use super::environment::Environment;

/// Calls in flight may take this long when the server is told to end.
const FINISH_TIME: Duration = Duration::from_secs(5);

pub(super) fn run(environment: &Environment, address: SocketAddr) -> Result<ExitCode> {
    for problem in environment.settings.problems() {
        tracing::warn!("{problem}");
    }
    if !address.ip().is_loopback() {
        bail!(
            "{address} can be reached from other machines, and there is no TLS yet: serve on 127.0.0.1, behind a \
             proxy of your own"
        );
    }
    let files = scorpiox_http::access::Files::of(&environment.own_home);
    let access = Access::by_token(&files.token()?);
    let secret = files.secret()?;
    let (mut bell, ringer) = std::io::pipe()?;
    ring_when_told(ringer)?;
    let workspace = environment.open();
    let handle = workspace.app().async_handle().map_err(anyhow::Error::msg)?;
    let options = |address: SocketAddr| Options::on_loopback(Some(access), secret, address.port());
    let server = Server::start(&workspace, &handle, address, options)
        .with_context(|| format!("{address} cannot be listened on"))?;
    scorpiox_terminal::complain(&format!(
        "scorpiox-code: serving {} at http://{}{PATH}; clients show the token in {}",
        environment.workspace.path.display(),
        server.address(),
        files.token_path().display()
    ));
    let _ = bell.read(&mut [0]);
    server.end(FINISH_TIME);
    workspace.close();
    std::process::exit(0);
}
