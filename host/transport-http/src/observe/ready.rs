//! Readiness: whether calls are served, as decided for each call by `Records::admission`, and whether the
//! store is reachable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Server;
use parking_lot::Mutex;
use scorpiox_metering::records::Unserved;
use scorpiox_server::Workspace;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::observe::Watched;

/// Time for which a result is reused, because there may be many probes.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum time that a probe waits. An unreachable database blocks calls for longer, but probes give up after
/// a second.
const PATIENCE: Duration = Duration::from_millis(800);

/// Reasons in addition to those of [`Unserved`].
const STORE: &str = "store";
const UNDECIDED: &str = "undecided";
const ENDING: &str = "ending";
const CONNECTIONS: &str = "connections";

/// Returns all reasons why a server may not be ready, as metric labels.
pub(crate) fn reasons() -> impl Iterator<Item = &'static str> {
    Unserved::REASONS.into_iter().chain([STORE, UNDECIDED, ENDING, CONNECTIONS])
}

/// Reason why a server is not ready: one of [`reasons`], and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotReady {
    pub(crate) reason: &'static str,
    pub(crate) why: String,
}

/// Sentences about conditions that need attention, although calls are served.
pub(crate) type Warnings = Vec<String>;

/// Cached readiness of a server.
pub(crate) struct Readiness {
    server: Arc<Server>,
    workspaces: Vec<(String, Arc<Workspace>)>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    last: Option<(Instant, Result<Warnings, NotReady>)>,
    /// Workspace that is being checked.
    looks_at: Option<String>,
    /// Last state reported to the log.
    told: Option<NotReady>,
}

impl Readiness {
    pub(crate) fn new(watched: &Watched) -> Arc<Self> {
        let server = Arc::clone(&watched.server);
        Arc::new(Self { workspaces: server.workspaces(), server, found: Mutex::default() })
    }

    /// Determines the readiness within [`PATIENCE`].
    pub(crate) async fn check(self: &Arc<Self>) -> Result<Warnings, NotReady> {
        if self.server.is_ending() {
            let why = "it was told to end, and finishes what runs".to_owned();
            return Err(NotReady { reason: ENDING, why });
        }
        if self.server.is_full() {
            let why = "all of its connections are in use; others wait until a client closes one".to_owned();
            return Err(NotReady { reason: CONNECTIONS, why });
        }
        {
            let mut found = self.found.lock();
            if let Some((_, is_ready)) = found.last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
                return is_ready.clone();
            }
            // A running check has not finished in time.
            if found.looks_at.is_some() {
                return Err(found.undecided());
            }
            found.looks_at = Some(String::new());
        }
        let readiness = Arc::clone(self);
        #[expect(clippy::disallowed_methods, reason = "only one check runs at a time")]
        let looking = spawn_blocking(move || readiness.look());
        match timeout(PATIENCE, looking).await {
            Ok(Ok(is_ready)) => is_ready,
            Err(_) => self.found.lock().late(),
            Ok(Err(broken)) => {
                tracing::error!("whether this server is ready cannot be found out: {broken}");
                let mut found = self.found.lock();
                let why = found.undecided();
                found.looks_at = None;
                Err(why)
            }
        }
    }

    fn look(&self) -> Result<Warnings, NotReady> {
        let mut warnings = Warnings::new();
        let is_ready = self.workspaces.iter().try_for_each(|(name, workspace)| {
            self.found.lock().looks_at = Some(name.clone());
            let warning = check(workspace).map_err(|NotReady { reason, why }| NotReady {
                reason,
                why: format!("the workspace {name}: {why}"),
            })?;
            warnings.extend(warning.map(|warning| format!("the workspace {name}: {warning}")));
            Ok(())
        });
        let is_ready = is_ready.map(|()| warnings);
        let mut found = self.found.lock();
        found.last = Some((Instant::now(), is_ready.clone()));
        found.looks_at = None;
        found.tell(is_ready.clone().err());
        is_ready
    }
}

impl Found {
    /// Logs a change of the state.
    fn tell(&mut self, why_not: Option<NotReady>) {
        if self.told == why_not {
            return;
        }
        if let Some(NotReady { reason, why }) = &why_not {
            tracing::warn!("this server is not ready ({reason}): {why}");
        } else {
            tracing::warn!("this server is ready again");
        }
        self.told = why_not;
    }

    /// Returns and logs the result after a timeout, unless the check has just finished.
    fn late(&mut self) -> Result<Warnings, NotReady> {
        if let (None, Some((_, is_ready))) = (&self.looks_at, &self.last) {
            return is_ready.clone();
        }
        let why_not = self.undecided();
        self.tell(Some(why_not.clone()));
        Err(why_not)
    }

    /// Returns the result while a check is unfinished: the previous reason, if the server was not ready
    /// before.
    fn undecided(&self) -> NotReady {
        if let Some((_, Err(why))) = &self.last {
            return why.clone();
        }
        let name = self.looks_at.as_deref().unwrap_or_default();
        let why = format!("the workspace {name}: its audit and its store did not answer within 0.8 s");
        NotReady { reason: UNDECIDED, why }
    }
}

/// Checks a workspace, and returns a warning if there is one.
fn check(workspace: &Arc<Workspace>) -> Result<Option<String>, NotReady> {
    let unserved = |unserved: Unserved| NotReady { reason: unserved.reason(), why: unserved.to_string() };
    // A changed policy may be usable, or not.
    let workspace = workspace.in_force();
    workspace.records().server_admission().map_err(unserved)?;
    // A database serves all workspaces and is queried once for all of them.
    let reached = workspace.store().answers().and_then(|()| workspace.store().hears());
    reached.map_err(|error| NotReady { reason: STORE, why: error.to_string() })?;
    let kept = workspace.records().kept_policy();
    Ok(kept.map(|problem| {
        format!("the policy cannot be used, and the last valid one stays in force: {problem}")
    }))
}
