//! Firing timers, and getting their messages to the client.
//!
//! A fired message goes out at once as notifications, where the client can take them, and
//! always waits in the database for the next tool result of the workspace. Several servers
//! may watch one workspace: who takes a due timer in a write transaction fires it, and who
//! takes a message in one delivers it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use scorpiox_executor::{Cancel, threads};
use scorpiox_rpc::reply;
use scorpiox_store::{Database, DatabaseError, LazyTransaction, Message, Mode, Timer};
use scorpiox_transcript::{SpillPlace, fit};
use serde_json::json;

use super::context::Context;
use super::rendering::{MESSAGE_CHARS, cost};
use crate::capabilities::clock::now_millis;
use crate::mcp::LogLevel;
use crate::runtime::Ticker;
use crate::tools::Kind;

/// How often to look for timers that other servers armed, and for jumps of the clock.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How often to look whether the calls in flight have ended, once a timer is due.
const WHILE_BUSY: Duration = Duration::from_millis(20);
/// A timer whose component failed is tried again after this time.
const TRY_AGAIN_MS: u64 = 60_000;

/// What of the room for a message is left to what stands between it and the rest.
const MARGIN_CHARS: usize = 10;

/// Messages on their way to tool results.
#[derive(Debug)]
pub(crate) struct Deliveries {
    enabled: bool,
    timers_changed: AtomicBool,
    /// The database was seen: it is worth a look.
    database_exists: AtomicBool,
}

impl Deliveries {
    /// Deliveries that take messages only when `enabled`.
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, timers_changed: AtomicBool::default(), database_exists: AtomicBool::default() }
    }

    /// The messages to attach to a result, each of them once, and no more than the `room` for them
    /// holds. `waiting` says whether there are any, where that is known already.
    pub(crate) fn take(&self, database: &Arc<Database>, waiting: Option<bool>, room: usize) -> Vec<Message> {
        match self.taken(database, waiting, room) {
            Ok(messages) => messages,
            // They come with the next result; this one does not wait for another server.
            Err(DatabaseError::Conflict) => Vec::new(),
            Err(error) => {
                tracing::warn!("messages of callbacks cannot be read: {error}");
                Vec::new()
            }
        }
    }

    fn taken(
        &self,
        database: &Arc<Database>,
        waiting: Option<bool>,
        room: usize,
    ) -> Result<Vec<Message>, DatabaseError> {
        let waiting = match waiting {
            _ if !self.enabled || room < MESSAGE_CHARS => false,
            Some(waiting) => waiting,
            None if !self.exists(database) => false,
            None => database.try_begin(Mode::ReadFirst)?.has_messages()?,
        };
        if !waiting {
            return Ok(Vec::new());
        }
        let mut transaction = database.try_begin(Mode::Write)?;
        let messages = transaction.take_messages(room, |message| cost(&message.text))?;
        transaction.commit()?;
        Ok(messages)
    }

    fn exists(&self, database: &Database) -> bool {
        if !self.database_exists.load(Ordering::Relaxed) {
            self.database_exists.store(database.exists(), Ordering::Relaxed);
        }
        self.database_exists.load(Ordering::Relaxed)
    }

    pub(crate) fn set_timers_changed(&self) {
        self.timers_changed.store(true, Ordering::Release);
    }

    pub(crate) fn timers_changed(&self) -> bool {
        self.timers_changed.load(Ordering::Acquire) && self.timers_changed.swap(false, Ordering::AcqRel)
    }
}

fn begin(database: &Arc<Database>, mode: Mode) -> Result<scorpiox_store::Transaction, DatabaseError> {
    database.begin(mode, &Cancel::default(), &mut || {})
}

/// The thread that waits for timers. It starts when the client is ready.
pub(crate) struct CallbackClock {
    context: Arc<Context>,
    is_idle: Box<dyn Fn() -> bool + Send + Sync>,
    ticker: Arc<Ticker>,
    signal: Mutex<Signal>,
    changed: Condvar,
    started: OnceLock<()>,
}

#[derive(Default)]
struct Signal {
    look: bool,
    stop: bool,
}

impl CallbackClock {
    /// A clock that fires while `is_idle`.
    pub(crate) fn new(
        context: Arc<Context>,
        is_idle: impl Fn() -> bool + Send + Sync + 'static,
        ticker: Arc<Ticker>,
    ) -> Arc<Self> {
        Arc::new(Self {
            context,
            is_idle: Box::new(is_idle),
            ticker,
            signal: Mutex::default(),
            changed: Condvar::new(),
            started: OnceLock::new(),
        })
    }

