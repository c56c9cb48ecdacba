//! Accepts connections.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::bell::{self, Bell, Rung};
use crate::session::Session;
use crate::shared::{Admitted, Shared};
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

    /// Registers a command. The proxy serves only commands that are registered.
    pub fn session(&self) -> Session {
        Session::begin(&self.shared)
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
    let Ok(from) = client.peer_addr() else { return };
    let client = Arc::new(client);
    let connection = match shared.admit(&client, from.ip()) {
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
