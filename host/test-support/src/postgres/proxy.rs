//! A proxy between a client and its database that can cut the connection at a chosen point.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// Point around a commit at which the connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cut {
    /// Before a commit reaches the server.
    Before = 1,
    /// After a commit has reached the server: its answer is lost.
    After = 2,
    /// Before a commit reaches the server. New connections are refused until [`Proxy::open`] is called.
    Closed = 3,
}

/// State in which no connection is cut.
const NOWHERE: u8 = 0;
/// State in which nothing is forwarded.
const HUNG: u8 = 255;

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    cut: Arc<AtomicU8>,
    gate: Arc<Gate>,
    lines: Arc<Lines>,
}

/// Number of connections so far, and how many of the oldest ones are frozen.
#[derive(Debug, Default)]
struct Lines {
    made: AtomicUsize,
    frozen: AtomicUsize,
}

/// Gate for new connections. They are refused while `is_closed` is `true`.
#[derive(Debug, Default)]
struct Gate {
    is_closed: Mutex<bool>,
    changed: Condvar,
}

impl Proxy {
    /// Starts a proxy for the server at a local port.
    pub fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let cut = Arc::new(AtomicU8::new(NOWHERE));
        let shared = Arc::clone(&cut);
        let gate = Arc::new(Gate::default());
        let of_all = Arc::clone(&gate);
        let lines = Arc::new(Lines::default());
        let all_lines = Arc::clone(&lines);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if *of_all.is_closed.lock().expect("no panic") {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let back = (server.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
                let (cut, gate) = (Arc::clone(&shared), Arc::clone(&of_all));
                let number = all_lines.made.fetch_add(1, Ordering::SeqCst);
                let is_frozen = |lines: &Arc<Lines>| {
                    let lines = Arc::clone(lines);
                    move || number < lines.frozen.load(Ordering::SeqCst)
                };
                let (there, back_again) = (is_frozen(&all_lines), is_frozen(&all_lines));
                thread::spawn(move || forward(client, server, &cut, &gate, &there));
                thread::spawn(move || copy(back.0, back.1, &back_again));
            }
        });
        Self { port, cut, gate, lines }
    }

    /// Waits until [`Cut::Closed`] holds back a commit.
    pub fn wait_for_commit(&self) {
        let is_closed = self.gate.is_closed.lock().expect("no panic");
        let waited =
            self.gate.changed.wait_timeout_while(is_closed, Duration::from_secs(20), |closed| !*closed);
        assert!(*waited.expect("no panic").0, "no commit came");
    }

    /// Stops forwarding on all connections without closing them.
    pub fn hang(&self) {
        self.cut.store(HUNG, Ordering::SeqCst);
    }

    /// Stops forwarding on the existing connections without closing them, so that both sides believe they are
    /// alive.
    pub fn freeze(&self) {
        self.lines.frozen.store(self.lines.made.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Lets new connections through again after [`Self::hang`].
    pub fn recover(&self) {
        self.freeze();
        self.cut.store(NOWHERE, Ordering::SeqCst);
    }

    /// Accepts new connections again after [`Cut::Closed`].
    pub fn open(&self) {
        *self.gate.is_closed.lock().expect("no panic") = false;
    }

    /// Sets the point at which the next commit is cut. Other connections are not affected.
    pub fn cut(&self, cut: Cut) {
        self.cut.store(cut as u8, Ordering::SeqCst);
    }

    /// Returns the address of a database through the proxy.
    pub fn address(&self, address: &str, server: u16) -> String {
        address.replace(&format!(":{server}/"), &format!(":{}/", self.port))
    }
}

/// Forwards data from the client to the server.
fn forward(
    mut client: TcpStream,
    mut server: TcpStream,
    cut: &AtomicU8,
    gate: &Gate,
    is_frozen: &impl Fn() -> bool,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        if cut.load(Ordering::SeqCst) == HUNG || is_frozen() {
            continue;
        }
        let is_commit = buffer[..read].windows(7).any(|bytes| bytes == b"COMMIT\0");
        let at = |place: Cut| {
            is_commit
                && cut.compare_exchange(place as u8, NOWHERE, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        if at(Cut::Before) {
            break;
        }
        if at(Cut::Closed) {
            *gate.is_closed.lock().expect("no panic") = true;
            gate.changed.notify_all();
            // Waits for the server to be killed, which closes its end of the connection.
            let _ = server.read(&mut buffer);
            break;
        }
        if at(Cut::After) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.write_all(&buffer[..read]);
            break;
        }
        if server.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

fn copy(mut from: TcpStream, mut to: TcpStream, is_frozen: &impl Fn() -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if is_frozen() {
            continue;
        }
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
