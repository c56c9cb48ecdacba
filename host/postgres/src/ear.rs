//! The connection that is listened on. What the bells are rung for is looked up over it, too: however many others are in use, the
//! listener waits for none of them.

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

/// The time for which a connection is tried.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// The time that an answer is waited for: what the listener was told to look for acts for [`relay::ACTS`].
const HEAR_TIME: Duration = Duration::from_secs(3);
/// The time for which the server is asked to end what was given up.
const END_TIME: Duration = Duration::from_secs(2);
/// Between two questions whether the connection lives: one that was cut may say nothing. With [`HEAR_TIME`], [`END_TIME`], [`CONNECT_TIME`]
/// and the pause between two tries it is less than [`relay::ACTS`].
const PROBE_PAUSE: Duration = Duration::from_secs(3);
/// Between two looks at the tables: whoever rings without end causes no more of them.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// The bells that have rung. Ringing twice is the same.
#[derive(Debug, Default)]
pub(crate) struct Bells {
    messages: AtomicBool,
    passed: AtomicBool,
    has_ended: AtomicBool,
    rung: Notify,
}

impl Bells {
    /// Rings that of a channel.
    pub(crate) fn ring(&self, channel: &str) {
        match channel {
            relay::CHANNEL => self.set(&self.passed),
            messages::CHANNEL => self.set(&self.messages),
            _ => {}
        }
    }

    /// The connection has ended.
    pub(crate) fn end(&self) {
        self.set(&self.has_ended);
    }

    fn set(&self, bell: &AtomicBool) {
        bell.store(true, Ordering::Release);
        self.rung.notify_one();
    }
}

/// A connection that is listened on.
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
        // What came while nobody listened.
        bells.set(&bells.passed);
        bells.set(&bells.messages);
        Ok(Self { connection, bells })
    }

    /// Hands on what is heard, until the connection ends or nobody wants it any more. Connecting again looks again, at what was
    /// missed, too.
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
        loop {
            self.wait(memory.sweep.map_or(probe, |sweep| sweep.min(probe)));
            let is_due = probe <= Instant::now();
            if is_due {
                // Whether the connection lives.
                subscribe(&mut self.connection)?;
                probe = Instant::now() + PROBE_PAUSE;
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
                database.tell_passed(&mut self.connection, memory)?;
                memory.sweep.get_or_insert_with(|| Instant::now() + SWEEP_DELAY);
            }
            if has_rung(&self.bells.messages) {
                database.tell_messages(&mut self.connection, memory)?;
            }
            memory.has_begun = true;
            database.notices.note_heard();
            // A few rows, so that whoever rings meanwhile is heard in between.
            memory.sweep(&mut self.connection)?;
            drop(database);
            sleep(LOOK_PAUSE);
        }
    }

    /// Waits until a bell rings, or until then.
    fn wait(&mut self, until: Instant) {
        // The thread looks itself which bell it was.
        self.connection.carry(self.bells.rung.notified(), until.saturating_duration_since(Instant::now()));
    }
}

/// Closes a connection: another one is made in its place, and there is to be one at a time.
fn close(mut connection: Connection) {
    if connection.is_at_work() {
        connection.end_work(END_TIME);
    }
}

/// Has both bells heard. Saying it again changes nothing, and names nothing that another role could have made.
fn subscribe(connection: &mut Connection) -> Result<(), StoreError> {
    let listen = format!("LISTEN {}; LISTEN {}", relay::CHANNEL, messages::CHANNEL);
    connection.write(Begin::Write, Tables::Nothing, |connection| connection.run(&listen))
}
