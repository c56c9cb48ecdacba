//! The clients: those of one request, and those of a session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_executor::shares::Shares;
use scorpiox_rpc::Incoming;
use scorpiox_seal::{Seal, Secret};
use scorpiox_server::{Audience, Session, SessionOptions, Step, Transport};

use crate::ended::{Account, End, Numbers, now};
use crate::served::Caller;
use crate::shared::Shared;
use crate::stream::Stream;
use scorpiox_http_bounds::{MayBlock, PART};
use scorpiox_http_request::event_id::StreamNumber;
use scorpiox_http_request::session_id::{Handshake, Number};

/// Most sessions that are held at once. Others are begun anew from their ids.
const MAX_HELD: usize = 16_384;
/// A session that nobody uses for this time is let go; its id stays good.
const IDLE_TIME: Duration = Duration::from_mins(10);
/// Most streams of a session that can be resumed.
const MAX_STREAMS: usize = 16;

/// One client, as long as this server knows of it.
pub(crate) struct Client {
    pub(crate) session: Arc<Session>,
    caller: Caller,
    /// What tells who uses it from others.
    pub(crate) principal: Arc<str>,
    /// What it is told unasked.
    pub(crate) notices: Arc<Stream>,
    /// The number of that stream.
    pub(crate) of_notices: StreamNumber,
    streams: Mutex<VecDeque<(StreamNumber, Arc<Stream>)>>,
    used: Mutex<Instant>,
}

impl Client {
    /// Returns the issuer that vouches for its principal; none for tokens of this server's own.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.caller.principal.issuer.as_deref()
    }

    /// The client of one request, or of a session that begins.
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

    /// The path that it is served at.
    pub(crate) fn path(&self) -> String {
        self.caller.served.path()
    }

    /// A stream for an answer, with its number, that can be read again.
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

    /// Forgets a stream whose answer has arrived.
    pub(crate) fn forget_stream(&self, number: StreamNumber) {
        self.streams.lock().retain(|(kept, _)| *kept != number);
    }

    /// The stream of that number, if it is still there.
    pub(crate) fn stream(&self, number: StreamNumber) -> Option<Arc<Stream>> {
        if number == self.of_notices {
            return Some(Arc::clone(&self.notices));
        }
        let streams = self.streams.lock();
        let stream = streams.iter().find(|(kept, _)| *kept == number).map(|(_, stream)| Arc::clone(stream));
        stream.filter(|stream| !stream.is_forgotten())
    }

    /// The session ends, and with it all that runs in it.
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

/// Where a session is.
pub(crate) enum Found {
    Held(Arc<Client>),
    /// Only its id is here, with what that says.
    Away(Number, Handshake),
}

/// The clients that shook hands.
pub(crate) struct Sessions {
    seal: Seal,
    numbers: Numbers,
    /// Which have ended, here or at another server.
    shared: Shared,
    states: Mutex<Held>,
}

/// A client, by an id that was found to be good.
struct Kept {
    client: Arc<Client>,
    id: Arc<str>,
    /// Until when the id is good, in seconds.
    until: u64,
}

struct Held {
    clients: BTreeMap<Number, Kept>,
    /// Those clients by the texts of their ids, which are opened once.
    numbers: HashMap<Arc<str>, Number>,
    /// How many are each principal's.
    shares: Shares<Arc<str>>,
    swept: Option<Instant>,
}

impl Sessions {
    /// For one principal, or for several of whom none is to keep the others out.
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

    /// Keeps a client that has shaken hands; the id of its session. None where too many are open.
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

    /// The number of an id that is good, whether or not its session has ended.
    pub(crate) fn number(&self, caller: &Caller, id: &str) -> Option<Number> {
        self.known(caller, id).or_else(|| Some(self.opened(caller, id)?.0))
    }

    /// The session of an id that is good, and has not ended.
    pub(crate) fn found(&self, caller: &Caller, id: &str, number: &Number) -> Option<Found> {
        if let Some(client) = self.states.lock().used(number) {
            return Some(Found::Held(client));
        }
        self.opened(caller, id).map(|(number, handshake)| Found::Away(number, handshake))
    }

    fn opened(&self, caller: &Caller, id: &str) -> Option<(Number, Handshake)> {
        Handshake::opened(id, &self.seal, &caller.binding(), now())
    }

    /// The client of a session, where that is held.
    pub(crate) fn held(&self, number: &Number) -> Option<Arc<Client>> {
        self.states.lock().clients.get(number).map(|kept| Arc::clone(&kept.client))
    }

    /// The number of an id that was opened before, for the same caller, and is good.
    pub(crate) fn known(&self, caller: &Caller, id: &str) -> Option<Number> {
        let held = self.states.lock();
        let number = *held.numbers.get(id)?;
        let kept = held.clients.get(&number)?;
        let is_good = kept.client.caller.is_bound_as(caller) && now() < kept.until;
        is_good.then_some(number)
    }

    /// Begins a session anew, after a restart. Reads what a handshake reads. None where too many are open.
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

    /// Ends what runs in a session that has ended.
    pub(crate) fn let_go(&self, number: &Number) {
        let client = self.states.lock().remove(number);
        if let Some(client) = client {
            client.end();
        }
    }

    /// Returns the numbers of sessions and log-ins.
    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// What is known to have ended.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// All that are held.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.states.lock().clients.values().map(|kept| Arc::clone(&kept.client)).collect()
    }

    /// Holds a client; of two that were begun for one id, the first one. None where too many are open.
    fn hold(&self, number: Number, kept: Kept) -> Option<Arc<Client>> {
        let mut held = self.states.lock();
        let let_go = held.sweep(&kept.client.principal);
        let client = held.add(number, kept);
        drop(held);
        // Ending a session takes locks of its own.
        drop(let_go);
        client
    }
}

const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl Held {
    /// The client of a number, which is used now.
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

    /// Lets go of those that nobody uses, before one more of a principal.
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
