//! Retains instances between calls because resources live in them: one instance for a plugin in a client's
//! session.
//!
//! Invariants: at most one call uses an instance at a time. The call takes the instance out of its slot and
//! returns it only after a result. After any other outcome, the instance and all its handles are dropped.
//! Handle numbers continue across instances, so that a handle never refers to a different resource.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use scorpiox_capabilities::setup::SessionId;
use scorpiox_executor::{Cancel, threads};
use scorpiox_wasi::secrets::Secrets;
use tokio::runtime::Handle;
use wasmtime::Store;
use wasmtime::component::{Instance, ResourceAny};

use super::pool::MAX_KEPT;
use super::ticker::TICK;
use super::{CallState, Fault};

/// Idle time after which a retained instance is dropped. A model that works with a resource calls more often,
/// and a user who comes back later can have the resource created again.
pub const IDLE: Duration = Duration::from_mins(10);
/// Interval between checks for idle instances.
const LOOK: Duration = Duration::from_mins(1);
/// Maximum number of handles of an instance. A model with more handles has lost track of them.
pub const MAX_HANDLES: usize = 64;

/// Retained instances of the server.
#[derive(Default)]
pub(super) struct Instances {
    slots: Mutex<Slots>,
    /// `true` while a task checks for idle instances.
    is_watched: AtomicBool,
}

/// Slots by session and plugin.
type Slots = BTreeMap<(SessionId, Arc<str>), Arc<Slot>>;

/// Slot for the instance of a plugin in a session, with the fate of its predecessors.
pub(super) struct Slot {
    state: Mutex<State>,
    free: Condvar,
}

struct State {
    /// `true` while a call uses the slot.
    is_taken: bool,
    /// `true` if an instance exists, in the slot or in use by a call.
    is_live: bool,
    kept: Option<Box<Kept>>,
    used: Instant,
    record: Record,
}

/// Handle numbers of a plugin in a session, over all instances.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// Number of handles assigned so far, which is also the number of the last handle.
    pub(super) given: u64,
    /// Highest handle number that became invalid with its instance, and the reason.
    pub(super) ended: Option<(u64, End)>,
}

/// A retained instance between two calls.
pub(super) struct Kept {
    pub(super) store: Store<CallState>,
    /// `None` until the first call has created the instance.
    pub(super) instance: Option<Instance>,
    /// Resources by handle number.
    pub(super) handles: BTreeMap<u64, Held>,
    pub(super) made: Made,
}

/// Resource that a handle refers to.
pub(super) struct Held {
    /// Number of the resource's type.
    pub(super) resource: usize,
    pub(super) any: ResourceAny,
}

/// Conditions under which an instance was created. The instance ends when they change.
pub(super) struct Made {
    /// ID of the component, as approved by the user.
    pub(super) component: u64,
    /// `true` if a plan was active.
    pub(super) read_only: bool,
    pub(super) secrets: Arc<Secrets>,
}

/// Reason why an instance ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Idle,
    Room,
    Changed,
    Plan,
    Secrets,
    /// A call returned its result, and then trapped or left tasks running.
    Left {
        function: String,
    },
    /// A call failed without a result.
    Fault {
        function: String,
        kind: &'static str,
    },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its instance ended ")?;
        match self {
            Self::Idle => write!(f, "after {} minutes without a call", IDLE.as_secs() / 60),
            Self::Room => write!(f, "to make room for another one; at most {MAX_KEPT} are kept"),
            Self::Changed => f.write_str(
                "when the plugin or the policy was changed, or a person decided about the plugin again",
            ),
            Self::Plan => f.write_str("when a plan began or ended, which changes what it may do"),
            Self::Secrets => f.write_str("when its secrets were changed"),
            Self::Left { function } => write!(f, "with a call of {function} that left something behind"),
            Self::Fault { function, kind } => {
                write!(f, "with a call of {function} that had no result ({kind})")
            }
        }
    }
}

impl Made {
    /// Returns the reason why an instance that was created under these conditions is invalid under `now`, if
    /// it is.
    fn differs(&self, now: &Self) -> Option<End> {
        if self.component != now.component {
            Some(End::Changed)
        } else if self.read_only != now.read_only {
            Some(End::Plan)
        } else {
            (self.secrets.values != now.secrets.values).then_some(End::Secrets)
        }
    }
}

