//! The clients: those of one request, and those of a session.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_rpc::Incoming;
use scorpiox_seal::{Seal, Secret};
use scorpiox_server::{Audience, Session, SessionOptions, Step, Transport};

use crate::ended::{Ended, now};
use crate::served::Caller;
use crate::stream::Stream;
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
    /// The path that it is served at.
    pub(crate) path: String,
    /// What tells who uses it from others.
    pub(crate) principal: String,
    /// What it is told unasked.
    pub(crate) notices: Arc<Stream>,
    streams: Mutex<Streams>,
    used: Mutex<Instant>,
}

#[derive(Default)]
struct Streams {
    last: u64,
    kept: VecDeque<(u64, Arc<Stream>)>,
}

/// The number of the stream of what a client is told unasked.
pub(crate) const NOTICES: u64 = 0;

impl Client {
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
                path: caller.served.path(),
                principal: caller.principal.key(),
                notices,
                streams: Mutex::default(),
                used: Mutex::new(Instant::now()),
            }
        })
    }

    /// A stream for an answer, with its number, that can be read again.
    pub(crate) fn keep_stream(&self) -> (u64, Arc<Stream>) {
        let stream = Stream::kept();
        let mut streams = self.streams.lock();
        streams.last += 1;
        let number = streams.last;
        streams.kept.push_back((number, Arc::clone(&stream)));
        if streams.kept.len() > MAX_STREAMS {
            let done = streams.kept.iter().position(|(_, stream)| stream.has_ended());
            streams.kept.remove(done.unwrap_or_default());
        }
        (number, stream)
    }

    /// Forgets a stream whose answer has arrived.
    pub(crate) fn forget_stream(&self, number: u64) {
        self.streams.lock().kept.retain(|(kept, _)| *kept != number);
    }

    /// The stream of that number, if it is still there.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Stream>> {
        if number == NOTICES {
            return Some(Arc::clone(&self.notices));
        }
        let streams = self.streams.lock();
        streams.kept.iter().find(|(kept, _)| *kept == number).map(|(_, stream)| Arc::clone(stream))
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
        self.session.is_quiet()
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
    states: Mutex<Held>,
}

struct Held {
    clients: BTreeMap<Number, Arc<Client>>,
    ended: Ended,
    swept: Option<Instant>,
}

impl Sessions {
    pub(crate) fn new(seal: Seal, ended: Ended) -> Self {
        Self { seal, states: Mutex::new(Held { clients: BTreeMap::new(), ended, swept: None }) }
    }

    /// Keeps a client that has shaken hands; the id of its session.
    pub(crate) fn keep(
        &self,
        caller: &Caller,
        client: &Arc<Client>,
        handshake: &Handshake,
    ) -> Option<String> {
        let mut number = Number::default();
        getrandom::fill(&mut number).ok()?;
        let id = handshake.id(&number, &self.seal, &caller.binding())?;
        self.hold(number, Arc::clone(client));
        Some(id)
    }

    /// Whether the session of that id is held, or can be begun anew; none where it has ended, or never was.
    pub(crate) fn find(&self, caller: &Caller, id: &str) -> Option<Found> {
        let (number, handshake) = Handshake::opened(id, &self.seal, &caller.binding(), now())?;
        let mut held = self.states.lock();
        if held.ended.contains(&number) {
            return None;
        }
        let Some(client) = held.clients.get(&number) else { return Some(Found::Away(number, handshake)) };
        *client.used.lock() = Instant::now();
        Some(Found::Held(Arc::clone(client)))
    }

    /// Begins a session anew, after a restart. Reads what a handshake reads.
    pub(crate) fn begin_anew(
        &self,
        number: Number,
        handshake: &Handshake,
        caller: &Caller,
        secret: &Secret,
    ) -> Arc<Client> {
        let client = Client::new(caller, secret);
        for message in [handshake.message(), READY.to_owned()] {
            let reply: scorpiox_server::Reply = client.notices.clone();
            if let Ok(Incoming::Single(message)) = Incoming::parse(message.as_bytes())
                && let Step::Work(..) = client.session.step(message, &reply)
            {
                tracing::debug!("a handshake is no work");
            }
        }
        self.hold(number, client)
    }

    /// Ends the session of that id; whether there was one.
    pub(crate) fn end(&self, caller: &Caller, id: &str) -> io::Result<bool> {
        let Some((number, _)) = Handshake::opened(id, &self.seal, &caller.binding(), now()) else {
            return Ok(false);
        };
        let mut held = self.states.lock();
        let is_new = held.ended.insert(number)?;
        let client = held.clients.remove(&number);
        drop(held);
        if let Some(client) = client {
            client.end();
        }
        Ok(is_new)
    }

    /// All that are held.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.states.lock().clients.values().cloned().collect()
    }

    /// Holds a client; of two that were begun for one id, the first one.
    fn hold(&self, number: Number, client: Arc<Client>) -> Arc<Client> {
        let mut held = self.states.lock();
        let let_go = held.sweep();
        let client = Arc::clone(held.clients.entry(number).or_insert(client));
        drop(held);
        // Ending a session takes locks of its own.
        drop(let_go);
        client
    }
}

const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl Held {
    /// Lets go of those that nobody uses.
    fn sweep(&mut self) -> Vec<Arc<Client>> {
        let now = Instant::now();
        let is_full = self.clients.len() >= MAX_HELD;
        if !is_full && self.swept.is_some_and(|swept| now - swept < IDLE_TIME / 10) {
            return Vec::new();
        }
        self.swept = Some(now);
        let is_idle = |client: &Client| client.session.is_quiet() && !client.notices.has_reader();
        let idle: Vec<_> = self
            .clients
            .iter()
            .filter(|(_, client)| is_idle(client) && (is_full || now - *client.used.lock() > IDLE_TIME))
            .map(|(number, _)| *number)
            .collect();
        idle.iter().filter_map(|number| self.clients.remove(number)).collect()
    }
}
