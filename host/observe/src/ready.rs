//! Says whether calls are served now: the question that each call is asked (`Records::admission`), and whether the store can be reached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_http::Server;
use scorpiox_records::Unserved;
use scorpiox_server::Workspace;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::Watched;

/// For so long what was found holds: many may ask.
const FRESH: Duration = Duration::from_secs(1);
/// How long who asks waits: a database that is away keeps a call for longer, and a probe gives up after a second.
const PATIENCE: Duration = Duration::from_millis(800);

/// Reasons beside those of [`Unserved`].
const STORE: &str = "store";
const UNDECIDED: &str = "undecided";
const ENDING: &str = "ending";

/// All reasons for which a server may not be ready, as figures name them.
pub(crate) fn reasons() -> impl Iterator<Item = &'static str> {
    Unserved::REASONS.into_iter().chain([STORE, UNDECIDED, ENDING])
}

/// The reason for which a server is not ready: one of [`reasons`], and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotReady {
    pub(crate) reason: &'static str,
    pub(crate) why: String,
}

/// Whether a server is ready, as far as that was found out.
pub(crate) struct Readiness {
    server: Arc<Server>,
    workspaces: Vec<(String, Arc<Workspace>)>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    last: Option<(Instant, Result<(), NotReady>)>,
    /// The workspace that is looked at at this moment.
    looks_at: Option<String>,
    /// Why it was not, as the log was told.
    told: Option<NotReady>,
}

impl Readiness {
    pub(crate) fn new(watched: &Watched) -> Arc<Self> {
        let server = Arc::clone(&watched.server);
        Arc::new(Self { workspaces: server.workspaces(), server, found: Mutex::default() })
    }

    /// Finds out, in time.
    pub(crate) async fn check(self: &Arc<Self>) -> Result<(), NotReady> {
        if self.server.is_ending() {
            let why = "it was told to end, and finishes what runs".to_owned();
            return Err(NotReady { reason: ENDING, why });
        }
        {
            let mut found = self.found.lock();
            if let Some((_, is_ready)) = found.last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
                return is_ready.clone();
            }
            // Who looks since before has found nothing in time.
            if found.looks_at.is_some() {
                return Err(found.undecided());
            }
            found.looks_at = Some(String::new());
        }
        let readiness = Arc::clone(self);
        let looking = spawn_blocking(move || readiness.look());
        match timeout(PATIENCE, looking).await {
            Ok(Ok(is_ready)) => is_ready,
            Err(_) => Err(self.found.lock().undecided()),
            Ok(Err(broken)) => {
                tracing::error!("whether this server is ready cannot be found out: {broken}");
                let mut found = self.found.lock();
                let why = found.undecided();
                found.looks_at = None;
                Err(why)
            }
        }
    }

    fn look(&self) -> Result<(), NotReady> {
        let is_ready = self.workspaces.iter().try_for_each(|(name, workspace)| {
            self.found.lock().looks_at = Some(name.clone());
            check(workspace).map_err(|NotReady { reason, why }| NotReady {
                reason,
                why: format!("the workspace {name}: {why}"),
            })
        });
        let mut found = self.found.lock();
        found.last = Some((Instant::now(), is_ready.clone()));
        found.looks_at = None;
        let why_not = is_ready.clone().err();
        if found.told != why_not {
            if let Some(NotReady { reason, why }) = &why_not {
                tracing::warn!("this server is not ready ({reason}): {why}");
            } else {
                tracing::warn!("this server is ready again");
            }
            found.told = why_not;
        }
        is_ready
    }
}

impl Found {
    /// The answer while nothing is found out: the reason from before, where it was not ready then.
    fn undecided(&self) -> NotReady {
        if let Some((_, Err(why))) = &self.last {
            return why.clone();
        }
        let name = self.looks_at.as_deref().unwrap_or_default();
        let why = format!("the workspace {name}: its audit and its store did not answer within 0.8 s");
        NotReady { reason: UNDECIDED, why }
    }
}

fn check(workspace: &Workspace) -> Result<(), NotReady> {
    let unserved = |unserved: Unserved| NotReady { reason: unserved.reason(), why: unserved.to_string() };
    workspace.records().admission().map_err(unserved)?;
    // Asks the database each time, whatever was known of the workspace before.
    let reached = workspace.store().changes().and_then(|_| workspace.store().hears());
    reached.map_err(|error| NotReady { reason: STORE, why: error.to_string() })
}
