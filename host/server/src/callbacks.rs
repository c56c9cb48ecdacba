//! Fires timers and delivers their messages to the client.
//!
//! A fired message is sent immediately as notifications if the client supports them. It also waits in the
//! store for the next tool result of the workspace. Several servers may watch one workspace: the server that
//! removes a due timer in a write transaction fires it, and the server that removes a message in one delivers
//! it.

use std::sync::Arc;
use std::time::Duration;

use scorpiox_command_output::{SpillPlace, fit};
use scorpiox_exchange::news::CallbackNews;
use scorpiox_executor::Cancel;
use scorpiox_store::{LazyTransaction, Message, Mode, Store, StoreError, Timer, Transaction};

use super::deliveries::MESSAGE_CHARS;
use super::workspace::Workspace;
use scorpiox_capabilities::clock::now_millis;
use scorpiox_tools::Kind;

/// Interval between checks for timers of other servers and for clock jumps.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Interval between checks for the end of the calls in flight, once a timer is due.
const WHILE_BUSY: Duration = Duration::from_millis(20);
/// Maximum delay of a due timer by the calls of one session.
const MAX_WAIT_MS: u64 = 60_000;
/// Maximum delay of a due timer by the calls of several sessions, of which one nearly always has a call in flight.
const MAX_WAIT_FOR_MANY_MS: u64 = 5_000;
/// Delay before a timer whose component failed is retried.
const TRY_AGAIN_MS: u64 = 60_000;

/// Characters reserved in a message for its leading line and its repeat count.
const MARGIN_CHARS: usize = 50;

fn begin(store: &Arc<dyn Store>, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
    store.begin(mode, &Cancel::default(), &mut || {})
}

impl Workspace {
    /// Returns the current time on the clock of the store, which decides when timers are due.
    fn now(&self) -> u64 {
        now_millis().saturating_add_signed(self.store.clock_ahead())
    }

    /// Notifies the sessions immediately of callbacks that other servers fire.
    pub fn hear_others(self: &Arc<Self>) {
        let workspace = Arc::downgrade(self);
        let tell = move |message: &Message| {
            // The policy may have changed without a request.
            workspace.upgrade().iter().for_each(|workspace| workspace.in_force().tell_callback(message));
        };
        if let Err(error) = self.store.hear(Box::new(tell)) {
            tracing::warn!("callbacks of other servers come with the next result alone: {error}");
        }
    }

    /// Fires the due timers and returns the time to sleep.
    pub(crate) fn fire_callbacks(&self) -> Duration {
        self.fire_due().unwrap_or_else(|error| {
            tracing::warn!("callbacks cannot be read: {error}");
            LOOK_AGAIN
        })
    }

    /// Fires the due timers and returns the time to sleep.
    fn fire_due(&self) -> Result<Duration, StoreError> {
        let store = &self.store;
        if !store.exists() {
            return Ok(LOOK_AGAIN);
        }
        loop {
            let mut transaction = begin(store, Mode::ReadFirst)?;
            let next = transaction.next_timer()?;
            drop(transaction);
            let now = self.now();
            match next {
                Some(timer)
                    if (timer.due..timer.due + self.longest_wait_ms()).contains(&now) && !self.is_idle() =>
                {
                    return Ok(WHILE_BUSY);
                }
                Some(timer) if timer.due <= now => self.fire_next()?,
                Some(timer) => return Ok(LOOK_AGAIN.min(Duration::from_millis(timer.due - now))),
                None => return Ok(LOOK_AGAIN),
            }
        }
    }

    /// Returns the maximum delay of a due timer while calls run.
    fn longest_wait_ms(&self) -> u64 {
        if self.sessions().len() > 1 { MAX_WAIT_FOR_MANY_MS } else { MAX_WAIT_MS }
    }

    /// Fires the first due timer, unless another server already has.
    fn fire_next(&self) -> Result<(), StoreError> {
        let _awake = self.app.ticker.begin();
        let store = &self.store;
        let mut transaction =
            LazyTransaction::new(Arc::clone(store), Mode::Write, Cancel::default(), Arc::new(|| {}));
        let now = self.now();
        let Some(timer) = transaction.get()?.next_timer()?.filter(|timer| timer.due <= now) else {
            return Ok(());
        };
        transaction.get()?.disarm(&timer.namespace, timer.id)?;
        match self.fire(transaction, &timer, now) {
            Ok(None) => Ok(()),
            Ok(Some(message)) => {
                self.tell_callback(&message);
                Ok(())
            }
            Err(why) => {
                tracing::warn!(component = timer.namespace, timer = timer.id, "a callback failed: {why}");
                let mut transaction = begin(store, Mode::Write)?;
                transaction.postpone(&timer, now + TRY_AGAIN_MS)?;
                transaction.commit()
            }
        }
    }

    /// Notifies all clients, unless the policy refuses all calls. The message then waits for the next result.
    fn tell_callback(&self, message: &Message) {
        if self.records.policy_admission().is_err() {
            return;
        }
        let news = CallbackNews::new(message.timer, message.fired_at, &message.text);
        self.sessions().iter().for_each(|session| session.tell_callback(&news));
    }

    /// Asks the component for the message of its timer, and stores it.
    fn fire(&self, transaction: LazyTransaction, timer: &Timer, now: u64) -> Result<Option<Message>, String> {
        let component = self.registry().tools().find_map(|tool| match &tool.kind {
            Kind::Wasm { component, .. } if *component.name == *timer.namespace => Some(component),
            _ => None,
        });
        let Some(component) = component else {
            return Err(format!("there is no component {:?}", timer.namespace));
        };
        let setup = self.own_setup();
        let (delivery, mut transaction) = self
            .runtime()
            .fire_timer(component, &setup, transaction, (timer.id, timer.due), now)
            .map_err(|fault| fault.to_string())?;
        let message = match delivery? {
            None => None,
            Some(delivery) => {
                let text = scorpiox_text::clean(&delivery.text);
                // Each result reserves room for a message of this length.
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
}
