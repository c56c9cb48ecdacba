//! Serving over HTTP.

use std::io::Read as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use scorpiox_access::{Auth, ObservePolicy};
use scorpiox_admin::Admin;
use scorpiox_http::Server;
use scorpiox_http::pages::Pages;
use scorpiox_observe::{Listener, Spans, Watched};
use scorpiox_otlp::{Collector, Trusted};
use scorpiox_policy::Policy;
use scorpiox_postgres::Database;
use scorpiox_records::{Watcher, machine};
use scorpiox_server::Workspace;
use scorpiox_stdio::streams::ring_when_told;
use scorpiox_terminal::Shown;
use scorpiox_usage::{Ledger, Meter};

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
    let spans = spans(&workspace)?;
    let meter = meter(environment, &workspace)?;
    let mut watchers: Vec<Arc<dyn Watcher>> = spans.iter().map(|spans| Arc::clone(spans) as _).collect();
    watchers.extend(meter.iter().map(|meter| Arc::clone(meter) as Arc<dyn Watcher>));
    for (_, served) in &workspaces {
        served.records().watched_by(watchers.clone());
        if let Some(meter) = &meter {
            served.metered_by(Arc::clone(meter));
        }
    }
    if database.is_some() {
        for (_, served) in &workspaces {
            served.hear_others();
        }
    }
    let pages = pages(environment, &workspace, &workspaces)?;
    let server = Server::start(workspaces, &environment.own_home, database.clone(), address, pages)?;
    let server = Arc::new(server);
    let observed = listen(&workspace, &server, database)?;
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
    if let Some(address) = observed {
        let told = format!("probes and figures are at http://{address}/livez, /readyz and /metrics");
        scorpiox_terminal::print(&Shown::line(&told));
    }
    let _ = bell.read(&mut [0]);
    server.end(FINISH_TIME);
    if let Some(meter) = meter {
        meter.end();
    }
    if let Some(spans) = spans {
        spans.end();
    }
    std::process::exit(0);
}

/// What sends a span for each call, where the policy names a collector.
fn spans(workspace: &Workspace) -> Result<Option<Arc<Spans>>> {
    let policy = workspace.operator().policy().map_err(|error| anyhow::anyhow!("{error}"))?;
    let ObservePolicy { traces: Some(url), ca, .. } = &policy.http.observe else { return Ok(None) };
    let trusted = ca.as_ref().map_or(Trusted::System, |ca| Trusted::File(ca.value.clone().into()));
    let collector = Collector::new(&url.value, trusted, workspace.app().async_runtime());
    let spans = Spans::start(collector, &machine());
    Ok(Some(spans.map_err(|why| anyhow::anyhow!("`traces` in [http.observe] ({}): {why}", url.source))?))
}

/// The pages for the operator, where the policy wants them.
fn pages(
    environment: &Environment,
    workspace: &Workspace,
    workspaces: &[(String, Arc<Workspace>)],
) -> Result<Option<Arc<dyn Pages>>> {
    let operator = workspace.operator_shared();
    let policy = operator.policy().map_err(|error| anyhow::anyhow!("{error}"))?;
    if policy.http.admin.is_none() {
        return Ok(None);
    }
    let ledger = is_metered(policy).then(|| environment.ledger(&operator));
    let (workspaces, own_home) = (workspaces.to_vec(), environment.own_home.clone());
    Ok(Some(Arc::new(Admin { workspaces, own_home, ledger })))
}

/// Whether what principals use is kept: where there are several, or how much one may use is bounded.
fn is_metered(policy: &Policy) -> bool {
    let is_alone = matches!(policy.http.auth.value, Auth::OwnToken | Auth::Nothing);
    !is_alone || !policy.limits.is_empty()
}

/// What counts who uses how much, where it is said who there is, or how much somebody may use.
fn meter(environment: &Environment, workspace: &Workspace) -> Result<Option<Arc<Meter>>> {
    let operator = workspace.operator_shared();
    let policy = operator.policy().map_err(|error| anyhow::anyhow!("{error}"))?;
    if !is_metered(policy) {
        return Ok(None);
    }
    let ledger = Ledger::new(environment.ledger(&operator));
    Ok(Some(Meter::start(&policy.limits, ledger)?))
}

/// Lets the server be asked for its state, where the policy says so; at which address.
fn listen(
    workspace: &Workspace,
    server: &Arc<Server>,
    database: Option<Arc<Database>>,
) -> Result<Option<SocketAddr>> {
    let policy = workspace.operator().policy().map_err(|error| anyhow::anyhow!("{error}"))?;
    let Some(address) = &policy.http.observe.listen else { return Ok(None) };
    let watched = Watched { server: Arc::clone(server), database };
    Ok(Some(Listener::start(address.value, watched)?.address()))
}
