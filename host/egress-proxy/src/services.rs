//! Forwards connections to services of the machine that the policy names.
//!
//! A listener in the cell has the address of the service, so programs need no proxy. Each connection to it becomes
//! a connection to the service, as the server's user. Only bytes pass: descriptors that a service or a command
//! sends along are not forwarded.
//!
//! A Unix socket is found by its path at each connection, so a service may restart. The path is opened without
//! following a link, and the connection goes to the socket that was opened: other programs may replace it with a link
//! at any moment.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::Proxy;
use crate::bell::{self, Rung};
use crate::shared::{Admitted, Connection, Shared};
use crate::tunnel;

/// Address of a service on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A port of the loopback interface.
    Tcp(SocketAddr),
    /// A Unix socket, by a path without links.
    Unix(PathBuf),
}

/// A service of the machine.
#[derive(Debug, Clone)]
pub struct Service {
    /// Address of the service.
    pub target: Target,
    /// Rule that opens the service.
    pub rule: String,
}

/// Listener in the cell, at the address of the service.
#[derive(Debug)]
pub enum ServiceListener {
    /// A port of the cell's loopback interface.
    Tcp(TcpListener),
    /// A Unix socket in the cell.
    Unix(UnixListener),
}

impl Proxy {
    /// Forwards the connections that arrive at `listener` to a service.
    pub fn open(&mut self, listener: ServiceListener, service: Service) -> io::Result<()> {
        match &listener {
            ServiceListener::Tcp(listener) => listener.set_nonblocking(true)?,
            ServiceListener::Unix(listener) => listener.set_nonblocking(true)?,
        }
        let (bell, rung) = bell::new()?;
        let (shared, service) = (Arc::clone(&self.shared), Arc::new(service));
        let run = move || accept(&listener, &service, &shared, &rung);
        self.accepts.push(thread::Builder::new().name("service".to_owned()).spawn(run)?);
        self.bells.push(bell);
        Ok(())
    }
}

