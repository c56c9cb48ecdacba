//! Accepts connections.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::bell::{self, Bell, Rung};
use crate::shared::{Lost, Reached, Refusal, Shared};
use crate::{AddressPolicy, Decide, Limits, Resolve, connection};

/// A running proxy. Dropping it closes all its connections.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    /// Waker that ends the accepting thread.
    bell: Option<Bell>,
    accepts: Option<JoinHandle<()>>,
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
        let (bell, rung) = bell::of(&listener)?;
        let shared = Arc::new(Shared::new(rules, resolver, addresses, limits));
        let accepts = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("proxy".to_owned())
                .spawn(move || accept(&listener, &shared, &rung))?
        };
        Ok(Self { shared, bell: Some(bell), accepts: Some(accepts) })
    }

    /// Returns the distinct hosts refused after `since`, the most recent last. At most 1,024 are retained.
    pub fn refusals(&self, since: Instant) -> Vec<Refusal> {
        self.shared.refusals(since)
    }

    /// Returns the distinct hosts allowed after `since`, the most recent last. At most 1,024 are retained.
    pub fn reached(&self, since: Instant) -> Vec<Reached> {
        self.shared.reached(since)
    }

    /// Returns the numbers of hosts that were requested after `since` and are no longer retained.
    pub fn lost(&self, since: Instant) -> Lost {
        self.shared.lost(since)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop();
        drop(self.bell.take());
        if let Some(accepts) = self.accepts.take() {
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
    let Some(id) = shared.register(&client) else { return };
    let own = Arc::clone(shared);
    let started = thread::Builder::new().name("proxied".to_owned()).spawn(move || {
        Shared::serve(id);
        let served = client.set_nonblocking(false).and_then(|()| connection::serve(&client, &own));
        if let Err(error) = served {
            tracing::debug!("a proxied connection ended: {error}");
        }
        let _ = client.shutdown(Shutdown::Both);
        own.forget(id);
    });
    if started.is_err() {
        shared.forget(id);
    }
}
