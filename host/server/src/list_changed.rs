//! Telling clients that the list of tools has changed: plugins came, went or were changed.
//!
//! A client is told when the list it knows is not what it would get now, and once for each change:
//! what it was told last, by a list or a notification, is compared with what there is. Nothing
//! watches before a client that wants to know has something to be told of, and the thread is started
//! after the answer that gives it the first such thing.
//!
//! The thread looks now and then, which takes it some microseconds: the stamps of a few files. The kernel
//! could tell (inotify), but takes 10 to 15 ms to end that, which a client would wait for at the server's end.
//!
//! Skills are in the list, too, by the description of the tools that invoke them. Changes of these are
//! not told; the list says how long it holds.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_executor::threads;

use super::plugin_watch::{Woken, bell, wait};
use super::workspace::Workspace;
use scorpiox_tools::{Kind, Tool};

pub(super) const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";

/// How often to look.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// Changes come together: a plugin is some files, and a decision. They are told when no more came for this time,
/// or after so many times.
const QUIET_TIME: Duration = Duration::from_millis(100);
const MOST_QUIET_TIMES: u32 = 10;

/// What the client of a session knows of the tools of plugins.
#[derive(Debug, Default)]
pub(crate) struct KnownTools {
    known: Mutex<Known>,
    stirred: AtomicBool,
}

/// Digests of all tools of plugins that are on.
#[derive(Debug, Default)]
struct Known {
    /// What the client was told last.
    told: Option<u64>,
    /// What the watch saw last.
    seen: Option<u64>,
}

impl KnownTools {
    /// A list with these tools is on its way to the client.
    pub(crate) fn listed(&self, workspace: &Workspace, tools: &[Arc<Tool>]) {
        let listed = digest(workspace, tools);
        let mut known = self.lock();
        known.told = Some(listed);
        // Nothing watches yet, or it saw something else: perhaps after this list was made.
        if known.seen != Some(listed) {
            self.stir();
        }
    }

    /// Somebody may have to be told, or is there to be told.
    pub(crate) fn stir(&self) {
        self.stirred.store(true, Ordering::Release);
    }

    /// Whether that happened since this was asked last.
    pub(crate) fn is_stirred(&self) -> bool {
        self.stirred.load(Ordering::Acquire) && self.stirred.swap(false, Ordering::AcqRel)
    }

    /// The plugins are these now; whether that is news to a client that wants to know.
    pub(crate) fn saw(&self, seen: u64, wanted: bool) -> bool {
        let mut known = self.lock();
        known.seen = Some(seen);
        let is_news = known.told.is_some_and(|told| told != seen);
        // Who listens later is told of what changed since the last list.
        if wanted || known.told.is_none() {
            known.told = Some(seen);
        }
        is_news && wanted
    }

    pub(crate) fn knows_a_list(&self) -> bool {
        self.lock().told.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }
}

fn digest(workspace: &Workspace, tools: &[Arc<Tool>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for tool in tools.iter().filter(|tool| workspace.is_on(tool)) {
        if let Kind::Plugin { listed, .. } = &tool.kind {
            listed.hash(&mut hasher);
        }
    }
    hasher.finish()
}

impl Workspace {
    /// Lets the plugins be watched, where somebody wants to know of changes and can have missed something.
    pub(crate) fn follow_plugins(self: &Arc<Self>) {
        let is_wanted = || self.sessions().iter().any(|session| session.needs_tool_news());
        self.plugin_watch.wake(is_wanted, || start(self));
    }
}

fn start(workspace: &Arc<Workspace>) -> io::Result<SyncSender<()>> {
    let (ringer, bell) = bell();
    let workspace = Arc::clone(workspace);
    threads::start("plugins", move || watch(&workspace, &bell))?;
    Ok(ringer)
}

fn watch(workspace: &Workspace, bell: &Receiver<()>) {
    let mut last = None;
    while let Some(seen) = settled(workspace, last, bell) {
        last = Some(seen);
        workspace.sessions().iter().for_each(|session| session.saw_tools(seen));
        if wait(bell, LOOK_TIME) == Woken::End {
            return;
        }
    }
}

/// What the tools of plugins are, once they stay so, or are what was seen last; nothing when the server ends.
fn settled(workspace: &Workspace, last: Option<u64>, bell: &Receiver<()>) -> Option<u64> {
    let mut seen = digest(workspace, &workspace.plugins.tools());
    for _ in 0..MOST_QUIET_TIMES {
        if last == Some(seen) {
            break;
        }
        if wait(bell, QUIET_TIME) == Woken::End {
            return None;
        }
        let now = digest(workspace, &workspace.plugins.tools());
        if now == seen {
            break;
        }
        seen = now;
    }
    Some(seen)
}
