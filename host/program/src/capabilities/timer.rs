//! Timers, and messages that reach the client later.

use scorpiox_store::DatabaseError;

use crate::bindings::capabilities::scorpiox::tool::timer::{Error, Host, Message};
use crate::runtime::CallState;

/// Most messages that `undelivered` gives.
const MAX_MESSAGES: u32 = 100;

/// Timers that a tool has in a workspace.
const MAX_TIMERS: u32 = 64;

/// Why a timer call did not succeed: for the guest to handle, or the end of its run.
#[derive(Debug)]
pub enum TimerFailure {
    /// The guest gets this.
    Guest(Error),
    /// The run ends; see [`DatabaseError::Conflict`] and [`DatabaseError::Cancelled`].
    Trap(DatabaseError),
}

impl From<DatabaseError> for TimerFailure {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Conflict | DatabaseError::Cancelled => Self::Trap(error),
            other => Self::Guest(Error::Unavailable(other.to_string())),
        }
    }
}

impl Host for CallState {
    fn arm(&mut self, id: u32, due: u64) -> Result<(), TimerFailure> {
        if id >= MAX_TIMERS {
            let why = format!("a timer's id must be below {MAX_TIMERS}, but was {id}");
            return Err(TimerFailure::Guest(Error::Unavailable(why)));
        }
        self.use_of("timer");
        self.transaction.get()?.arm(&self.namespace, id, due)?;
        self.timers_changed = true;
        Ok(())
    }

    fn disarm(&mut self, id: u32) -> Result<(), TimerFailure> {
        self.use_of("timer");
        self.transaction.get()?.disarm(&self.namespace, id)?;
        self.timers_changed = true;
        Ok(())
    }

    fn undelivered(&mut self, limit: u32) -> Result<Vec<Message>, TimerFailure> {
        let messages = self.transaction.get()?.messages(&self.namespace, limit.min(MAX_MESSAGES))?;
        Ok(messages
            .into_iter()
            .map(|m| Message { sequence: m.sequence, timer: m.timer, fired_at: m.fired_at, text: m.text })
            .collect())
    }

    fn convert_error(&mut self, failure: TimerFailure) -> wasmtime::Result<Error> {
        match failure {
            TimerFailure::Guest(error) => Ok(error),
            TimerFailure::Trap(error) => Err(wasmtime::Error::from(error)),
        }
    }
}
