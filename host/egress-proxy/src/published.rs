//! Leads connections to a port of the machine's loopback interface to a server in a cell.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use crate::bell::{self, Bell, Rung};
use crate::places::PublishedPlace;
use crate::{Limits, tunnel};

/// Maximum number of concurrent connections to a port. Further ones are closed.
const MAX_CONNECTIONS: usize = 64;

/// Connects to the server.
pub type Dial = dyn Fn() -> io::Result<TcpStream> + Send + Sync;

/// A published port. Dropping it frees the port and closes its connections.
#[derive(Debug)]
pub struct Published {
    connections: Arc<Connections>,
    bell: Option<Bell>,
    accepts: Option<JoinHandle<()>>,
}

/// Open connections, by number.
#[derive(Debug, Default)]
struct Connections(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    streams: HashMap<u64, [Arc<TcpStream>; 2]>,
    /// Number of connections, including those whose server has not answered yet.
    count: usize,
    last: u64,
    is_over: bool,
}

impl Published {
    /// Listens at a port of the machine's loopback interface. Fails if another program does.
    pub fn start(port: u16, dial: Arc<Dial>) -> io::Result<Self> {
        Self::start_within(port, dial, Limits::default().idle)
    }

    /// Starts with a timeout for connections of which one direction has ended.
    fn start_within(port: u16, dial: Arc<Dial>, idle: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let (bell, rung) = bell::of(&listener)?;
        let connections = Arc::<Connections>::default();
        let shared = Arc::clone(&connections);
        let run = move || accept(&listener, &shared, (&dial, idle), &rung);
        let accepts = thread::Builder::new().name("published".to_owned()).spawn(run)?;
        Ok(Self { connections, bell: Some(bell), accepts: Some(accepts) })
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        drop(self.bell.take());
        // The thread owns the listener: the port is free once it has ended.
        if let Some(accepts) = self.accepts.take() {
            let _ = accepts.join();
        }
        let mut open = self.connections.0.lock();
        open.is_over = true;
        for stream in open.streams.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, connections: &Arc<Connections>, way: (&Arc<Dial>, Duration), rung: &Rung) {
    loop {
        match rung.accept(listener) {
            Ok(Some(client)) => begin(client, connections, way),
            Ok(None) => return,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // For example, no descriptor is free. The listener stays ready, so the next attempt may succeed.
            Err(error) => {
                tracing::debug!("a connection to a published port cannot be accepted: {error}");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn begin(client: TcpStream, connections: &Arc<Connections>, (dial, idle): (&Arc<Dial>, Duration)) {
    let Some(place) = Place::take(connections) else { return };
    let dial = Arc::clone(dial);
    // Without a thread, the connection is closed.
    let started = thread::Builder::new().name("published".to_owned()).spawn(move || {
        let served = client.set_nonblocking(false).and_then(|()| serve(client, &place, (&dial, idle)));
        if let Err(error) = served {
            tracing::debug!("a connection to a published port ended: {error}");
        }
    });
    if let Err(error) = started {
        tracing::debug!("a published port has no thread: {error}");
    }
}

fn serve(client: TcpStream, place: &Place, (dial, idle): (&Arc<Dial>, Duration)) -> io::Result<()> {
    let (client, server) = (Arc::new(client), Arc::new(dial()?));
    let number = {
        let mut open = place.connections.0.lock();
        if open.is_over {
            return Ok(());
        }
        open.last += 1;
        let number = open.last;
        open.streams.insert(number, [Arc::clone(&client), Arc::clone(&server)]);
        number
    };
    let ran = tunnel::run_patiently(&*client, &*server, idle);
    place.connections.0.lock().streams.remove(&number);
    ran
}

/// Place of a connection, freed on drop.
struct Place {
    connections: Arc<Connections>,
    _shared: PublishedPlace,
}

impl Place {
    fn take(connections: &Arc<Connections>) -> Option<Self> {
        let mut open = connections.0.lock();
        if open.count >= MAX_CONNECTIONS {
            return None;
        }
        let shared = PublishedPlace::take(open.count)?;
        open.count += 1;
        drop(open);
        Some(Self { connections: Arc::clone(connections), _shared: shared })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.0.lock().count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn free_port() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        listener.local_addr().expect("an address").port()
    }

    #[test]
    fn a_port_leads_to_the_server_until_it_is_dropped() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let at = server.local_addr().expect("an address");
        let port = free_port();
        let published =
            Published::start(port, Arc::new(move || TcpStream::connect(at))).expect("a free port");
        let taken = Published::start(port, Arc::new(move || TcpStream::connect(at))).expect_err("taken");
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
        client.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let (mut inside, _) = server.accept().expect("a connection");
        client.write_all(b"ask").expect("writes");
        let mut asked = [0; 3];
        inside.read_exact(&mut asked).expect("reads");
        inside.write_all(b"answer").expect("writes");
        let mut answer = [0; 6];
        client.read_exact(&mut answer).expect("reads");
        assert_eq!((&asked, &answer), (b"ask", b"answer"));
        drop(published);
        assert_eq!(client.read(&mut [0; 9]).unwrap_or(0), 0, "open connections are closed");
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), "and the port is free");
        drop(Published::start(port, Arc::new(move || TcpStream::connect(at))).expect("free again"));
    }

    #[test]
    fn a_connection_without_a_server_is_closed() {
        let port = free_port();
        let dial = || Err(io::ErrorKind::ConnectionRefused.into());
        let _published = Published::start(port, Arc::new(dial)).expect("a free port");
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
        client.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        assert_eq!(client.read(&mut [0; 9]).unwrap_or(0), 0);
    }

    #[test]
    fn a_half_closed_connection_ends_and_an_idle_one_does_not() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let at = server.local_addr().expect("an address");
        let (port, idle) = (free_port(), Duration::from_millis(50));
        let dial = Arc::new(move || TcpStream::connect(at));
        let _published = Published::start_within(port, dial, idle).expect("a free port");
        let connect = || {
            let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
            client.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
            (client, server.accept().expect("a connection").0)
        };
        let ((mut open, mut inside), (mut half, _held)) = (connect(), connect());
        half.shutdown(Shutdown::Write).expect("half-closed");
        assert_eq!(half.read(&mut [0; 9]).expect("an end"), 0, "the server never closes");
        inside.write_all(b"late").expect("it is open");
        let mut late = [0; 4];
        open.read_exact(&mut late).expect("reads");
        assert_eq!(&late, b"late", "it was idle for as long");
    }
}
