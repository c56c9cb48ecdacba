//! Whether calls would be served: the policy can be used, and the store can be reached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_server::Workspace;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::Watched;

/// For so long what was found holds: many may ask.
const FRESH: Duration = Duration::from_secs(1);
/// How long who asks waits: a database that is away keeps a call for longer, and a probe gives up after a second.
const PATIENCE: Duration = Duration::from_millis(800);

/// Whether a server is ready, as far as that was found out.
pub(crate) struct Readiness {
    workspaces: Vec<(String, Arc<Workspace>)>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    last: Option<(Instant, bool)>,
    /// Somebody finds out at this moment.
    is_looking: bool,
    /// Why it was not, as the log was told.
    why_not: Option<String>,
}

impl Readiness {
    pub(crate) fn new(watched: &Watched) -> Arc<Self> {
        Arc::new(Self { workspaces: watched.server.workspaces(), found: Mutex::default() })
    }

    /// Finds out, in time.
    pub(crate) async fn is_ready(self: &Arc<Self>) -> bool {
        {
            let mut found = self.found.lock();
            if let Some((_, is_ready)) = found.last.filter(|(at, _)| at.elapsed() < FRESH) {
                return is_ready;
            }
            // Who looks since before has found nothing in time.
            if found.is_looking {
                return false;
            }
            found.is_looking = true;
        }
        let readiness = Arc::clone(self);
        let looking = spawn_blocking(move || readiness.look());
        matches!(timeout(PATIENCE, looking).await, Ok(Ok(true)))
    }

    fn look(&self) -> bool {
        let why_not = self.workspaces.iter().find_map(|(name, workspace)| {
            why_not(workspace).map(|why| format!("the workspace {name}: {why}"))
        });
        let is_ready = why_not.is_none();
        let mut found = self.found.lock();
        found.last = Some((Instant::now(), is_ready));
        found.is_looking = false;
        if found.why_not != why_not {
            if let Some(why) = &why_not {
                tracing::warn!("this server is not ready: {why}");
            } else {
                tracing::warn!("this server is ready again");
            }
            found.why_not = why_not;
        }
        is_ready
    }
}

fn why_not(workspace: &Workspace) -> Option<String> {
    let operator = workspace.operator();
    if let Err(error) = operator.policy() {
        return Some(error.to_string());
    }
    if let Err(error) = operator.check_current() {
        return Some(error.to_string());
    }
    // Asks the database each time, whatever was known of the workspace before.
    workspace.store().changes().err().map(|error| error.to_string())
}
