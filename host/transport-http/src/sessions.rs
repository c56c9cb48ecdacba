//! Clients of single requests and of sessions.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_exchange::seal::{Seal, Secret};
use scorpiox_executor::shares::Shares;
use scorpiox_mcp::jsonrpc::Incoming;
use scorpiox_server::{Audience, Session, SessionOptions, Step, Transport};

use crate::bounds::{MayBlock, PART};
use crate::ended::{Account, End, Numbers, now};
use crate::request::event_id::StreamNumber;
use crate::request::session_id::{Handshake, Number};
use crate::served::{Caller, Served};
use crate::shared::Shared;
use crate::stream::Stream;

/// Maximum number of sessions in memory. Other sessions are restored from their IDs.
const MAX_HELD: usize = 16_384;
/// Idle time after which a session is dropped from memory. Its ID stays valid.
const IDLE_TIME: Duration = Duration::from_mins(10);
/// Maximum number of resumable streams of a session.
const MAX_STREAMS: usize = 16;

/// A client while this server knows it.
pub(crate) struct Client {
    pub(crate) session: Arc<Session>,
    caller: Caller,
    /// Key of the principal.
    pub(crate) principal: Arc<str>,
    /// Stream of unsolicited messages.
    pub(crate) notices: Arc<Stream>,
    /// Number of that stream.
    pub(crate) of_notices: StreamNumber,
    streams: Mutex<VecDeque<(StreamNumber, Arc<Stream>)>>,
    used: Mutex<Instant>,
}

impl Client {
    /// Returns the issuer of the principal's token, or `None` for tokens of this server.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.caller.principal.issuer.as_deref()
    }

    /// Creates the client of a single request, or of a new session.
    pub(crate) fn new(caller: &Caller, secret: &Secret) -> Arc<Self> {
        let notices = Stream::kept();
        let options = SessionOptions {
            audience: Audience::Model,
            notices: notices.clone(),
            seal: caller.states(secret),
            principal: Some(Arc::clone(&caller.principal)),
        };
        let session = caller.served.workspace.connect(options);
        Arc::new_cyclic(|client: &Weak<Self>| {
            session.carried_by(client.clone());
            Self {
                session,
                caller: caller.clone(),
                principal: caller.principal.key().into(),
                notices,
                of_notices: StreamNumber::give(),
                streams: Mutex::default(),
                used: Mutex::new(Instant::now()),
            }
        })
    }

    /// Returns `true` if it is a client of a workspace.
    pub(crate) fn works_in(&self, served: &Arc<Served>) -> bool {
        Arc::ptr_eq(&self.caller.served, served)
    }

    /// Returns the path of its endpoint.
    pub(crate) fn path(&self) -> String {
        self.caller.served.path()
    }

    /// Creates a re-readable stream for an answer, with its number.
    pub(crate) fn keep_stream(&self) -> (StreamNumber, Arc<Stream>) {
        let (number, stream) = (StreamNumber::give(), Stream::kept());
        let mut streams = self.streams.lock();
        streams.push_back((number, Arc::clone(&stream)));
        if streams.len() > MAX_STREAMS {
            let done = streams.iter().position(|(_, stream)| stream.has_ended());
            streams.remove(done.unwrap_or_default());
        }
        (number, stream)
    }

    /// Removes a stream whose answer has been delivered.
    pub(crate) fn forget_stream(&self, number: StreamNumber) {
        self.streams.lock().retain(|(kept, _)| *kept != number);
    }

    /// Returns the stream with a number, if it is still available.
    pub(crate) fn stream(&self, number: StreamNumber) -> Option<Arc<Stream>> {
        if number == self.of_notices {
            return Some(Arc::clone(&self.notices));
        }
        let streams = self.streams.lock();
        let stream = streams.iter().find(|(kept, _)| *kept == number).map(|(_, stream)| Arc::clone(stream));
        stream.filter(|stream| !stream.is_forgotten())
    }

    /// Ends the session and everything that runs in it.
    pub(crate) fn end(&self) {
        self.session.abandon();
        self.session.end();
        self.notices.end(None);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}

