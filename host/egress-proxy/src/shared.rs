//! State shared by the connections of a proxy: its rules, and the commands to which the connections belong.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, Shutdown};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::HostName;
use crate::places::Place;
use crate::recent::Recent;
use crate::tunnel::Stream;
use crate::{AddressPolicy, Decide, Denied, Limits, Resolve};

/// First address of those that tell commands apart, in a part of the loopback network that programs do not use.
const FIRST_SOURCE: u32 = u32::from_be_bytes([127, 64, 0, 1]);
/// Number of these addresses.
const SOURCES: u64 = 1 << 20;

/// Maximum number of hosts, and of services, that a command is told of because they did not answer.
const MAX_UNREACHABLE: usize = 4;

/// State shared by connections.
pub(crate) struct Shared {
    pub rules: Arc<dyn Decide>,
    pub resolver: Arc<dyn Resolve>,
    pub addresses: AddressPolicy,
    pub limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: BTreeMap<u64, Requests>,
    connections: HashMap<u64, Open>,
    last_session: u64,
    last_connection: u64,
    is_stopped: bool,
}

/// Requests of a command.
#[derive(Default)]
pub(crate) struct Requests {
    pub refusals: Recent<HostName, Denied>,
    /// Allowed hosts, with the rules that allowed them.
    pub reached: Recent<String, String>,
    /// Number of connections that found no place.
    pub crowded: usize,
    /// Services of the machine that did not answer, each with the reason.
    pub unreachable: Vec<String>,
    /// Allowed hosts that could not be reached, each with the reason.
    pub unreached: Vec<String>,
    /// `true` if the command may have connections no more.
    has_ended: bool,
}

/// An open connection.
struct Open {
    /// Session of the command, if its source address is known.
    session: Option<u64>,
    client: Arc<dyn Stream>,
    server: Option<Arc<dyn Stream>>,
    /// Host that is being looked up, with its port and the rule that allows it.
    lookup: Option<(String, u16, String)>,
    /// `true` if the connection must reach nothing any more.
    is_closed: bool,
}

/// Result of an attempt to register a connection.
pub(crate) enum Admitted {
    Yes(Connection),
    /// Too many connections are open.
    Crowded,
    /// No command runs.
    Stray,
}

/// A registered connection, which is forgotten on drop.
#[derive(Debug)]
pub(crate) struct Connection {
    pub shared: Arc<Shared>,
    id: u64,
    _place: Place,
}

/// Error of a connection that was closed with its command.
#[derive(Debug, thiserror::Error)]
#[error("the command has ended")]
pub(crate) struct Closed;

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Returns the source address of a session.
fn source(session: u64) -> Ipv4Addr {
    let number = u32::try_from(session % SOURCES).unwrap_or_default();
    Ipv4Addr::from(FIRST_SOURCE + number)
}

/// Returns `true` if an address tells commands apart.
fn is_source(address: Ipv4Addr) -> bool {
    u64::from(u32::from(address).wrapping_sub(FIRST_SOURCE)) < SOURCES
}

impl Shared {
    pub(crate) fn new(
        rules: Arc<dyn Decide>,
        resolver: Arc<dyn Resolve>,
        addresses: AddressPolicy,
        limits: Limits,
    ) -> Self {
        Self { rules, resolver, addresses, limits, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Registers a command. Returns its ID and its source address.
    pub(crate) fn begin(&self) -> (u64, Ipv4Addr) {
        let mut state = self.lock();
        state.last_session += 1;
        let id = state.last_session;
        state.sessions.insert(id, Requests::default());
        (id, source(id))
    }

    /// Closes the connections of a command, and those of unknown commands with the last one.
    pub(crate) fn end(&self, session: u64) {
        let mut state = self.lock();
        let State { sessions, connections, .. } = &mut *state;
        let Some(requests) = sessions.get_mut(&session).filter(|requests| !requests.has_ended) else {
            return;
        };
        requests.has_ended = true;
        // A lookup has reached a name server, so its host counts as reached.
        let mine = connections.values().filter(|open| open.session.is_none_or(|owner| owner == session));
        for (host, port, rule) in mine.filter_map(|open| open.lookup.as_ref()) {
            requests.reached.add(host, *port, rule.clone());
        }
        let is_last = sessions.values().all(|requests| requests.has_ended);
        for open in connections.values_mut() {
            if open.session.map_or(is_last, |owner| owner == session) {
                open.close();
            }
        }
    }

    /// Removes the requests of a command.
    pub(crate) fn forget_session(&self, session: u64) {
        self.lock().sessions.remove(&session);
    }

    /// Returns something of the requests of a command.
    pub(crate) fn of<T: Default>(&self, session: u64, get: impl FnOnce(&Requests) -> T) -> T {
        self.lock().sessions.get(&session).map(get).unwrap_or_default()
    }

    /// Registers a connection from an address, if it tells a command.
    pub(crate) fn admit(self: &Arc<Self>, client: Arc<dyn Stream>, from: Option<Ipv4Addr>) -> Admitted {
        let mut state = self.lock();
        if state.is_stopped {
            return Admitted::Stray;
        }
        let mut running =
            state.sessions.iter().filter(|(_, requests)| !requests.has_ended).map(|(id, _)| *id);
        let session = from.and_then(|from| running.clone().find(|id| source(*id) == from));
        // An address of a command that has ended belongs to nobody else.
        if session.is_none() && (from.is_some_and(is_source) || running.next().is_none()) {
            return Admitted::Stray;
        }
        let own = state.connections.values().filter(|open| open.session == session).count();
        let place = if own < self.limits.connections { Place::take(own) } else { None };
        let Some(place) = place else {
            state.requests_of(session).for_each(|requests| requests.crowded += 1);
            return Admitted::Crowded;
        };
        state.last_connection += 1;
        let id = state.last_connection;
        let open = Open { session, client, server: None, lookup: None, is_closed: false };
        state.connections.insert(id, open);
        Admitted::Yes(Connection { shared: Arc::clone(self), id, _place: place })
    }

    /// Closes all connections and accepts no new ones.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        state.connections.values_mut().for_each(Open::close);
    }
}

impl State {
    /// Returns a connection, unless it was closed.
    fn open(&mut self, connection: u64) -> Result<&mut Open, Closed> {
        self.connections.get_mut(&connection).filter(|open| !open.is_closed).ok_or(Closed)
    }

