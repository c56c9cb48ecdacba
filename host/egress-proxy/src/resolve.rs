//! Name resolution.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Maximum number of concurrent lookups. A hanging lookup cannot be stopped, only abandoned.
const MAX_LOOKUPS: usize = 32;

/// A resolver for host names.
pub trait Resolve: Send + Sync {
    /// Returns all addresses of a host, or fails after `time`.
    fn resolve(&self, host: &str, port: u16, time: Duration) -> io::Result<Vec<SocketAddr>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Default)]
pub struct SystemResolver {
    running: Arc<AtomicUsize>,
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str, port: u16, time: Duration) -> io::Result<Vec<SocketAddr>> {
        if self.running.fetch_add(1, Ordering::AcqRel) >= MAX_LOOKUPS {
            self.running.fetch_sub(1, Ordering::AcqRel);
            return Err(io::Error::other("too many names are being looked up"));
        }
        let (found, wait) = mpsc::channel();
        let (host, running) = (host.to_owned(), Arc::clone(&self.running));
        thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
            running.fetch_sub(1, Ordering::AcqRel);
            let _ = found.send(addresses);
        })?;
        wait.recv_timeout(time).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}
