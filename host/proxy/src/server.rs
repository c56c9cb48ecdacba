//! Accepting connections.

use std::collections::{HashMap, VecDeque};
use std::io::{self, PipeReader, PipeWriter};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};

use crate::{AddressPolicy, Decide, Denied, Limits, Resolve, connection};

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

/// A proxy that runs. Dropped, it closes all its connections.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    /// Closed to tell the thread that accepts.
    bell: Option<PipeWriter>,
    accepts: Option<JoinHandle<()>>,
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

impl Proxy {
    /// Serves the connections that come to `listener`.
    pub fn start(
        listener: TcpListener,
        rules: Arc<dyn Decide>,
        resolver: Arc<dyn Resolve>,
        addresses: AddressPolicy,
        limits: Limits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (rung, bell) = io::pipe()?;
        let shared = Arc::new(Shared { rules, resolver, addresses, limits, state: Mutex::default() });
        let accepts = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("proxy".to_owned())
                .spawn(move || accept(&listener, &shared, &rung))?
        };
        Ok(Self { shared, bell: Some(bell), accepts: Some(accepts) })
    }

    /// What was refused since then, oldest first; at most the last 32.
    pub fn refusals(&self, since: Instant) -> Vec<Refusal> {
        let state = self.shared.lock();
        let recent = state.refusals.iter().filter(|(at, _)| *at >= since);
        recent.map(|(_, refusal)| refusal.clone()).collect()
    }

    /// What was let through since then, each host once; at most the last 64.
    pub fn reached(&self, since: Instant) -> Vec<Reached> {
        let state = self.shared.lock();
        let recent = state.reached.iter().filter(|(at, _)| *at >= since);
        recent.map(|(_, reached)| reached.clone()).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        for stream in state.streams.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        drop(self.bell.take());
        if let Some(accepts) = self.accepts.take() {
            let _ = accepts.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, rung: &PipeReader) {
    loop {
        let mut polled = [PollFd::new(listener, PollFlags::IN), PollFd::new(rung, PollFlags::IN)];
        if poll(&mut polled, None).is_err() {
            continue;
        }
        if !polled[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((client, _)) => begin(client, shared),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Such as no descriptor left: it stays ready, and is tried again when one is free.
            Err(error) => {
                tracing::debug!("the proxy cannot accept: {error}");
                thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
}

fn begin(client: TcpStream, shared: &Arc<Shared>) {
    let Some(id) = shared.register(&client) else { return };
    let own = Arc::clone(shared);
    let started = thread::Builder::new().name("proxied".to_owned()).spawn(move || {
        CONNECTION.set(id);
        let served = client.set_nonblocking(false).and_then(|()| connection::serve(&client, &own));
        if let Err(error) = served {
            tracing::debug!("a proxied connection ended: {error}");
        }
        let _ = client.shutdown(Shutdown::Both);
        own.lock().streams.remove(&id);
    });
    if started.is_err() {
        shared.lock().streams.remove(&id);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a connection; `None` when there is none.
    fn register(&self, client: &TcpStream) -> Option<u64> {
        let mut state = self.lock();
        if state.stopped || state.streams.len() >= self.limits.connections {
            use io::Write;
            let _ = { client }.write_all(b"HTTP/1.1 503 Too many connections\r\nConnection: close\r\n\r\n");
            return None;
        }
        state.last_id += 1;
        let id = state.last_id;
        state.streams.insert(id, vec![client.try_clone().ok()?]);
        Some(id)
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
}