    /// Returns the requests of a session, or of all running commands.
    fn requests_of(&mut self, session: Option<u64>) -> impl Iterator<Item = &mut Requests> {
        let sessions = self.sessions.iter_mut();
        let meant = sessions.filter(move |(id, _)| session.is_none_or(|session| session == **id));
        meant.map(|(_, requests)| requests).filter(|requests| !requests.has_ended)
    }
}

impl Open {
    fn close(&mut self) {
        self.is_closed = true;
        for stream in [&self.client].into_iter().chain(&self.server) {
            stream.close(Shutdown::Both);
        }
    }
}

impl Connection {
    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Fails if the connection was closed.
    pub(crate) fn check(&self) -> Result<(), Closed> {
        self.shared.lock().open(self.id).map(drop)
    }

    /// Records that a host is being looked up.
    pub(crate) fn look_up(&self, host: &str, port: u16, rule: &str) -> Result<(), Closed> {
        let mut state = self.shared.lock();
        state.open(self.id)?.lookup = Some((host.to_owned(), port, rule.to_owned()));
        Ok(())
    }

    /// Records an allowed host. The connection may reach it afterwards.
    pub(crate) fn let_through(&self, host: &str, port: u16, rule: &str) -> Result<(), Closed> {
        let mut state = self.shared.lock();
        let open = state.open(self.id)?;
        open.lookup = None;
        let session = open.session;
        let sessions = state.requests_of(session);
        sessions.for_each(|requests| requests.reached.add(&host.to_owned(), port, rule.to_owned()));
        Ok(())
    }

    /// Records a refusal.
    pub(crate) fn refuse(&self, host: &HostName, port: u16, denied: &Denied) {
        tracing::info!("a command was refused {host} port {port}: {}", denied.why);
        let mut state = self.shared.lock();
        let Ok(open) = state.open(self.id) else { return };
        open.lookup = None;
        let session = open.session;
        let sessions = state.requests_of(session);
        sessions.for_each(|requests| requests.refusals.add(host, port, denied.clone()));
    }

    /// Adds the stream of the server, so that it closes with the connection. It takes the place of one to an address
    /// that cannot be reached.
    pub(crate) fn follow(&self, server: Arc<dyn Stream>) -> Result<(), Closed> {
        self.shared.lock().open(self.id)?.server = Some(server);
        Ok(())
    }

    /// Records an allowed host that could not be reached.
    pub(crate) fn could_not_reach(&self, why: &str) {
        let mut state = self.shared.lock();
        let Ok(open) = state.open(self.id) else { return };
        let session = open.session;
        for requests in state.requests_of(session) {
            let is_new = !requests.unreached.iter().any(|known| known == why);
            if is_new && requests.unreached.len() < MAX_UNREACHABLE {
                requests.unreached.push(why.to_owned());
            }
        }
    }

    /// Records a service of the machine that did not answer.
    #[cfg(unix)]
    pub(crate) fn did_not_answer(&self, why: &str) {
        let mut state = self.shared.lock();
        let Ok(open) = state.open(self.id) else { return };
        let session = open.session;
        for requests in state.requests_of(session) {
            let is_new = !requests.unreachable.iter().any(|known| known == why);
            if is_new && requests.unreachable.len() < MAX_UNREACHABLE {
                requests.unreachable.push(why.to_owned());
            }
        }
    }

    /// Returns a number of the command; 0 if it is unknown.
    pub(crate) fn user(&self) -> u64 {
        self.shared.lock().open(self.id).ok().and_then(|open| open.session).unwrap_or_default()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.lock().connections.remove(&self.id);
    }
}
