//! Notifies clients that lists have changed: plugins are added, removed or modified, and their tools, prompts
//! and resources with them.
//!
//! A client is notified once for each change, when the list it knows differs from the current one. Its last
//! list or notification is compared with the current state. The watch starts only when an interested client
//! has received a first list. The thread starts after the answer with that list.
//!
//! The thread polls the file stamps, which takes a few microseconds. Closing an inotify instance takes the
//! kernel 10 to 15 ms, which would delay the client when the server exits.
//!
//! Lists contain skills, too. Changes of skills are not notified; the lists carry a time to live instead.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use scorpiox_executor::lookout::{Woken, bell, wait};
use scorpiox_executor::threads;
use scorpiox_mcp::jsonrpc::reply;
use serde_json::json;

use super::workspace::Workspace;
use scorpiox_capabilities::notices::List;
use scorpiox_tools::plugins::Offering;
use scorpiox_tools::{Kind, Tool};

/// All lists, in the order of [`PerList`].
pub(crate) const LISTS: [List; 3] = [List::Tools, List::Prompts, List::Resources];

/// One value for each list.
pub(crate) type PerList<T> = [T; LISTS.len()];

/// Returns the notification that a list has changed, as a line shared by all clients.
pub(super) fn line_of(list: List) -> &'static Bytes {
    static LINES: LazyLock<PerList<Bytes>> =
        LazyLock::new(|| LISTS.map(|list| reply::notification(list.notification(), &json!({})).into()));
    &LINES[list as usize]
}

/// Polling interval.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// Changes arrive in groups: a plugin consists of several files and a decision. Clients are notified after
/// this time without a change, or after this many rounds.
const QUIET_TIME: Duration = Duration::from_millis(100);
const MOST_QUIET_TIMES: u32 = 10;

/// Plugin lists that the client of a session knows.
#[derive(Debug, Default)]
pub(crate) struct KnownLists {
    known: Mutex<PerList<Known>>,
    /// Digests of all plugin lists at the last check, and of the part available to the client.
    own: Mutex<Option<(PerList<u64>, PerList<u64>)>>,
    stirred: AtomicBool,
}

/// Digests of a plugin list for the client.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    /// Digest last sent to the client.
    told: Option<u64>,
    /// Digest last seen by the watch.
    seen: Option<u64>,
}

impl KnownLists {
    /// Records that a list with this digest is on its way to the client.
    pub(crate) fn listed(&self, list: List, listed: u64) {
        let mut known = self.lock();
        let known = &mut known[list as usize];
        known.told = Some(listed);
        // Either the watch is not running, or it saw another state, perhaps after this list was created.
        if known.seen != Some(listed) {
            self.stir();
        }
    }

    /// Requests a check, because a client may have missed a change or has subscribed.
    pub(crate) fn stir(&self) {
        self.stirred.store(true, Ordering::Release);
    }

    /// Returns `true` if a check was requested since the last call.
    pub(crate) fn is_stirred(&self) -> bool {
        self.stirred.load(Ordering::Acquire) && self.stirred.swap(false, Ordering::AcqRel)
    }

    /// Records the current digests and returns the lists that are news to an interested client.
    pub(crate) fn saw(&self, seen: PerList<u64>, wanted: PerList<bool>) -> PerList<bool> {
        let mut known = self.lock();
        std::array::from_fn(|at| {
            let known = &mut known[at];
            known.seen = Some(seen[at]);
            let is_news = known.told.is_some_and(|told| told != seen[at]);
            // A client that subscribes later is notified of changes since its last list.
            if wanted[at] || known.told.is_none() {
                known.told = Some(seen[at]);
            }
            is_news && wanted[at]
        })
    }

    /// Returns the digests of the part available to the client, computing them if `all` has changed.
    pub(crate) fn own(&self, all: PerList<u64>, find: impl FnOnce() -> PerList<u64>) -> PerList<u64> {
        let mut own = self.own.lock();
        match *own {
            Some((of, known)) if of == all => known,
            _ => own.insert((all, find())).1,
        }
    }

