//! Serves clients over HTTP.

use std::io::Read as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use scorpiox_metering::otlp::{Collector, Trusted};
use scorpiox_metering::records::{Watcher, machine};
use scorpiox_metering::usage::{Ledger, Meter};
use scorpiox_policy::Policy;
use scorpiox_policy::access::{Auth, ObservePolicy};
use scorpiox_server::Workspace;
use scorpiox_terminal::Shown;
use scorpiox_transport_http::Server;
use scorpiox_transport_http::admin::Admin;
use scorpiox_transport_http::observe::{Listener, Spans, Watched};
use scorpiox_transport_http::pages::Pages;
use scorpiox_transport_stdio::streams::ring_when_told;

use super::environment::{Environment, shared_folders};

/// Maximum time for calls in flight to finish when the server ends.
const FINISH_TIME: Duration = Duration::from_secs(5);

pub(super) fn run(environment: &Environment, address: SocketAddr) -> Result<ExitCode> {
    environment.settings.problems().iter().for_each(|problem| tracing::warn!("{problem}"));
    let (mut bell, ringer) = std::io::pipe()?;
    ring_when_told(ringer)?;
    let workspace = environment.open();
    let workspaces = environment.served(&workspace)?;
    let operator = workspace.operator_shared();
    let database = environment.databases.chosen(&operator)?;
    let policy = operator.server_policy().map_err(|error| anyhow::anyhow!("{error}"))?;
    for (before, rule, after) in shared_folders(policy, Some(&environment.workspace.path)) {
        tracing::warn!("{before} ({rule}){after}");
    }
    let spans = spans(policy, &workspace)?;
    // Usage is recorded if there are several principals, or if the policy limits usage.
    let is_alone = matches!(policy.http.auth.value, Auth::OwnToken | Auth::Nothing);
    let is_metered = !is_alone || !policy.limits.is_empty();
    let used = is_metered.then(|| environment.ledger(&operator));
    let meter = used.clone().map(|used| Meter::start(&policy.limits, Ledger::new(used))).transpose()?;
    let mut watchers: Vec<Arc<dyn Watcher>> = Vec::new();
    watchers.extend(spans.clone().map(|spans| spans as Arc<dyn Watcher>));
    watchers.extend(meter.clone().map(|meter| meter as Arc<dyn Watcher>));
    for (_, served) in &workspaces {
        served.records().watched_by(watchers.clone());
        meter.iter().cloned().for_each(|meter| served.metered_by(meter));
        if database.is_some() {
            served.hear_others();
        }
    }
    let (own_home, all) = (environment.own_home.clone(), workspaces.clone());
    let pages = policy.http.admin.is_some().then(|| Admin { workspaces: all, own_home, ledger: used });
    let pages = pages.map(|pages| Arc::new(pages) as Arc<dyn Pages>);
    let server = Server::start(workspaces, &environment.own_home, database.clone(), address, pages)?;
    let server = Arc::new(server);
    let watched = Watched { server: Arc::clone(&server), database };
    let observed = policy.http.observe.listen.as_ref();
    let observed = observed.map(|addresses| Listener::start(addresses, watched)).transpose()?;
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
    if let Some(address) = observed.as_ref().map(Listener::address) {
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

/// Starts the export of a span for each call, if the policy names a collector.
fn spans(policy: &Policy, workspace: &Workspace) -> Result<Option<Arc<Spans>>> {
    let ObservePolicy { traces: Some(url), ca, .. } = &policy.http.observe else { return Ok(None) };
    let trusted = ca.as_ref().map_or(Trusted::System, |ca| Trusted::File(ca.value.clone().into()));
    let collector = Collector::new(&url.value, trusted, workspace.app().async_runtime());
    let spans = Spans::start(collector, &machine());
    Ok(Some(spans.map_err(|why| anyhow::anyhow!("`traces` in [http.observe] ({}): {why}", url.source))?))
}