impl Transport for Client {
    fn is_idle(&self) -> bool {
        self.session.is_idle()
    }
}

/// Location of a session.
pub(crate) enum Found {
    Held(Arc<Client>),
    /// Not in memory: only the number and the handshake from its ID are known.
    Away(Number, Handshake),
}

/// Clients that completed the handshake.
pub(crate) struct Sessions {
    seal: Seal,
    numbers: Numbers,
    /// Shared list of ended sessions.
    shared: Shared,
    states: Mutex<Held>,
}

/// A client with its verified session ID.
struct Kept {
    client: Arc<Client>,
    id: Arc<str>,
    /// Expiry of the ID, in seconds since 1970.
    until: u64,
}

struct Held {
    clients: BTreeMap<Number, Kept>,
    /// Numbers of those clients by ID, so that an ID is decrypted only once.
    numbers: HashMap<Arc<str>, Number>,
    /// Number of sessions of each principal.
    shares: Shares<Arc<str>>,
    swept: Option<Instant>,
}

impl Sessions {
    /// Creates the state for one principal, or for several (`are_many`) that must not starve each other.
    pub(crate) fn new(secret: &Secret, shared: Shared, are_many: bool) -> Self {
        let of_principals = Shares::new(MAX_HELD, MAX_HELD / if are_many { PART } else { 1 });
        let (clients, numbers) = (BTreeMap::new(), HashMap::new());
        Self {
            seal: Seal::of(secret, "sessions"),
            numbers: Numbers::new(secret),
            shared,
            states: Mutex::new(Held { clients, numbers, shares: of_principals, swept: None }),
        }
    }

    /// Stores a client after the handshake and returns its session ID. Returns `None` if too many sessions
    /// are open.
    pub(crate) fn keep(
        &self,
        caller: &Caller,
        client: &Arc<Client>,
        handshake: &Handshake,
    ) -> Option<String> {
        let number = self.numbers.give(Account::Sessions, &client.principal)?;
        let id = handshake.id(&number, &self.seal, &caller.binding())?;
        let kept = Kept { client: Arc::clone(client), id: id.as_str().into(), until: handshake.until() };
        self.hold(number, kept)?;
        Some(id)
    }

    /// Returns the session number of a valid ID, even if the session has ended.
    pub(crate) fn number(&self, caller: &Caller, id: &str) -> Option<Number> {
        self.known(caller, id).or_else(|| Some(self.opened(caller, id)?.0))
    }

    /// Returns the session of a valid ID. The caller must check that it has not ended.
    pub(crate) fn found(&self, caller: &Caller, id: &str, number: &Number) -> Option<Found> {
        if let Some(client) = self.states.lock().used(number) {
            return Some(Found::Held(client));
        }
        self.opened(caller, id).map(|(number, handshake)| Found::Away(number, handshake))
    }

    fn opened(&self, caller: &Caller, id: &str) -> Option<(Number, Handshake)> {
        Handshake::opened(id, &self.seal, &caller.binding(), now())
    }

    /// Returns the client of a session if it is in memory.
    pub(crate) fn held(&self, number: &Number) -> Option<Arc<Client>> {
        self.states.lock().clients.get(number).map(|kept| Arc::clone(&kept.client))
    }

    /// Returns the number of a valid ID that was decrypted before for the same caller.
    pub(crate) fn known(&self, caller: &Caller, id: &str) -> Option<Number> {
        let held = self.states.lock();
        let number = *held.numbers.get(id)?;
        let kept = held.clients.get(&number)?;
        let is_good = kept.client.caller.is_bound_as(caller) && now() < kept.until;
        is_good.then_some(number)
    }

