//! Receives messages and relayed texts from other processes through the database, using `LISTEN` on a
//! dedicated connection.
//!
//! Any role that may connect can send a notification, so notifications carry no content. The content is in
//! tables, and each item is reported once. Delivery of messages does not depend on notifications: if one is
//! missed (behind a transaction-pooling proxy, for example), the message arrives with the next result.

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
use crate::relay::{self, Content, Cursor, Hear, REMEMBERED};
use crate::unread::Unread;

/// Pause between two connection attempts. It is short, so that a process that can reach the database again
/// listens while relayed texts are still active.
const PAUSE: Duration = Duration::from_secs(1);
/// Pause after the database rejected the role or the password, because some servers count failed logins. A
/// successful connection of the pool ends the pause.
const DENIED_PAUSE: Duration = Duration::from_secs(30);
/// Time without a listening connection that is not reported, because connections are recreated occasionally.
const DEAF_TIME: Duration = Duration::from_secs(5);
/// Age from which an unread answer makes this process count as deaf. Its texts would soon act no more.
const LATE: Duration = Duration::from_secs(5);
/// Maximum number of texts read at once. In between, new marks are read, so that a new answer does not wait for
/// many older cancellations.
const AT_ONCE: usize = 256;
/// Interval between removals of old marks.
const FORGET_PAUSE: Duration = Duration::from_secs(1);
/// Delay before the next sweep after a failed one.
const SWEEP_LATER: Duration = Duration::from_secs(30);

/// Factor for the age of marks sent to the database as already received. Rows are searched in a time window
/// before and after the database's current time, so the exclusion list must cover a longer span.
const SPANS: u32 = 3;

/// Subscribers of this process.
#[derive(Default)]
pub(crate) struct Notices {
    /// Subscribers to messages, by workspace name.
    of_messages: Mutex<BTreeMap<String, Arc<Tell>>>,
    /// Subscriber to relayed texts.
    of_passed: OnceLock<Hear>,
    /// `true` once the listening thread has started.
    are_heard: Mutex<bool>,
    /// Start and cause of the current listening outage, if any.
    deaf: Mutex<Option<(Instant, String)>>,
    /// Time at which the oldest unread answer was written.
    unread_since: Mutex<Option<Instant>>,
}