    /// Starts the thread, once.
    pub(crate) fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| {
            let clock = Arc::clone(self);
            if let Err(error) = threads::start("callbacks", move || clock.run()) {
                tracing::error!("no thread for callbacks: {error}");
            }
        });
    }

    /// Timers were armed or disarmed.
    pub(crate) fn wake(self: &Arc<Self>) {
        self.start();
        self.signal.lock().unwrap_or_else(PoisonError::into_inner).look = true;
        self.changed.notify_all();
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.changed.notify_all();
    }

    fn run(&self) {
        let mut wait = Duration::ZERO;
        while self.sleep(wait) {
            wait = self.look().unwrap_or_else(|error| {
                tracing::warn!("callbacks cannot be read: {error}");
                LOOK_AGAIN
            });
        }
    }

    /// Sleeps until there is something to look at; false when the server ends.
    fn sleep(&self, time: Duration) -> bool {
        let signal = self.signal.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut signal, _) = self
            .changed
            .wait_timeout_while(signal, time, |signal| !signal.look && !signal.stop)
            .unwrap_or_else(PoisonError::into_inner);
        signal.look = false;
        !signal.stop
    }

    /// Fires what is due; how long to sleep then.
    fn look(&self) -> Result<Duration, DatabaseError> {
        let database = &self.context.database;
        if !database.exists() {
            return Ok(LOOK_AGAIN);
        }
        loop {
            let mut transaction = begin(database, Mode::ReadFirst)?;
            let next = transaction.next_timer()?;
            drop(transaction);
            let now = now_millis();
            match next {
                Some(timer) if timer.due <= now && !(self.is_idle)() => return Ok(WHILE_BUSY),
                Some(timer) if timer.due <= now => self.fire_next()?,
                Some(timer) => return Ok(LOOK_AGAIN.min(Duration::from_millis(timer.due - now))),
                None => return Ok(LOOK_AGAIN),
            }
        }
    }

    /// Fires the first timer that is due, unless another server just did.
    fn fire_next(&self) -> Result<(), DatabaseError> {
        let _awake = self.ticker.begin();
        let database = &self.context.database;
        let mut transaction =
            LazyTransaction::new(Arc::clone(database), Mode::Write, Cancel::default(), Arc::new(|| {}));
        let now = now_millis();
        let Some(timer) = transaction.get()?.next_timer()?.filter(|timer| timer.due <= now) else {
            return Ok(());
        };
        transaction.get()?.disarm(&timer.namespace, timer.id)?;
        match self.fire(transaction, &timer, now) {
            Ok(None) => Ok(()),
            Ok(Some(message)) => {
                self.notify(&message);
                Ok(())
            }
            Err(why) => {
                tracing::warn!(component = timer.namespace, timer = timer.id, "a callback failed: {why}");
                let mut transaction = begin(database, Mode::Write)?;
                transaction.postpone(&timer, now + TRY_AGAIN_MS)?;
                transaction.commit()
            }
        }
    }

    /// Asks the component what its timer means, and keeps that as a message.
    fn fire(&self, transaction: LazyTransaction, timer: &Timer, now: u64) -> Result<Option<Message>, String> {
        let component = self.context.registry.tools().find_map(|tool| match &tool.kind {
            Kind::Wasm { component, .. } if *component.name == *timer.namespace => Some(component),
            _ => None,
        });
        let Some(component) = component else {
            return Err(format!("there is no component {:?}", timer.namespace));
        };
        let setup = self.context.own_setup();
        let (delivery, mut transaction) = self
            .context
            .runtime
            .fire_timer(component, &setup, transaction, (timer.id, timer.due), now)
            .map_err(|fault| fault.to_string())?;
        let message = match delivery? {
            None => None,
            Some(delivery) => {
                let text = scorpiox_text::clean(&delivery.text);
                // Room for it is kept in each result.
                let text = fit(text, MESSAGE_CHARS - MARGIN_CHARS, SpillPlace::none).into_owned();
                let open = transaction.get().map_err(|e| e.to_string())?;
                let sequence =
                    open.add_message(&timer.namespace, timer.id, now, &text).map_err(|e| e.to_string())?;
                Some(Message { sequence, timer: timer.id, fired_at: now, text })
            }
        };
        transaction.commit().map_err(|error| error.to_string())?;
        Ok(message)
    }

    /// Tells the client at once, in the ways it can take.
    fn notify(&self, message: &Message) {
        let facts = self.context.session.facts();
        let takes = facts.ready && facts.revision.is_some_and(|revision| revision.features().unsolicited);
        if !takes {
            return;
        }
        let output = &self.context.output;
        let id = message.timer;
        if facts.channel || facts.traits.has_channel {
            let params = json!({ "content": message.text, "meta": { "callback_id": id.to_string() } });
            output.send(&reply::notification("notifications/claude/channel", &params));
        }
        if facts.log_level.is_none_or(|level| level <= LogLevel::Info) {
            let data = json!({ "callback_id": id, "fired_at": message.fired_at, "message": message.text });
            let params = json!({ "level": "info", "logger": "callback", "data": data });
            output.send(&reply::notification("notifications/message", &params));
        }
    }
}
