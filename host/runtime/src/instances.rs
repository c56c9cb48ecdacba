//! Instances that are kept between calls, since resources live in them: one for a plugin in a client's session.
//!
//! Invariants: one call at a time has an instance. It takes the instance out of its slot, and puts it back only after
//! a result; whatever else becomes of the call, the instance is gone, and all handles with it. The numbers of handles
//! go on after that, so that no handle ever stands for something else.

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

/// How long an instance is kept without a call. A model that works with a resource calls more often, and a person who
/// comes back later can have it made again.
pub const IDLE: Duration = Duration::from_mins(10);
/// How often it is looked whether there are idle ones.
const LOOK: Duration = Duration::from_mins(1);
/// Most handles of an instance. A model that works with more has lost count of them.
pub const MAX_HANDLES: usize = 64;

/// The instances of a server.
#[derive(Default)]
pub(super) struct Instances {
    slots: Mutex<Slots>,
    /// Whether somebody looks for idle ones.
    is_watched: AtomicBool,
}

/// By session and plugin.
type Slots = BTreeMap<(SessionId, Arc<str>), Arc<Slot>>;

/// Where the instance of a plugin is kept for a session, and what became of those before it.
pub(super) struct Slot {
    state: Mutex<State>,
    free: Condvar,
}

struct State {
    /// Whether a call has its turn.
    is_taken: bool,
    /// Whether there is an instance, here or with the call.
    is_live: bool,
    kept: Option<Box<Kept>>,
    used: Instant,
    record: Record,
}

/// What is known of the handles of a plugin in a session, over all instances.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// How many were given so far: the number of the last one.
    pub(super) given: u64,
    /// Up to which number they are gone with their instance, and why.
    pub(super) ended: Option<(u64, End)>,
}

/// An instance between two calls.
pub(super) struct Kept {
    pub(super) store: Store<CallState>,
    /// None until the first call has made it.
    pub(super) instance: Option<Instance>,
    /// What its handles stand for.
    pub(super) handles: BTreeMap<u64, Held>,
    pub(super) made: Made,
}

/// What stands behind a handle.
pub(super) struct Held {
    /// The number of its type.
    pub(super) resource: usize,
    pub(super) any: ResourceAny,
}

/// For what an instance was made: it ends when that is not so any more.
pub(super) struct Made {
    /// The component, as it was approved.
    pub(super) component: u64,
    /// Whether a plan was active.
    pub(super) read_only: bool,
    pub(super) secrets: Arc<Secrets>,
}

/// Why an instance ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Idle,
    Room,
    Changed,
    Plan,
    Secrets,
    /// A call gave its result, and trapped afterwards or left tasks.
    Left {
        function: String,
    },
    /// A call had no result.
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
            Self::Changed => f.write_str("when the plugin was changed or decided about again"),
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
    /// Why an instance that was made for this is none for `now`, if so.
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
    /// The slot of a plugin in a session.
    pub(super) fn slot(&self, session: SessionId, component: &Arc<str>) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        Arc::clone(slots.entry((session, Arc::clone(component))).or_default())
    }

    /// Lets an instance be made for a slot, by the call that has its turn. The one ends for it that was used longest ago.
    pub(super) fn make_room(&self, own: &Slot) -> Result<(), Fault> {
        let slots = self.slots.lock();
        let mut live: Vec<_> = slots.values().filter(|slot| slot.state.lock().is_live).collect();
        let mut ended = None;
        if live.len() >= MAX_KEPT as usize {
            live.sort_by_key(|slot| slot.state.lock().used);
            // One that a call has cannot be ended.
            ended = live.iter().find_map(|slot| slot.state.lock().end(End::Room));
            if ended.is_none() {
                return Err(Fault::Crowded(MAX_KEPT));
            }
        }
        own.state.lock().is_live = true;
        drop(slots);
        // It may be large: nobody has to wait for it.
        drop(ended);
        Ok(())
    }

    /// Ends those of a session.
    pub(super) fn end_session(&self, session: SessionId) {
        let ended: Vec<_> = self.slots.lock().extract_if(.., |(of, _), _| *of == session).collect();
        drop(ended);
    }

    /// Ends those that had no call for a while; whether others are left.
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

    /// Has somebody look for idle ones, while there are any.
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
                // Who kept one meanwhile relied on this being watched.
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
    /// Ends the instance that is here; it is the caller's to drop, without a lock.
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
    /// Waits until no other call has the instance. What is not for this call any more is ended.
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

/// The turn of a call. What it does not put back is ended with it.
pub(super) struct Turn<'s> {
    slot: &'s Slot,
    kept: Option<Box<Kept>>,
    pub(super) record: Record,
}

impl Turn<'_> {
    /// The instance, to look at.
    pub(super) fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    /// Takes the instance out.
    pub(super) fn take(&mut self) -> Option<Box<Kept>> {
        self.kept.take()
    }

    /// Puts it back.
    pub(super) fn keep(&mut self, kept: Box<Kept>) {
        self.kept = Some(kept);
    }

    /// Notes why it is not put back, if it had given any handles.
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

/// The instances of one component: they end with it, when it is not what was approved any more.
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
    /// One more place where there is one.
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