impl Notices {
    /// Fails if notifications have not been received for longer than [`DEAF_TIME`], or if an answer has not been
    /// read for longer than [`LATE`].
    pub(crate) fn hears(&self) -> Result<(), StoreError> {
        let unread = (*self.unread_since.lock()).map(|since| since.elapsed());
        if let Some(unread) = unread.filter(|unread| *unread > LATE) {
            return Err(StoreError::Other(format!(
                "an answer from another server has not been read for {} s: other servers send more than this one reads",
                unread.as_secs()
            )));
        }
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

    /// Notes the oldest unread answer.
    fn note_unread(&self, oldest: Option<Instant>) {
        let is_late = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() > LATE);
        let before = std::mem::replace(&mut *self.unread_since.lock(), oldest);
        if is_late(oldest) && !is_late(before) {
            tracing::warn!(
                "answers from other servers wait for more than {} s to be read: this server is not ready",
                LATE.as_secs()
            );
        }
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

/// Marks of items already reported, with the times. Bounded by what servers write within [`REMEMBERED`].
#[derive(Default)]
struct Told {
    since: HashMap<Vec<u8>, Instant>,
    forgot: Option<Instant>,
}

impl Told {
    /// Records a mark. Returns `true` if it is new.
    fn is_new(&mut self, mark: Vec<u8>) -> bool {
        self.since.insert(mark, Instant::now()).is_none()
    }

    fn forget_old(&mut self) {
        if self.forgot.is_none_or(|at| at.elapsed() >= FORGET_PAUSE) {
            self.since.retain(|_, since| since.elapsed() < REMEMBERED);
            self.forgot = Some(Instant::now());
        }
    }

    /// Returns the marks that a query may still find, if it finds rows for `found_for`.
    fn recent(&self, found_for: Duration) -> Vec<&[u8]> {
        let recent = self.since.iter().filter(|(_, since)| since.elapsed() < found_for * SPANS);
        recent.map(|(mark, _)| mark.as_slice()).collect()
    }
}

/// State of the listening thread that survives reconnects.
#[derive(Default)]
pub(crate) struct Memory {
    messages: Told,
    passed: Told,
    /// Position in the relayed texts.
    cursor: Cursor,
    /// Relayed texts that are not read yet.
    unread: Unread,
    /// `true` after the first pass. Messages found in the first pass are not reported.
    pub(crate) has_begun: bool,
    /// Time of the next sweep for expired texts. `None` if there are no texts.
    pub(crate) sweep: Option<Instant>,
}

impl Database {
    /// Reports each message that another process adds to a workspace from this point on. The first call
    /// starts a thread with its own connection.
    pub(crate) fn hear(self: &Arc<Self>, workspace: &str, tell: Tell) -> std::io::Result<()> {
        self.notices.of_messages.lock().insert(workspace.to_owned(), Arc::new(tell));
        self.listen()
    }

    /// Starts the listening thread with its own connection, if it is not running.
    pub(crate) fn listen(self: &Arc<Self>) -> std::io::Result<()> {
        let mut are_heard = self.notices.are_heard.lock();
        if !*are_heard {
            let database = Arc::downgrade(self);
            threads::start("database", move || listen(&database))?;
            *are_heard = true;
        }
        Ok(())
    }

    /// Reports some of the texts that other processes relayed. Returns `true` if there are more.
    pub(crate) fn tell_passed(
        &self,
        connection: &mut Connection,
        memory: &mut Memory,
    ) -> Result<bool, StoreError> {
        memory.passed.forget_old();
        self.find_passed(connection, memory)?;
        let missed = memory.unread.expire();
        if missed > 0 {
            tracing::error!("{missed} answers from other servers were not read in time");
        }
        self.notices.note_unread(memory.unread.oldest_answer());
        let marks = memory.unread.next(AT_ONCE);
        if !marks.is_empty() {
            let texts = connection.look(|connection| {
                format::send_check(connection)?;
                relay::contents(connection, &marks)
            });
            let texts = match texts {
                Ok(texts) => texts,
                Err(error) => {
                    // Reads them again after reconnecting.
                    for mark in marks {
                        memory.unread.add(mark, Duration::ZERO);
                    }
                    return Err(error);
                }
            };
            for Content { mark, text } in texts {
                match (text, self.notices.of_passed.get()) {
                    (Some(text), Some(hear)) => hear(&text),
                    (None, _) => memory.unread.add(mark, Duration::ZERO),
                    _ => {}
                }
            }
        }
        self.notices.note_unread(memory.unread.oldest_answer());
        Ok(!memory.unread.is_empty())
    }

    /// Finds the texts that other processes relayed, without their contents.
    fn find_passed(&self, connection: &mut Connection, memory: &mut Memory) -> Result<(), StoreError> {
        let mut has_more = true;
        while has_more && !memory.unread.is_full() {
            let (rows, more) = connection.look(|connection| {
                format::send_check(connection)?;
                relay::marks(connection, &self.sender, &mut memory.cursor)
            })?;
            for row in rows {
                if memory.passed.is_new(row.mark.clone()) {
                    memory.unread.add(row.mark, row.age);
                }
            }
            has_more = more;
        }
        Ok(())
    }

    /// Reports the messages that other processes added.
    pub(crate) fn tell_messages(
        &self,
        connection: &mut Connection,
        memory: &mut Memory,
    ) -> Result<(), StoreError> {
        memory.messages.forget_old();
        // Messages that were delivered with a result in the meantime are already deleted.
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
    /// Makes the next pass read all relayed texts that still act: rows may have appeared before the cursor, or
    /// another database with another clock may have taken over.
    pub(crate) fn look_back(&mut self) {
        self.cursor = Cursor::default();
    }

    /// Removes some expired texts when the sweep is due.
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