fn accept(listener: &ServiceListener, service: &Arc<Service>, shared: &Arc<Shared>, rung: &Rung) {
    loop {
        match next(listener, rung) {
            Ok(Some((client, from))) => begin(client, from, service, shared),
            Ok(None) => return,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // For example, no descriptor is free. The listener stays ready, so the next attempt may succeed.
            Err(error) => {
                tracing::debug!("a connection to a service cannot be accepted: {error}");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Returns the next connection and its source, or `None` after the signal.
fn next(listener: &ServiceListener, rung: &Rung) -> io::Result<Option<(Socket, Option<IpAddr>)>> {
    Ok(match listener {
        ServiceListener::Tcp(listener) => {
            if !rung.waits_for(listener)? {
                return Ok(None);
            }
            let (client, from) = listener.accept()?;
            Some((client.into(), Some(from.ip())))
        }
        ServiceListener::Unix(listener) => {
            if !rung.waits_for(listener)? {
                return Ok(None);
            }
            Some((OwnedFd::from(listener.accept()?.0).into(), None))
        }
    })
}

fn begin(client: Socket, from: Option<IpAddr>, service: &Arc<Service>, shared: &Arc<Shared>) {
    let client = Arc::new(client);
    let from = from.and_then(|from| if let IpAddr::V4(from) = from { Some(from) } else { None });
    let Admitted::Yes(connection) = shared.admit(Arc::clone(&client) as _, from) else { return };
    let service = Arc::clone(service);
    // Without a thread, the connection is closed.
    let started = thread::Builder::new().name("forwarded".to_owned()).spawn(move || {
        let served = client.set_nonblocking(false).and_then(|()| serve(&client, &service, &connection));
        if let Err(error) = served {
            tracing::debug!("a connection to a service ended: {error}");
        }
        let _ = client.shutdown(Shutdown::Both);
    });
    if let Err(error) = started {
        tracing::debug!("a connection cannot be forwarded: {error}");
    }
}

/// Connects to the service, and copies until both directions have ended. A connection may be idle for as long as
/// its command runs, as those of databases are. Once one side has closed it, it ends when it is idle.
fn serve(client: &Socket, service: &Service, connection: &Connection) -> io::Result<()> {
    let (name, port) = service.target.name();
    connection.let_through(&name, port, &service.rule).map_err(io::Error::other)?;
    let connected = service.target.find().and_then(|Found { domain, address, _socket }| {
        let server = Arc::new(Socket::new(domain, Type::STREAM, None)?);
        // The end of the command shuts the stream down, and so ends the attempt.
        connection.follow(Arc::clone(&server) as _).map_err(io::Error::other)?;
        connect(&server, (domain, &address), connection.limits().setup)?;
        Ok(server)
    });
    match connected {
        Ok(server) => {
            connection.check().map_err(io::Error::other)?;
            tunnel::run_patiently(client, &*server, connection.limits().idle)
        }
        Err(error) => {
            let at = if port == 0 { name } else { format!("{name}:{port}") };
            connection.did_not_answer(&format!("{at} cannot be reached on this machine: {error}"));
            Err(error)
        }
    }
}

/// Connects within a time.
fn connect(server: &Socket, (domain, address): (Domain, &SockAddr), time: Duration) -> io::Result<()> {
    if domain != Domain::UNIX {
        return server.connect_timeout(address, time);
    }
    // A Unix socket whose queue is full makes only those wait that block.
    server.set_write_timeout(Some(time))?;
    server.connect(address).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "it accepts no connections"),
        _ => error,
    })
}

impl Target {
    /// Returns the name in the record of a command, and a port; 0 for a path.
    fn name(&self) -> (String, u16) {
        match self {
            Self::Tcp(address) => {
                let name = match address.ip() {
                    IpAddr::V4(ip) => ip.to_string(),
                    IpAddr::V6(ip) => format!("[{ip}]"),
                };
                (name, address.port())
            }
            Self::Unix(path) => (format!("unix:{}", path.display()), 0),
        }
    }

    /// Returns the address to connect to. Fails if a path leads elsewhere, or a port to this program.
    fn find(&self) -> io::Result<Found> {
        match self {
            Self::Tcp(address) => {
                if is_own(address.port())? {
                    return Err(io::Error::other("it is a port of this program"));
                }
                let domain = Domain::for_address(*address);
                Ok(Found { domain, address: (*address).into(), _socket: None })
            }
            Self::Unix(path) => {
                let socket = open(path)?;
                let address = SockAddr::unix(format!("/proc/self/fd/{}", socket.as_raw_fd()))?;
                Ok(Found { domain: Domain::UNIX, address, _socket: Some(socket) })
            }
        }
    }
}

/// Address to connect to.
struct Found {
    domain: Domain,
    address: SockAddr,
    /// The socket that the address names, which must be open until it is connected.
    _socket: Option<OwnedFd>,
}

/// Opens a socket by a path, none of whose components may be a link.
#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{FileType, fstat};
    let elsewhere = || io::Error::other("its path leads elsewhere since the sandbox was built");
    let opened = scorpiox_sys::linux::reach::open(path).map_err(|error| match error.kind() {
        // A folder on the path is a link by now.
        io::ErrorKind::NotADirectory => elsewhere(),
        _ => error,
    })?;
    match FileType::from_raw_mode(fstat(&opened)?.st_mode) {
        FileType::Socket => Ok(opened),
        FileType::Symlink => Err(elsewhere()),
        _ => Err(io::Error::other("it is no socket")),
    }
}

