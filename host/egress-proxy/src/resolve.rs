//! Name resolution.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum number of concurrent lookups of a resolver. A hanging lookup cannot be stopped, only abandoned.
const MAX_LOOKUPS: usize = 64;
/// Interval between checks that the user of a resolver still waits.
const CHECK_TIME: Duration = Duration::from_millis(50);

/// A resolver for host names.
pub trait Resolve: Send + Sync {
    /// Returns all addresses of a host, or fails after `time`.
    fn resolve(&self, host: &str, port: u16, time: Duration) -> io::Result<Vec<SocketAddr>>;

    /// Like [`resolve`](Self::resolve), for one of several users. Also fails when the user waits no more.
    fn resolve_for(
        &self,
        _user: &User<'_>,
        host: &str,
        port: u16,
        time: Duration,
    ) -> io::Result<Vec<SocketAddr>> {
        self.resolve(host, port, time)
    }
}

/// A user of a resolver, such as a command.
pub struct User<'a> {
    /// Distinguishes the users of a resolver.
    pub id: u64,
    /// Returns `false` if the user no longer waits for the addresses.
    pub waits: &'a dyn Fn() -> bool,
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Default)]
pub struct SystemResolver {
    /// Number of running lookups of each user, abandoned ones included.
    running: Arc<Mutex<HashMap<u64, usize>>>,
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str, port: u16, time: Duration) -> io::Result<Vec<SocketAddr>> {
        self.resolve_for(&User { id: 0, waits: &|| true }, host, port, time)
    }

    fn resolve_for(
        &self,
        user: &User<'_>,
        host: &str,
        port: u16,
        time: Duration,
    ) -> io::Result<Vec<SocketAddr>> {
        let running = self.begin(user.id).ok_or_else(|| {
            io::Error::other("too many names are being looked up: the name server does not answer")
        })?;
        let (found, wait) = mpsc::channel();
        let host = host.to_owned();
        thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
            drop(running);
            let _ = found.send(addresses);
        })?;
        let until = Instant::now() + time;
        while (user.waits)() {
            let left = until.saturating_duration_since(Instant::now());
            match wait.recv_timeout(left.min(CHECK_TIME)) {
                Ok(addresses) => return addresses,
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                Err(_) => break,
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

impl SystemResolver {
    /// Begins a lookup, unless too many are running. A user never takes more places than are left to others.
    fn begin(&self, user: u64) -> Option<Running> {
        let mut running = self.running.lock();
        let all: usize = running.values().sum();
        let own = running.entry(user).or_default();
        if *own >= MAX_LOOKUPS.saturating_sub(all) {
            return None;
        }
        *own += 1;
        Some(Running { user, all: Arc::clone(&self.running) })
    }
}

/// A running lookup, which ends on drop.
struct Running {
    user: u64,
    all: Arc<Mutex<HashMap<u64, usize>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(own) = all.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                all.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_leaves_lookups_to_others() {
        let resolver = SystemResolver::default();
        let mut running = Vec::new();
        let mut take = |user| {
            let before = running.len();
            running.extend(std::iter::from_fn(|| resolver.begin(user)));
            running.len() - before
        };
        assert_eq!([take(1), take(2), take(3), take(1)], [32, 16, 8, 0]);
        running.clear();
        assert!(resolver.running.lock().is_empty());
    }

    #[test]
    fn nobody_waits_for_the_addresses_of_an_ended_command() {
        let resolver = SystemResolver::default();
        let user = User { id: 1, waits: &|| false };
        let found = resolver.resolve_for(&user, "localhost", 80, Duration::from_mins(1));
        assert_eq!(found.expect_err("it waits").kind(), io::ErrorKind::TimedOut);
    }
}