impl Instances {
    /// Returns the slot of a plugin in a session.
    pub(super) fn slot(&self, session: SessionId, component: &Arc<str>) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        Arc::clone(slots.entry((session, Arc::clone(component))).or_default())
    }

    /// Makes room for a new instance in `own`, which the calling thread has reserved. If the limit is
    /// reached, drops the least recently used instance.
    pub(super) fn make_room(&self, own: &Slot) -> Result<(), Fault> {
        let slots = self.slots.lock();
        let mut live: Vec<_> = slots.values().filter(|slot| slot.state.lock().is_live).collect();
        let mut ended = None;
        if live.len() >= MAX_KEPT as usize {
            live.sort_by_key(|slot| slot.state.lock().used);
            // An instance in use by a call cannot be dropped.
            ended = live.iter().find_map(|slot| slot.state.lock().end(End::Room));
            if ended.is_none() {
                return Err(Fault::Crowded(MAX_KEPT));
            }
        }
        own.state.lock().is_live = true;
        drop(slots);
        // Dropping may take long for a large instance, so the lock is released first.
        drop(ended);
        Ok(())
    }

    /// Drops the instances of a session.
    pub(super) fn end_session(&self, session: SessionId) {
        let ended: Vec<_> = self.slots.lock().extract_if(.., |(of, _), _| *of == session).collect();
        drop(ended);
    }

    /// Drops idle instances. Returns `true` if any remain.
    pub(super) fn end_idle(&self, now: Instant) -> bool {
        let slots: Vec<_> = self.slots.lock().values().cloned().collect();
        let mut is_any_left = false;
        for slot in slots {
            let ended = slot.state.lock().end_if_idle(now);
            drop(ended);
            is_any_left |= slot.state.lock().is_live;
        }
        is_any_left
    }

    /// Starts a task that checks for idle instances, unless one is running. The task ends when there are no
    /// instances.
    pub(super) fn watch(self: &Arc<Self>, asynchronous: &Handle) {
        if self.is_watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let instances = Arc::downgrade(self);
        asynchronous.spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                let Some(instances) = Weak::upgrade(&instances) else { return };
                if instances.end_idle(Instant::now()) {
                    continue;
                }
                instances.is_watched.store(false, Ordering::SeqCst);
                // A call that retained an instance in the meantime relied on the running check.
                if !instances.end_idle(Instant::now()) || instances.is_watched.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
        });
    }
}

impl Default for Slot {
    fn default() -> Self {
        let record = Record::default();
        let state = State { is_taken: false, is_live: false, kept: None, used: Instant::now(), record };
        Self { state: Mutex::new(state), free: Condvar::new() }
    }
}

impl State {
    /// Ends the instance in the slot. The caller drops the returned value without holding the lock.
    fn end(&mut self, why: End) -> Option<Box<Kept>> {
        let kept = self.kept.take()?;
        self.is_live = false;
        self.record.ended = Some((self.record.given, why));
        Some(kept)
    }

    fn end_if_idle(&mut self, now: Instant) -> Option<Box<Kept>> {
        let is_idle = now.saturating_duration_since(self.used) >= IDLE;
        if is_idle { self.end(End::Idle) } else { None }
    }
}

impl Slot {
    /// Waits until no other call uses the instance. Ends an instance that is idle or was created under other
    /// conditions.
    pub(super) fn turn(&self, cancel: &Cancel, made: &Made) -> Result<Turn<'_>, Fault> {
        let mut state = self.state.lock();
        while state.is_taken {
            if let Some(reason) = cancel.reason() {
                return Err(Fault::Cancelled(reason));
            }
            threads::wait(|| self.free.wait_for(&mut state, 10 * TICK));
        }
        state.is_taken = true;
        let mut ended = state.end_if_idle(Instant::now());
        if let Some(why) = state.kept.as_ref().and_then(|kept| kept.made.differs(made)) {
            ended = state.end(why);
        }
        let (kept, record) = (state.kept.take(), state.record.clone());
        drop(state);
        drop(ended);
        Ok(Turn { slot: self, kept, record })
    }
}

/// Exclusive use of a slot by a call. An instance that is not put back is dropped.
pub(super) struct Turn<'s> {
    slot: &'s Slot,
    kept: Option<Box<Kept>>,
    pub(super) record: Record,
}

impl Turn<'_> {
    /// Borrows the instance.
    pub(super) fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    /// Takes the instance out of the slot.
    pub(super) fn take(&mut self) -> Option<Box<Kept>> {
        self.kept.take()
    }

    /// Puts the instance back.
    pub(super) fn keep(&mut self, kept: Box<Kept>) {
        self.kept = Some(kept);
    }

    /// Records why the instance is not put back, if it has assigned any handles.
    pub(super) fn ended(&mut self, why: End) {
        if self.record.ended.as_ref().is_none_or(|(last, _)| *last < self.record.given) {
            self.record.ended = Some((self.record.given, why));
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.slot.state.lock();
        state.kept = self.kept.take();
        state.is_live = state.kept.is_some();
        state.record = std::mem::take(&mut self.record);
        state.used = Instant::now();
        state.is_taken = false;
        self.slot.free.notify_one();
    }
}

/// Instances of one component. They end when the component is dropped, for example because its approval
/// changed.
pub(super) struct OfComponent {
    pub(super) id: u64,
    slots: Mutex<Vec<Weak<Slot>>>,
}

impl Default for OfComponent {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), slots: Mutex::default() }
    }
}

impl OfComponent {
    /// Registers a slot that contains an instance of the component.
    pub(super) fn add(&self, slot: &Arc<Slot>) {
        let mut slots = self.slots.lock();
        slots.retain(|other| other.strong_count() > 0 && !std::ptr::eq(other.as_ptr(), &raw const **slot));
        slots.push(Arc::downgrade(slot));
    }
}

impl Drop for OfComponent {
    fn drop(&mut self) {
        for slot in self.slots.get_mut().iter().filter_map(Weak::upgrade) {
            let mut state = slot.state.lock();
            let is_own = state.kept.as_ref().is_some_and(|kept| kept.made.component == self.id);
            let ended = if is_own { state.end(End::Changed) } else { None };
            drop(state);
            drop(ended);
        }
    }
}
