//! Timers, and messages that reach the client later.

use scorpiox_store::StoreError;
use wasmtime::component::Linker;

use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wit::{Error, Host, Message};

/// Maximum number of messages that `undelivered` returns.
const MAX_MESSAGES: u32 = 100;

/// Maximum number of timers of a tool in a workspace.
const MAX_TIMERS: u32 = 64;

/// Reason why a timer call failed.
#[derive(Debug)]
pub enum TimerFailure {
    /// Error for the guest to handle.
    Guest(Error),
    /// Ends the run; see [`StoreError::Conflict`] and [`StoreError::Cancelled`].
    Trap(StoreError),
}

impl From<StoreError> for TimerFailure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict | StoreError::Cancelled => Self::Trap(error),
            other => Self::Guest(Error::Unavailable(other.to_string())),
        }
    }
}

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/timer@0.1.0; }",
        imports: { default: trappable },
        trappable_error_type: { "scorpiox:tool/timer.error" => super::TimerFailure },
    });
    pub use scorpiox::tool::timer::*;
}

/// Changes that a call made to its timers.
#[derive(Debug, Default)]
pub struct TimerCtx {
    /// `true` if timers were armed or disarmed, so that the scheduler must read them again.
    pub changed: bool,
}

impl Provided for TimerCtx {
    const NAME: &'static str = "timer";
    const MAY: &'static str = "set timers and send their messages";

    fn new(_: &Setup, _: &Grantee<'_>) -> Self {
        Self::default()
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, TimerCtx> {
    fn arm(&mut self, id: u32, due: u64) -> Result<(), TimerFailure> {
        self.call.function = "arm";
        if id >= MAX_TIMERS {
            let why = format!("a timer's id must be below {MAX_TIMERS}, but was {id}");
            return Err(TimerFailure::Guest(Error::Unavailable(why)));
        }
        self.call.use_of("timer");
        self.call.transaction.get()?.arm(&self.call.name, id, due)?;
        self.ctx.changed = true;
        Ok(())
    }

    fn disarm(&mut self, id: u32) -> Result<(), TimerFailure> {
        self.call.function = "disarm";
        self.call.use_of("timer");
        self.call.transaction.get()?.disarm(&self.call.name, id)?;
        self.ctx.changed = true;
        Ok(())
    }

    fn undelivered(&mut self, limit: u32) -> Result<Vec<Message>, TimerFailure> {
        self.call.function = "undelivered";
        let messages = self.call.transaction.get()?.messages(&self.call.name, limit.min(MAX_MESSAGES))?;
        Ok(messages
            .into_iter()
            .map(|m| Message { sequence: m.sequence, timer: m.timer, fired_at: m.fired_at, text: m.text })
            .collect())
    }

    fn convert_error(&mut self, failure: TimerFailure) -> wasmtime::Result<Error> {
        match failure {
            TimerFailure::Guest(error) => {
                self.call.failed(TimerCtx::NAME, &error);
                Ok(error)
            }
            TimerFailure::Trap(error) => Err(wasmtime::Error::from(error)),
        }
    }
}
