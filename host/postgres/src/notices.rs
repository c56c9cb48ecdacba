//! Hears from other processes by way of the database: that they added messages, or passed something on. `LISTEN`, on a connection of
//! its own.
//!
//! Anybody who may connect can ring the bell, so it carries nothing: what there is to tell is in tables, and each of it is
//! told once. No message depends on the bell: one that is not heard here, as behind a pooler that keeps no connection, comes with
//! the next result.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_executor::threads;
use scorpiox_store::implementing::tell_damaged;
use scorpiox_store::{StoreError, Tell};

use crate::connection::Connection;
use crate::database::Database;
use crate::ear::Ear;
use crate::format;
use crate::messages::{self, NEWS_TIME};
use crate::relay::{self, ACTS, Hear, REMEMBERED};

/// Between two tries to connect: whoever may reach the database again listens while what was passed on acts still.
const PAUSE: Duration = Duration::from_secs(1);
/// The same where the database refuses the role or its password, which some count; a connection that it takes ends the pause.
const DENIED_PAUSE: Duration = Duration::from_secs(30);
/// The time for which nobody has to be told that nothing is heard: each connection is made anew now and then.
const DEAF_TIME: Duration = Duration::from_secs(5);
/// Until the next look for texts that are to go, where one failed.
const SWEEP_LATER: Duration = Duration::from_secs(30);

/// Pairs of times before and after now, by the database's clock, in which rows are looked for: for so many of them it need not
/// give again what was heard.
const SPANS: u32 = 3;

/// Who wants to be told.
#[derive(Default)]
pub(crate) struct Notices {
    /// Of messages, by the workspaces' names.
    of_messages: Mutex<BTreeMap<String, Arc<Tell>>>,
    /// Of what is passed on.
    of_passed: OnceLock<Hear>,
    /// Whether a thread listens.
    are_heard: Mutex<bool>,
    /// Since when nothing is heard, and why.
    deaf: Mutex<Option<(Instant, String)>>,
}

impl Notices {
    /// Reports that nothing of other processes is heard, where that is not so for a moment alone.
    pub(crate) fn hears(&self) -> Result<(), StoreError> {
        match &*self.deaf.lock() {
            Some((since, why)) if since.elapsed() > DEAF_TIME => Err(StoreError::Unreachable(format!(
                "for {} s this server has not heard other servers: {why}",
                since.elapsed().as_secs()
            ))),
            _ => Ok(()),
        }
    }

    fn note_deaf(&self, why: &str) {
        let mut deaf = self.deaf.lock();
        let since = deaf.take().map_or_else(Instant::now, |(since, _)| since);
        *deaf = Some((since, why.to_owned()));
    }

    pub(crate) fn note_heard(&self) {
        *self.deaf.lock() = None;
    }

    pub(crate) fn hear_passed(&self, hear: Hear) {
        if self.of_passed.set(hear).is_err() {
            tracing::error!("what is passed on is heard already");
        }
    }
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.of_messages.lock().keys()).finish()
    }
}

/// Texts that were told already, by their marks, and the times. Bounded by what servers write within the time.
#[derive(Default)]
struct Told(HashMap<Vec<u8>, Instant>);

impl Told {
    /// Notes a mark; whether it is new.
    fn is_new(&mut self, mark: Vec<u8>) -> bool {
        self.0.insert(mark, Instant::now()).is_none()
    }

    fn forget_old(&mut self) {
        self.0.retain(|_, since| since.elapsed() < REMEMBERED);
    }

    /// Marks of what may still be found, where that is for so long.
    fn recent(&self, found_for: Duration) -> Vec<&[u8]> {
        let recent = self.0.iter().filter(|(_, since)| since.elapsed() < found_for * SPANS);
        recent.map(|(mark, _)| mark.as_slice()).collect()
    }
}

/// The memory of the listening thread over all its connections.
#[derive(Default)]
pub(crate) struct Memory {
    messages: Told,
    passed: Told,
    /// Messages that were there before it began are not told.
    pub(crate) has_begun: bool,
    /// The time to look for texts that are to go. None where there are no texts.
    pub(crate) sweep: Option<Instant>,
}

