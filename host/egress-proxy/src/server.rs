//! Accepts connections.

use std::io::{self, Write as _};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::bell::{self, Bell, Rung};
use crate::session::Session;
use crate::shared::{Admitted, Shared};
use crate::{AddressPolicy, Decide, Limits, Resolve, connection};

/// A running proxy. Dropping it closes all its connections.
#[derive(Debug)]
pub struct Proxy {
    pub(crate) shared: Arc<Shared>,
    /// Wakers that end the accepting threads.
    pub(crate) bells: Vec<Bell>,
    pub(crate) accepts: Vec<JoinHandle<()>>,
}

impl Proxy {
    /// Serves the connections that arrive at `listener`.
    pub fn start(
        listener: TcpListener,
        rules: Arc<dyn Decide>,
        resolver: Arc<dyn Resolve>,
        addresses: AddressPolicy,
        limits: Limits,
    ) -> io::Result<Self> {
        let mut proxy = Self::without_listener(rules, resolver, addresses, limits);
        let (bell, rung) = bell::of(&listener)?;
        let shared = Arc::clone(&proxy.shared);
        let run = move || accept(&listener, &shared, &rung);
        proxy.accepts.push(thread::Builder::new().name("proxy".to_owned()).spawn(run)?);
        proxy.bells.push(bell);
        Ok(proxy)
    }

    /// Creates a proxy that serves no hosts. Services of the machine can be added.
    pub fn without_listener(
        rules: Arc<dyn Decide>,
        resolver: Arc<dyn Resolve>,
        addresses: AddressPolicy,
        limits: Limits,
    ) -> Self {
        let shared = Arc::new(Shared::new(rules, resolver, addresses, limits));
        Self { shared, bells: Vec::new(), accepts: Vec::new() }
    }

    /// Registers a command. The proxy serves only commands that are registered.
    pub fn session(&self) -> Session {
        Session::begin(&self.shared)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop();
        self.bells.clear();
        for accepts in self.accepts.drain(..) {
            let _ = accepts.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, rung: &Rung) {
    loop {
        match rung.accept(listener) {
            Ok(Some(client)) => begin(client, shared),
            Ok(None) => return,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // For example, no descriptor is free. The listener stays ready, so the next attempt may succeed.
            Err(error) => {
                tracing::debug!("the proxy cannot accept: {error}");
                thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
}

fn begin(client: TcpStream, shared: &Arc<Shared>) {
    let Ok(from) = client.peer_addr() else { return };
    let client = Arc::new(client);
    let from = match from.ip() {
        IpAddr::V4(from) => from,
        IpAddr::V6(_) => return,
    };
    let connection = match shared.admit(Arc::clone(&client) as _, Some(from)) {
        Admitted::Yes(connection) => connection,
        Admitted::Crowded => {
            let _ = (&*client).write_all(b"HTTP/1.1 503 Too many connections\r\nConnection: close\r\n\r\n");
            return;
        }
        Admitted::Stray => return,
    };
    // Without a thread, the connection is closed.
    let started = thread::Builder::new().name("proxied".to_owned()).spawn(move || {
        let served = client.set_nonblocking(false).and_then(|()| connection::serve(&client, &connection));
        if let Err(error) = served {
            tracing::debug!("a proxied connection ended: {error}");
        }
        let _ = client.shutdown(Shutdown::Both);
    });
    if let Err(error) = started {
        tracing::debug!("a connection cannot be proxied: {error}");
    }
}