/// Fails: other systems have no cells with services.
#[cfg(not(target_os = "linux"))]
fn open(_path: &Path) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns `true` if this process listens at a port of the machine.
fn is_own(port: u16) -> io::Result<bool> {
    let mut listening = Vec::new();
    for table in ["tcp", "tcp6"] {
        match std::fs::read_to_string(format!("/proc/self/net/{table}")) {
            Ok(text) => listening.extend(text.lines().filter_map(|line| listener_at(line, port))),
            // A kernel without IPv6 has no such table.
            Err(error) if table == "tcp6" && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if listening.is_empty() {
        return Ok(false);
    }
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let file = match std::fs::read_link(entry?.path()) {
            Ok(file) => file,
            // Closed since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if listening.iter().any(|socket| file.as_os_str() == socket.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the name of the socket that a line of `/proc/net/tcp` describes, if it listens at a port.
fn listener_at(line: &str, port: u16) -> Option<String> {
    const LISTENING: &str = "0A";
    let mut words = line.split_whitespace().skip(1);
    let (_, own) = words.next()?.rsplit_once(':')?;
    let state = words.nth(1)?;
    let inode = words.nth(5)?;
    (u16::from_str_radix(own, 16) == Ok(port) && state == LISTENING).then(|| format!("socket:[{inode}]"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn ports_of_this_process_are_known() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        assert!(is_own(port).expect("a table"));
        drop(listener);
        assert!(!is_own(port).expect("a table"));
        let v6 = TcpListener::bind("[::1]:0").expect("a listener");
        assert!(is_own(v6.local_addr().expect("an address").port()).expect("a table"));
    }

    /// Connects to a service, and returns the bytes that it sends first.
    fn first_bytes(target: &Target) -> io::Result<[u8; 4]> {
        let Found { domain, address, _socket } = target.find()?;
        let mut server = Socket::new(domain, Type::STREAM, None)?;
        server.connect_timeout(&address, Duration::from_secs(10))?;
        let mut bytes = [0; 4];
        server.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Sends four bytes to each connection at a path.
    fn says(path: &Path, bytes: [u8; 4]) {
        let listener = UnixListener::bind(path).expect("a socket");
        thread::spawn(move || {
            listener.incoming().flatten().for_each(|mut client| drop(client.write_all(&bytes)));
        });
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_not_connected() {
        let held = tempfile::tempdir().expect("a folder");
        let folder = held.path().canonicalize().expect("a path");
        let (path, other) = (folder.join("in/socket"), folder.join("in/other"));
        fs::create_dir(folder.join("in")).expect("a folder");
        let target = Target::Unix(path.clone());
        assert!(target.find().is_err(), "nothing is there");
        says(&path, *b"mine");
        assert_eq!(&first_bytes(&target).expect("a connection"), b"mine");
        fs::rename(&path, &other).expect("renames");
        symlink(&other, &path).expect("links");
        let error = first_bytes(&target).expect_err("a link").to_string();
        assert!(error.contains("leads elsewhere"), "{error}");
        fs::remove_file(&path).expect("removes");
        fs::rename(&other, &path).expect("renames");
        fs::rename(folder.join("in"), folder.join("out")).expect("renames");
        symlink(folder.join("out"), folder.join("in")).expect("links");
        let error = first_bytes(&target).expect_err("a folder is a link").to_string();
        assert!(error.contains("leads elsewhere"), "{error}");
        fs::write(folder.join("file"), "").expect("a file");
        let error = first_bytes(&Target::Unix(folder.join("file"))).expect_err("a file").to_string();
        assert!(error.contains("no socket"), "{error}");
    }

    #[test]
    fn the_socket_that_was_found_is_connected_whatever_its_path_is_by_then() {
        let held = tempfile::tempdir().expect("a folder");
        let folder = held.path().canonicalize().expect("a path");
        let (path, refused) = (folder.join("socket"), folder.join("refused"));
        says(&path, *b"mine");
        says(&refused, *b"root");
        let Found { domain, address, _socket } = Target::Unix(path.clone()).find().expect("a socket");
        fs::rename(&path, folder.join("moved")).expect("renames");
        symlink(&refused, &path).expect("links");
        let mut server = Socket::new(domain, Type::STREAM, None).expect("a socket");
        server.connect_timeout(&address, Duration::from_secs(10)).expect("a connection");
        let mut bytes = [0; 4];
        server.read_exact(&mut bytes).expect("reads");
        assert_eq!(&bytes, b"mine");
    }
}
