//! The listening connection. The content announced by notifications is read over the same connection, so the
//! listener never waits for a free connection of the pool.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::sleep;
use std::time::{Duration, Instant};

use scorpiox_store::StoreError;
use tokio::sync::Notify;

use crate::address::Address;
use crate::begin::{Begin, Tables};
use crate::connection::Connection;
use crate::database::Database;
use crate::messages;
use crate::notices::Memory;
use crate::relay::{self, SWEEP_DELAY};

/// Timeout for connecting.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Time to wait for an answer. It is short, because texts are active only for [`relay::ACTS`].
const HEAR_TIME: Duration = Duration::from_secs(3);
/// Maximum time spent cancelling abandoned statements.
const END_TIME: Duration = Duration::from_secs(2);
/// Interval between liveness checks, because a cut connection may report nothing. The sum with [`HEAR_TIME`],
/// [`END_TIME`], [`CONNECT_TIME`] and the pause between two attempts is less than [`relay::ACTS`].
const PROBE_PAUSE: Duration = Duration::from_secs(3);
/// Pause between two reads of the tables. It limits the reads caused by a flood of notifications.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// Flags set by notifications. Setting a flag twice has no further effect.
#[derive(Debug, Default)]
pub(crate) struct Bells {
    messages: AtomicBool,
    passed: AtomicBool,
    has_ended: AtomicBool,
    rung: Notify,
}

impl Bells {
    /// Sets the flag of a channel.
    pub(crate) fn ring(&self, channel: &str) {
        match channel {
            relay::CHANNEL => self.set(&self.passed),
            messages::CHANNEL => self.set(&self.messages),
            _ => {}
        }
    }

    /// Reports that the connection has ended.
    pub(crate) fn end(&self) {
        self.set(&self.has_ended);
    }

    fn set(&self, bell: &AtomicBool) {
        bell.store(true, Ordering::Release);
        self.rung.notify_one();
    }
}

/// The listening connection.
pub(crate) struct Ear {
    connection: Connection,
    bells: Arc<Bells>,
}

impl Ear {
    pub(crate) fn open(address: &Address, location: &Arc<str>) -> Result<Self, StoreError> {
        let begin = Instant::now();
        let bells = Arc::new(Bells::default());
        let mut connection = Connection::open(address, location, CONNECT_TIME, Some(&bells))?;
        connection.answer_time = CONNECT_TIME.saturating_sub(begin.elapsed());
        if let Err(error) = subscribe(&mut connection) {
            close(connection);
            return Err(error);
        }
        connection.answer_time = HEAR_TIME;
        // Items that arrived while nothing was listening.
        bells.set(&bells.passed);
        bells.set(&bells.messages);
        Ok(Self { connection, bells })
    }

    /// Reports received items until the connection ends or the database is dropped. After a reconnect, missed
    /// items are read too.
    pub(crate) fn listen(mut self, database: &Weak<Database>, memory: &mut Memory) -> Result<(), StoreError> {
        let heard = self.hear(database, memory);
        if let (Err(_), true, Some(database)) = (&heard, self.connection.lacks_tables(), database.upgrade()) {
            database.forget_tables();
        }
        close(self.connection);
        heard
    }

    fn hear(&mut self, database: &Weak<Database>, memory: &mut Memory) -> Result<(), StoreError> {
        let mut probe = Instant::now();
        memory.look_back();
        loop {
            self.wait(memory.sweep.map_or(probe, |sweep| sweep.min(probe)));
            let is_due = probe <= Instant::now();
            if is_due {
                // Checks that the connection is alive.
                subscribe(&mut self.connection)?;
                probe = Instant::now() + PROBE_PAUSE;
                // There are texts.
                if memory.sweep.is_some() {
                    memory.look_back();
                }
                // A full queue of notifications, or a pooler, may have kept one back.
                self.bells.set(&self.bells.passed);
                self.bells.set(&self.bells.messages);
            }
            if self.bells.has_ended.load(Ordering::Acquire) {
                return Err(StoreError::Other("the connection ended".to_owned()));
            }
            let Some(database) = database.upgrade() else { return Ok(()) };
            database.ready(&mut self.connection)?;
            if is_due {
                database.confirm(&mut self.connection)?;
            }
            let has_rung = |bell: &AtomicBool| bell.swap(false, Ordering::AcqRel);
            if has_rung(&self.bells.passed) {
                if database.tell_passed(&mut self.connection, memory)? {
                    self.bells.set(&self.bells.passed);
                }
                memory.sweep.get_or_insert_with(|| Instant::now() + SWEEP_DELAY);
            }
            if has_rung(&self.bells.messages) {
                database.tell_messages(&mut self.connection, memory)?;
            }
            memory.has_begun = true;
            database.notices.note_heard();
            // Removes a few rows at a time, so that notifications are processed in between.
            memory.sweep(&mut self.connection)?;
            drop(database);
            sleep(LOOK_PAUSE);
        }
    }

    /// Waits until a flag is set, or until `until`.
    fn wait(&mut self, until: Instant) {
        // The caller finds out which flag was set.
        self.connection.carry(self.bells.rung.notified(), until.saturating_duration_since(Instant::now()));
    }
}

/// Closes the connection and stops its statements. Another connection replaces it, and only one may exist at
/// a time.
fn close(mut connection: Connection) {
    if connection.is_at_work() {
        connection.end_work(END_TIME);
    }
}

/// Subscribes to both channels. Repeating this has no effect, and it uses no names that another role could
/// shadow.
fn subscribe(connection: &mut Connection) -> Result<(), StoreError> {
    let listen = format!("LISTEN {}; LISTEN {}", relay::CHANNEL, messages::CHANNEL);
    connection.write(Begin::Write, Tables::Nothing, |connection| connection.run(&listen))
}
