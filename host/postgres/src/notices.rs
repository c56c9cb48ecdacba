//! What the database tells of other processes: messages that they add, and what they pass on. `LISTEN`, on a connection of
//! its own.
//!
//! No message depends on it: one that is not heard here, as behind a pooler that keeps no connection, comes with the next
//! result. What is passed on is kept nowhere.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::sleep;
use std::time::Duration;

use parking_lot::Mutex;
use scorpiox_executor::threads;
use scorpiox_store::{StoreError, Tell};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Notification};

use crate::address::{Address, Encryption};
use crate::database::Database;
use crate::error::store_error;
use crate::messages;
use crate::passed::{self, Hear, Pieces};
use crate::tls;

/// Where the database tells of messages.
pub(crate) const CHANNEL: &str = "scorpiox_code";
/// Between two tries to connect, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Who wants to be told.
#[derive(Default)]
pub(crate) struct Notices {
    /// Of messages, by the workspaces' names.
    of_messages: Mutex<BTreeMap<String, Arc<Tell>>>,
    /// Of what is passed on.
    of_passed: OnceLock<Hear>,
    /// Whether a thread listens.
    are_heard: Mutex<bool>,
}

impl Notices {
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

    /// Another process passed a piece of a text on.
    fn heard_piece(&self, notification: &Notification, pieces: &mut Pieces) {
        let whole = pieces.add(notification).filter(|(who, _)| *who != self.token);
        if let (Some((_, text)), Some(hear)) = (whole, self.notices.of_passed.get()) {
            hear(&text);
        }
    }

    /// The database told of something: who added a message, its number, and the workspace.
    fn heard(&self, notification: &Notification) -> Result<(), StoreError> {
        let mut parts = notification.payload().splitn(3, ' ');
        let (Some(who), Some(Ok(sequence)), Some(workspace)) =
            (parts.next(), parts.next().map(str::parse::<i64>), parts.next())
        else {
            return Ok(());
        };
        let tell = self.notices.of_messages.lock().get(workspace).cloned();
        let Some(tell) = tell.filter(|_| who != self.token) else { return Ok(()) };
        // It may have been taken along with a result by now.
        if let Some(message) = self.look(|lease| messages::numbered(lease, workspace, sequence))? {
            tell(&message);
        }
        Ok(())
    }
}

fn listen(database: &Weak<Database>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(address) = database.upgrade().map(|database| Arc::clone(&database.pool)) else { return };
        let ended = Ear::open(address.address(), &address.location).and_then(|ear| {
            pause = FIRST_PAUSE;
            ear.listen(database)
        });
        match ended {
            Ok(()) => return,
            Err(error) => tracing::debug!("messages of other servers are not heard: {error}"),
        }
        sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// A connection that is listened on.
struct Ear {
    runtime: Runtime,
    heard: UnboundedReceiver<Notification>,
    /// The connection ends with it.
    _client: Client,
}

impl Ear {
    fn open(address: &Address, location: &Arc<str>) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Other(format!("there is no room for a connection: {error}")))?;
        let told = |error: &tokio_postgres::Error| store_error(error, location);
        let (teller, heard) = unbounded_channel();
        let client = runtime.block_on(async {
            let client = match &address.encryption {
                Encryption::None => {
                    let (client, connection) =
                        address.config.connect(NoTls).await.map_err(|error| told(&error))?;
                    tokio::spawn(carry(connection, teller));
                    client
                }
                Encryption::Verified(authorities) => {
                    let tls = tls::connector(authorities.as_deref())?;
                    let (client, connection) =
                        address.config.connect(tls).await.map_err(|error| told(&error))?;
                    tokio::spawn(carry(connection, teller));
                    client
                }
            };
            for channel in [passed::CHANNEL, CHANNEL] {
                let listen = format!("LISTEN {channel}");
                client.batch_execute(&listen).await.map_err(|error| told(&error))?;
            }
            Ok(client)
        })?;
        Ok(Self { runtime, heard, _client: client })
    }

    /// Hands on what is heard, until the connection ends or nobody wants it any more.
    fn listen(mut self, database: &Weak<Database>) -> Result<(), StoreError> {
        let mut pieces = Pieces::default();
        loop {
            let Some(notification) = self.runtime.block_on(self.heard.recv()) else {
                return Err(StoreError::Other("the connection ended".to_owned()));
            };
            let Some(database) = database.upgrade() else { return Ok(()) };
            if notification.channel() == passed::CHANNEL {
                database.heard_piece(&notification, &mut pieces);
            } else if let Err(error) = database.heard(&notification) {
                tracing::debug!("a message of another server is not told at once: {error}");
            }
        }
    }
}

/// Carries messages of a connection, and hands notifications on.
async fn carry<S, T>(mut connection: Connection<S, T>, teller: UnboundedSender<Notification>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message
            && teller.send(notification).is_err()
        {
            return;
        }
    }
}
