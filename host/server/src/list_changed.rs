//! Telling clients that lists have changed: plugins came, went or were changed, and with them tools, prompts and
//! resources.
//!
//! A client is told when the list it knows is not what it would get now, and once for each change:
//! what it was told last, by a list or a notification, is compared with what there is. Nothing
//! watches before a client that wants to know has something to be told of, and the thread is started
//! after the answer that gives it the first such thing.
//!
//! The thread looks now and then, which takes it some microseconds: the stamps of a few files. The kernel
//! could tell (inotify), but takes 10 to 15 ms to end that, which a client would wait for at the server's end.
//!
//! Skills are in the lists, too. Changes of these are not told; the lists say how long they hold.

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
use scorpiox_rpc::reply;
use serde_json::json;

use super::workspace::Workspace;
use scorpiox_capabilities::notices::List;
use scorpiox_tools::plugins::Offering;
use scorpiox_tools::{Kind, Tool};

/// All lists, in the order in which [`PerList`] has something for each.
pub(crate) const LISTS: [List; 3] = [List::Tools, List::Prompts, List::Resources];

/// Something for each list.
pub(crate) type PerList<T> = [T; LISTS.len()];

/// The notification that a list has changed, as a line for all clients.
pub(super) fn line_of(list: List) -> &'static Bytes {
    static LINES: LazyLock<PerList<Bytes>> =
        LazyLock::new(|| LISTS.map(|list| reply::notification(list.notification(), &json!({})).into()));
    &LINES[list as usize]
}

/// How often to look.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// Changes come together: a plugin is some files, and a decision. They are told when no more came for this time,
/// or after so many times.
const QUIET_TIME: Duration = Duration::from_millis(100);
const MOST_QUIET_TIMES: u32 = 10;

/// What the client of a session knows of what plugins have.
#[derive(Debug, Default)]
pub(crate) struct KnownLists {
    known: Mutex<PerList<Known>>,
    /// What plugins had when it was looked last, and what was there of it for the client: digests of both.
    own: Mutex<Option<(PerList<u64>, PerList<u64>)>>,
    stirred: AtomicBool,
}

/// Digests of what plugins have of a list for the client.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    /// What the client was told last.
    told: Option<u64>,
    /// What the watch saw last.
    seen: Option<u64>,
}

impl KnownLists {
    /// A list with these of plugins is on its way to the client.
    pub(crate) fn listed(&self, list: List, listed: u64) {
        let mut known = self.lock();
        let known = &mut known[list as usize];
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

    /// The plugins have these now; which lists are news to a client that wants to know of them.
    pub(crate) fn saw(&self, seen: PerList<u64>, wanted: PerList<bool>) -> PerList<bool> {
        let mut known = self.lock();
        std::array::from_fn(|at| {
            let known = &mut known[at];
            known.seen = Some(seen[at]);
            let is_news = known.told.is_some_and(|told| told != seen[at]);
            // Who listens later is told of what changed since the last list.
            if wanted[at] || known.told.is_none() {
                known.told = Some(seen[at]);
            }
            is_news && wanted[at]
        })
    }

    /// What of all that plugins have is there for the client, which is found out where that is not known yet.
    pub(crate) fn own(&self, all: PerList<u64>, find: impl FnOnce() -> PerList<u64>) -> PerList<u64> {
        let mut own = self.own.lock();
        match *own {
            Some((of, known)) if of == all => known,
            _ => own.insert((all, find())).1,
        }
    }

    /// Whether the client was given a list.
    pub(crate) fn knows(&self, list: List) -> bool {
        self.lock()[list as usize].told.is_some()
    }

    /// Whether the client was given any list.
    pub(crate) fn knows_a_list(&self) -> bool {
        self.lock().iter().any(|known| known.told.is_some())
    }

    fn lock(&self) -> MutexGuard<'_, PerList<Known>> {
        self.known.lock()
    }
}

/// What plugins have.
pub(crate) struct Offered {
    pub(crate) tools: Vec<Arc<Tool>>,
    /// Names of tools without their plugins'.
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

/// A digest of tools of plugins, with the names that clients know them by.
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

/// A digest of those prompts of plugins whose names are open.
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

/// A digest of the resources and templates of plugins.
pub(crate) fn resources_digest<'a>(offerings: impl IntoIterator<Item = &'a Arc<Offering>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for served in offerings.into_iter().map(|offering| &offering.served) {
        served.resources().for_each(|resource| resource.hash(&mut hasher));
        served.templates().for_each(|template| template.hash(&mut hasher));
    }
    hasher.finish()
}

impl Workspace {
    /// Lets the plugins be watched, where somebody wants to know of changes and can have missed something.
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

fn watch(workspace: &Workspace, bell: &Receiver<()>) {
    let mut last = None;
    while let Some((seen, offered)) = settled(workspace, last, bell) {
        last = Some(seen);
        workspace.sessions().iter().for_each(|session| session.saw_lists(seen, &offered));
        if wait(bell, LOOK_TIME) == Woken::End {
            return;
        }
    }
}

/// What plugins have, once it stays so, or is what was seen last; nothing when the server ends.
fn settled(
    workspace: &Workspace,
    last: Option<PerList<u64>>,
    bell: &Receiver<()>,
) -> Option<(PerList<u64>, Offered)> {
    let look = || {
        let offered = Offered::of(workspace);
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