    /// Returns `true` if the client has received a list.
    pub(crate) fn knows(&self, list: List) -> bool {
        self.lock()[list as usize].told.is_some()
    }

    /// Returns `true` if the client has received any list.
    pub(crate) fn knows_a_list(&self) -> bool {
        self.lock().iter().any(|known| known.told.is_some())
    }

    fn lock(&self) -> MutexGuard<'_, PerList<Known>> {
        self.known.lock()
    }
}

/// Everything that plugins offer.
pub(crate) struct Offered {
    pub(crate) tools: Vec<Arc<Tool>>,
    /// Unprefixed names of plugin tools.
    pub(crate) plain: BTreeMap<String, String>,
    pub(crate) offerings: Vec<Arc<Offering>>,
}

impl Offered {
    fn of(workspace: &Workspace) -> Self {
        let (tools, offerings) = (workspace.plugins.tools(), workspace.plugins.offerings());
        Self { tools, plain: workspace.plain_names(), offerings }
    }

    fn digests(&self) -> PerList<u64> {
        let Self { tools, plain, offerings } = self;
        [tools_digest(tools, plain), prompts_digest(offerings, |_| true), resources_digest(offerings)]
    }
}

/// Returns a digest of plugin tools and the names that clients see.
pub(crate) fn tools_digest<'a>(
    tools: impl IntoIterator<Item = &'a Arc<Tool>>,
    plain: &BTreeMap<String, String>,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    for tool in tools {
        if let Kind::Plugin { listed, .. } = &tool.kind {
            (listed, plain.get(&*tool.name)).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Returns a digest of the plugin prompts that are open by name.
pub(crate) fn prompts_digest(offerings: &[Arc<Offering>], is_open: impl Fn(&str) -> bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    for served in offerings.iter().map(|offering| &offering.served) {
        for prompt in served.prompts() {
            let name = served.full_name(prompt);
            if is_open(&name) {
                (name, served.plain_name(prompt), prompt).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// Returns a digest of the resources and templates of plugins.
pub(crate) fn resources_digest<'a>(offerings: impl IntoIterator<Item = &'a Arc<Offering>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for served in offerings.into_iter().map(|offering| &offering.served) {
        served.resources().for_each(|resource| resource.hash(&mut hasher));
        served.templates().for_each(|template| template.hash(&mut hasher));
    }
    hasher.finish()
}

impl Workspace {
    /// Starts or wakes the plugin watch if an interested client may have missed a change.
    pub(crate) fn follow_plugins(self: &Arc<Self>) {
        let is_wanted = || self.sessions().iter().any(|session| session.needs_news());
        if let Err(error) = self.plugin_watch.wake(is_wanted, || start(self)) {
            tracing::error!("changed lists are not told: {error}");
        }
    }
}

fn start(workspace: &Arc<Workspace>) -> io::Result<SyncSender<()>> {
    let (ringer, bell) = bell();
    let workspace = Arc::clone(workspace);
    threads::start("plugins", move || watch(&workspace, &bell))?;
    Ok(ringer)
}

fn watch(workspace: &Arc<Workspace>, bell: &Receiver<()>) {
    let mut last = None;
    while let Some((seen, offered)) = settled(workspace, last, bell) {
        last = Some(seen);
        workspace.sessions().iter().for_each(|session| session.saw_lists(seen, &offered));
        if wait(bell, LOOK_TIME) == Woken::End {
            return;
        }
    }
}

/// Waits until the plugin lists are stable, or equal to the last seen ones. Returns `None` when the server
/// shuts down.
fn settled(
    workspace: &Arc<Workspace>,
    last: Option<PerList<u64>>,
    bell: &Receiver<()>,
) -> Option<(PerList<u64>, Offered)> {
    let look = || {
        let offered = Offered::of(&workspace.current());
        (offered.digests(), offered)
    };
    let mut seen = look();
    for _ in 0..MOST_QUIET_TIMES {
        if last == Some(seen.0) {
            break;
        }
        if wait(bell, QUIET_TIME) == Woken::End {
            return None;
        }
        let now = look();
        if now.0 == seen.0 {
            break;
        }
        seen = now;
    }
    Some(seen)
}