impl Database {
    /// Has somebody told of each message that another process adds to a workspace from now on. The first one starts a
    /// thread, with a connection of its own.
    pub(crate) fn hear(self: &Arc<Self>, workspace: &str, tell: Tell) -> std::io::Result<()> {
        self.notices.of_messages.lock().insert(workspace.to_owned(), Arc::new(tell));
        self.listen()
    }

    /// Listens from now on, on a thread with a connection of its own.
    pub(crate) fn listen(self: &Arc<Self>) -> std::io::Result<()> {
        let mut are_heard = self.notices.are_heard.lock();
        if !*are_heard {
            let database = Arc::downgrade(self);
            threads::start("database", move || listen(&database))?;
            *are_heard = true;
        }
        Ok(())
    }

    /// Tells of what other processes passed on.
    pub(crate) fn tell_passed(
        &self,
        connection: &mut Connection,
        memory: &mut Memory,
    ) -> Result<(), StoreError> {
        memory.passed.forget_old();
        loop {
            let heard = memory.passed.recent(ACTS);
            let passed = connection.look(|connection| {
                format::send_check(connection)?;
                relay::passed(connection, &self.sender, &heard)
            })?;
            let mut has_new = false;
            for (mark, text) in passed {
                let is_new = memory.passed.is_new(mark);
                has_new |= is_new;
                if let Some(hear) = self.notices.of_passed.get().filter(|_| is_new) {
                    hear(&text);
                }
            }
            if !has_new {
                return Ok(());
            }
        }
    }

    /// Tells of messages that other processes added.
    pub(crate) fn tell_messages(
        &self,
        connection: &mut Connection,
        memory: &mut Memory,
    ) -> Result<(), StoreError> {
        memory.messages.forget_old();
        // Of those that were taken along with a result by now nothing is there.
        loop {
            let told = memory.messages.recent(NEWS_TIME);
            let all = connection.look(|connection| {
                format::send_check(connection)?;
                messages::added(connection, &self.sender, &told)
            })?;
            let mut has_new = false;
            for added in all {
                let is_new = memory.messages.is_new(added.mark);
                has_new |= is_new;
                let tell = self.notices.of_messages.lock().get(&added.workspace).cloned();
                let Some(tell) = tell.filter(|_| is_new && memory.has_begun) else { continue };
                match &added.message {
                    Ok(message) => tell(message),
                    Err(what) => tell_damaged(&added.workspace, what),
                }
            }
            if !has_new {
                return Ok(());
            }
        }
    }
}

impl Memory {
    /// Removes a few texts that act no more, when it is time.
    pub(crate) fn sweep(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        if self.sweep.is_none_or(|due| due > Instant::now()) {
            return Ok(());
        }
        let swept = relay::sweep(connection);
        let wait = swept.as_ref().map_or(Some(SWEEP_LATER), |next| *next);
        self.sweep = wait.map(|wait| Instant::now() + wait);
        let Err(error) = swept else { return Ok(()) };
        tracing::debug!("texts that act no more are not removed yet: {error}");
        if connection.is_broken() { Err(error) } else { Ok(()) }
    }
}

fn listen(database: &Weak<Database>) {
    let mut memory = Memory::default();
    loop {
        let Some(pool) = database.upgrade().map(|database| Arc::clone(&database.pool)) else { return };
        let connections = pool.connections();
        let opened = pool.connected(|address| Ear::open(address, &pool.location));
        drop(pool);
        let error = match opened.and_then(|ear| ear.listen(database, &mut memory)) {
            Ok(()) => return,
            Err(error) => error,
        };
        let Some(database) = database.upgrade() else { return };
        tracing::debug!("messages of other servers are not heard: {error}");
        database.notices.note_deaf(&error.to_string());
        let pool = Arc::clone(&database.pool);
        drop(database);
        let pause = if matches!(error, StoreError::Denied(_)) { DENIED_PAUSE } else { PAUSE };
        pool.wait_for_connection(connections, pause);
    }
}