    /// Restores a session after a restart. May read files, like the handshake. Returns `None` if too many
    /// sessions are open.
    pub(crate) fn begin_anew(
        &self,
        number: Number,
        handshake: &Handshake,
        id: &str,
        caller: &Caller,
        secret: &Secret,
    ) -> Option<Arc<Client>> {
        let client = Client::new(caller, secret);
        for message in [handshake.message(), READY.to_owned()] {
            let reply: scorpiox_server::Reply = client.notices.clone();
            if let Ok(Incoming::Single(message)) = Incoming::parse(message.as_bytes())
                && let Step::Work(..) = client.session.step(message, &reply)
            {
                tracing::debug!("a handshake is no work");
            }
        }
        self.hold(number, Kept { client, id: id.into(), until: handshake.until() })
    }

    /// Ends a session.
    pub(crate) fn end(&self, number: Number, may_block: &MayBlock) -> io::Result<End> {
        let end = self.shared.end(number, may_block)?;
        if end != End::TooMany {
            self.let_go(&number);
        }
        Ok(end)
    }

    /// Drops a session that has ended and stops everything that runs in it.
    pub(crate) fn let_go(&self, number: &Number) {
        let client = self.states.lock().remove(number);
        if let Some(client) = client {
            client.end();
        }
    }

    /// Returns the generator of session and log-in numbers.
    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Returns the shared list of ended sessions.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns all clients in memory.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.states.lock().clients.values().map(|kept| Arc::clone(&kept.client)).collect()
    }

    /// Drops sessions from memory and returns their clients. Their IDs stay valid.
    pub(crate) fn take(&self, is_taken: impl Fn(&Client) -> bool) -> Vec<Arc<Client>> {
        let mut held = self.states.lock();
        let taken = held.clients.iter().filter(|(_, kept)| is_taken(&kept.client));
        let numbers: Vec<_> = taken.map(|(number, _)| *number).collect();
        numbers.iter().filter_map(|number| held.remove(number)).collect()
    }

    /// Stores a client and returns it. If another request has restored the session already, returns that
    /// client. Returns `None` if too many sessions are open.
    fn hold(&self, number: Number, kept: Kept) -> Option<Arc<Client>> {
        let mut held = self.states.lock();
        let let_go = held.sweep(&kept.client.principal);
        let client = held.add(number, kept);
        drop(held);
        // Dropped after unlocking, because ending a session takes other locks.
        drop(let_go);
        client
    }
}

const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl Held {
    /// Returns the client of a number and marks it as used.
    fn used(&mut self, number: &Number) -> Option<Arc<Client>> {
        let client = &self.clients.get(number)?.client;
        *client.used.lock() = Instant::now();
        Some(Arc::clone(client))
    }

    fn add(&mut self, number: Number, kept: Kept) -> Option<Arc<Client>> {
        if let Some(first) = self.used(&number) {
            return Some(first);
        }
        let client = Arc::clone(&kept.client);
        if !self.shares.take(Arc::clone(&client.principal)) {
            return None;
        }
        self.numbers.insert(Arc::clone(&kept.id), number);
        self.clients.insert(number, kept);
        Some(client)
    }

    fn remove(&mut self, number: &Number) -> Option<Arc<Client>> {
        let Kept { client, id, .. } = self.clients.remove(number)?;
        self.numbers.remove(&id);
        self.shares.give_back(&*client.principal);
        Some(client)
    }

    /// Removes idle sessions before adding one for a principal.
    fn sweep(&mut self, principal: &str) -> Vec<Arc<Client>> {
        let now = Instant::now();
        let (is_full, has_most) = (self.shares.is_full(), self.shares.has_most(principal));
        let makes_room = |client: &Client| is_full || has_most && *client.principal == *principal;
        if !is_full && !has_most && self.swept.is_some_and(|swept| now - swept < IDLE_TIME / 10) {
            return Vec::new();
        }
        self.swept = Some(now);
        let is_idle = |client: &Client| client.session.is_quiet() && !client.notices.has_reader();
        let idle: Vec<_> = self
            .clients
            .iter()
            .filter(|(_, Kept { client, .. })| {
                is_idle(client) && (makes_room(client) || now - *client.used.lock() > IDLE_TIME)
            })
            .map(|(number, _)| *number)
            .collect();
        idle.iter().filter_map(|number| self.remove(number)).collect()
    }
}
