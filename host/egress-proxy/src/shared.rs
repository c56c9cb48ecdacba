//! State shared by the connections of a proxy: its rules, and the allowed and refused hosts.

use std::collections::HashMap;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use crate::recent::Recent;
use crate::{AddressPolicy, Decide, Denied, Limits, Resolve};

/// A refused host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Host as requested.
    pub host: String,
    /// Port number.
    pub port: u16,
    /// Reason for the refusal.
    pub why: String,
    /// Rule that refused the host.
    pub rule: String,
    /// Number of requests, up to 16.
    pub times: usize,
}

/// An allowed host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Host as requested.
    pub host: String,
    /// Port number.
    pub port: u16,
    /// Rule that allowed the host.
    pub rule: String,
}

/// Numbers of requested hosts that are no longer retained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Refused hosts.
    pub refused: usize,
    /// Allowed hosts.
    pub reached: usize,
}

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
    refusals: Recent<Denied>,
    /// Allowed hosts, with the rules that allowed them.
    reached: Recent<String>,
    /// Both streams of each connection, which close with the proxy.
    streams: HashMap<u64, Vec<TcpStream>>,
    last_id: u64,
    stopped: bool,
}

thread_local! {
    /// ID of the connection that this thread serves.
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

    /// Registers a connection, or returns `None` if the limit is reached or the proxy is stopped.
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

    /// Sets the ID of the connection that this thread serves.
    pub(crate) fn serve(id: u64) {
        CONNECTION.set(id);
    }

    /// Removes a connection that has ended.
    pub(crate) fn forget(&self, id: u64) {
        self.lock().streams.remove(&id);
    }

    /// Closes all connections and accepts no new ones.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for stream in state.streams.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Adds a stream to the current connection, so that it closes with the proxy.
    pub(crate) fn follow(&self, server: &TcpStream) {
        let mut state = self.lock();
        match (state.stopped, server.try_clone()) {
            (false, Ok(copy)) => state.streams.entry(CONNECTION.get()).or_default().push(copy),
            _ => drop(server.shutdown(Shutdown::Both)),
        }
    }

    /// Records a refusal.
    pub(crate) fn refuse(&self, host: &str, port: u16, denied: Denied) {
        let host: String = host.chars().filter(|c| !c.is_control()).take(253).collect();
        tracing::info!("a command was refused {host:?} port {port}: {}", denied.why);
        self.lock().refusals.add(&host, port, denied);
    }

    /// Records an allowed host.
    pub(crate) fn let_through(&self, host: &str, port: u16, rule: String) {
        self.lock().reached.add(host, port, rule);
    }

    /// Returns the distinct hosts refused after `since`, the most recent last.
    pub(crate) fn refusals(&self, since: Instant) -> Vec<Refusal> {
        let state = self.lock();
        let refusal = |(host, port, denied, times): (&str, u16, &Denied, usize)| {
            let Denied { why, rule } = denied.clone();
            Refusal { host: host.to_owned(), port, why, rule, times }
        };
        state.refusals.since(since).map(refusal).collect()
    }

    /// Returns the distinct hosts allowed after `since`, the most recent last.
    pub(crate) fn reached(&self, since: Instant) -> Vec<Reached> {
        let state = self.lock();
        let reached = |(host, port, rule, _): (&str, u16, &String, usize)| Reached {
            host: host.to_owned(),
            port,
            rule: rule.clone(),
        };
        state.reached.since(since).map(reached).collect()
    }

    /// Returns the numbers of hosts that were requested after `since` and dropped.
    pub(crate) fn lost(&self, since: Instant) -> Lost {
        let state = self.lock();
        Lost { refused: state.refusals.lost_since(since), reached: state.reached.lost_since(since) }
    }
}
