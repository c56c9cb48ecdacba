//! What the connections of a proxy share: its rules, and what became of hosts.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use crate::{AddressPolicy, Decide, Denied, Limits, Resolve};

/// Refusals that are remembered.
const MAX_REFUSALS: usize = 32;
/// Hosts that were let through and are remembered.
const MAX_REACHED: usize = 64;

/// A host that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// As it was asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why.
    pub why: String,
    /// The rule that decided.
    pub rule: String,
}

/// A host that was let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// As it was asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The rule that decided.
    pub rule: String,
}

/// What connections share.
pub(crate) struct Shared {
    pub rules: Arc<dyn Decide>,
    pub resolver: Arc<dyn Resolve>,
    pub addresses: AddressPolicy,
    pub limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    refusals: VecDeque<(Instant, Refusal)>,
    /// Each host once, the one that was asked for last at the end.
    reached: VecDeque<(Instant, Reached)>,
    /// Both ends of every connection, to close them with the proxy.
    streams: HashMap<u64, Vec<TcpStream>>,
    last_id: u64,
    stopped: bool,
}

thread_local! {
    /// The connection that this thread serves.
    static CONNECTION: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
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

    /// Takes a place for a connection; `None` when there is none.
    pub(crate) fn register(&self, client: &TcpStream) -> Option<u64> {
        let mut state = self.lock();
        if state.stopped || state.streams.len() >= self.limits.connections {
            let _ = { client }.write_all(b"HTTP/1.1 503 Too many connections\r\nConnection: close\r\n\r\n");
            return None;
        }
        state.last_id += 1;
        let id = state.last_id;
        state.streams.insert(id, vec![client.try_clone().ok()?]);
        Some(id)
    }

    /// Says which connection this thread serves.
    pub(crate) fn serve(id: u64) {
        CONNECTION.set(id);
    }

    /// Lets a connection go that has ended.
    pub(crate) fn forget(&self, id: u64) {
        self.lock().streams.remove(&id);
    }

    /// Closes all connections, and lets none begin.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for stream in state.streams.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets the end of the proxy be the end of this stream, which this thread's connection made.
    pub(crate) fn follow(&self, server: &TcpStream) {
        let mut state = self.lock();
        match (state.stopped, server.try_clone()) {
            (false, Ok(copy)) => state.streams.entry(CONNECTION.get()).or_default().push(copy),
            _ => drop(server.shutdown(Shutdown::Both)),
        }
    }

    /// Remembers a refusal.
    pub(crate) fn refuse(&self, host: &str, port: u16, denied: Denied) {
        let Denied { why, rule } = denied;
        let host: String = host.chars().filter(|c| !c.is_control()).take(253).collect();
        tracing::info!("a command was refused {host:?} port {port}: {why}");
        let mut state = self.lock();
        if state.refusals.len() == MAX_REFUSALS {
            state.refusals.pop_front();
        }
        state.refusals.push_back((Instant::now(), Refusal { host, port, why, rule }));
    }

    /// Remembers a host that was let through.
    pub(crate) fn let_through(&self, host: &str, port: u16, rule: String) {
        let mut state = self.lock();
        state.reached.retain(|(_, reached)| (reached.host.as_str(), reached.port) != (host, port));
        if state.reached.len() == MAX_REACHED {
            state.reached.pop_front();
        }
        state.reached.push_back((Instant::now(), Reached { host: host.to_owned(), port, rule }));
    }

    /// What was refused since then, oldest first.
    pub(crate) fn refusals(&self, since: Instant) -> Vec<Refusal> {
        let state = self.lock();
        let recent = state.refusals.iter().filter(|(at, _)| *at >= since);
        recent.map(|(_, refusal)| refusal.clone()).collect()
    }

    /// What was let through since then, each host once.
    pub(crate) fn reached(&self, since: Instant) -> Vec<Reached> {
        let state = self.lock();
        let recent = state.reached.iter().filter(|(at, _)| *at >= since);
        recent.map(|(_, reached)| reached.clone()).collect()
    }
}
