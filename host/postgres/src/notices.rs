//! Hears from other processes by way of the database: that they added messages, or passed something on. `LISTEN`, on a connection of
//! its own.
//!
//! Anybody who may connect can ring the bell, so it carries nothing: what there is to tell is in tables, and each of it is
//! told once. No message depends on the bell: one that is not heard here, as behind a pooler that keeps no connection, comes with
//! the next result.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_executor::threads;
use scorpiox_store::implementing::tell_damaged;
use scorpiox_store::{StoreError, Tell};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::{Instant as Due, timeout, timeout_at};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

use crate::address::{Address, Encryption};
use crate::database::Database;
use crate::error::store_error;
use crate::messages::{self, NEWS_TIME};
use crate::relay::{self, ACTS, HEAR_TIME, Hear, REMEMBERED, SWEEP_DELAY};
use crate::tls;

/// Where the database tells of messages.
const CHANNEL: &str = "scorpiox_code";
/// Between two tries to connect: whoever may reach the database again listens while what was passed on acts still.
const PAUSE: Duration = Duration::from_secs(1);
/// The same where the database refuses the role or its password, which some count; a connection that it takes ends the pause.
const DENIED_PAUSE: Duration = Duration::from_secs(30);
/// The time for which a connection is tried.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Between two questions whether the connection lives: one that was cut may say nothing. With [`HEAR_TIME`], [`PAUSE`] and
/// [`CONNECT_TIME`] it is less than [`ACTS`].
const PROBE_PAUSE: Duration = Duration::from_secs(3);
/// The time for which nobody has to be told that nothing is heard: each connection is made anew now and then.
const DEAF_TIME: Duration = Duration::from_secs(5);
/// Until the next look for texts that are to go, where one failed.
const SWEEP_LATER: Duration = Duration::from_secs(30);
/// Between two looks at the tables: whoever rings without end causes no more of them.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

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
struct Memory {
    messages: Told,
    passed: Told,
    /// Messages that were there before it began are not told.
    has_begun: bool,
    /// The time to look for texts that are to go. None where there are no texts.
    sweep: Option<Instant>,
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
    fn tell_passed(&self, memory: &mut Memory) -> Result<(), StoreError> {
        memory.passed.forget_old();
        loop {
            let passed = self.passed(&memory.passed.recent(ACTS))?;
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
    fn tell_messages(&self, memory: &mut Memory) -> Result<(), StoreError> {
        memory.messages.forget_old();
        // Of those that were taken along with a result by now nothing is there.
        loop {
            let told = memory.messages.recent(NEWS_TIME);
            let all =
                self.look_within(HEAR_TIME, |connection| messages::added(connection, &self.sender, &told))?;
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
    /// Removes texts that act no more, when it is time.
    fn sweep(&mut self, database: &Database) {
        if self.sweep.is_none_or(|due| due > Instant::now()) {
            return;
        }
        let next = database.sweep_passed().unwrap_or_else(|error| {
            tracing::debug!("texts that act no more are not removed yet: {error}");
            Some(SWEEP_LATER)
        });
        self.sweep = next.map(|wait| Instant::now() + wait);
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

/// The bells that have rung. Ringing twice is the same.
#[derive(Default)]
struct Bells {
    messages: AtomicBool,
    passed: AtomicBool,
    has_ended: AtomicBool,
    rung: Notify,
}

impl Bells {
    fn ring(&self, bell: &AtomicBool) {
        bell.store(true, Ordering::Release);
        self.rung.notify_one();
    }
}

/// A connection that is listened on.
struct Ear {
    runtime: Runtime,
    bells: Arc<Bells>,
    /// The connection ends with it.
    client: Client,
}

impl Ear {
    fn open(address: &Address, location: &Arc<str>) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Other(format!("there is no room for a connection: {error}")))?;
        let told = |error: &tokio_postgres::Error| store_error(error, location);
        let bells = Arc::new(Bells::default());
        let connecting = async {
            let client = match &address.encryption {
                Encryption::None => {
                    let (client, connection) =
                        address.config.connect(NoTls).await.map_err(|error| told(&error))?;
                    tokio::spawn(carry(connection, Arc::clone(&bells)));
                    client
                }
                Encryption::Verified(authorities) => {
                    let tls = tls::connector(authorities.as_deref())?;
                    let (client, connection) =
                        address.config.connect(tls).await.map_err(|error| told(&error))?;
                    tokio::spawn(carry(connection, Arc::clone(&bells)));
                    client
                }
            };
            subscribe(&client).await.map_err(|error| told(&error))?;
            Ok(client)
        };
        let client = runtime.block_on(async {
            timeout(CONNECT_TIME, connecting).await.unwrap_or_else(|_| Err(silent(CONNECT_TIME)))
        })?;
        // What came while nobody listened.
        bells.ring(&bells.passed);
        bells.ring(&bells.messages);
        Ok(Self { runtime, bells, client })
    }

    /// Hands on what is heard, until the connection ends or nobody wants it any more.
    fn listen(self, database: &Weak<Database>, memory: &mut Memory) -> Result<(), StoreError> {
        let mut probe = Instant::now() + PROBE_PAUSE;
        loop {
            self.wait(memory.sweep.map_or(probe, |sweep| sweep.min(probe)).into());
            if probe <= Instant::now() {
                self.probe()?;
                probe = Instant::now() + PROBE_PAUSE;
            }
            if self.bells.has_ended.load(Ordering::Acquire) {
                return Err(StoreError::Other("the connection ended".to_owned()));
            }
            let Some(database) = database.upgrade() else { return Ok(()) };
            let has_rung = |bell: &AtomicBool| bell.swap(false, Ordering::AcqRel);
            let mut told = Ok(());
            if has_rung(&self.bells.passed) {
                told = database.tell_passed(memory);
                memory.sweep.get_or_insert_with(|| Instant::now() + SWEEP_DELAY);
            }
            memory.sweep(&database);
            if has_rung(&self.bells.messages) {
                told = told.and(database.tell_messages(memory));
            }
            match told {
                Ok(()) => {
                    memory.has_begun = true;
                    *database.notices.deaf.lock() = None;
                }
                // Connecting again looks again, at what was missed, too.
                Err(error) => return Err(error),
            }
            drop(database);
            sleep(LOOK_PAUSE);
        }
    }

    /// Waits until a bell rings, or until then.
    fn wait(&self, until: Due) {
        // The thread looks itself which bell it was.
        drop(self.runtime.block_on(async { timeout_at(until, self.bells.rung.notified()).await }));
    }

    /// Asks whether the connection lives.
    fn probe(&self) -> Result<(), StoreError> {
        let asked = self.runtime.block_on(async { timeout(HEAR_TIME, subscribe(&self.client)).await });
        match asked {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(StoreError::Unreachable(format!("the connection ended: {error}"))),
            Err(_) => Err(silent(HEAR_TIME)),
        }
    }
}

fn silent(within: Duration) -> StoreError {
    StoreError::Unreachable(format!("the database did not answer within {} s", within.as_secs()))
}

/// Has both bells heard. Saying it again changes nothing, and names nothing that another role could have made.
async fn subscribe(client: &Client) -> Result<(), tokio_postgres::Error> {
    for channel in [relay::CHANNEL, CHANNEL] {
        client.batch_execute(&format!("LISTEN {channel}")).await?;
    }
    Ok(())
}

/// Carries messages of a connection, and notes which bells ring.
async fn carry<S, T>(mut connection: Connection<S, T>, bells: Arc<Bells>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message {
            match notification.channel() {
                relay::CHANNEL => bells.ring(&bells.passed),
                CHANNEL => bells.ring(&bells.messages),
                _ => {}
            }
        }
    }
    bells.ring(&bells.has_ended);
}
