//! Serves a single connection of a command.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::head::{self, Ask, Refused};
use crate::resolve::User;
use crate::shared::{Closed, Connection};
use crate::socks::{self, Reply};
use crate::tunnel;
use crate::{Denied, HostName, Limits};

/// Maximum length of a request head in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Maximum number of addresses of a name to try.
const MAX_TRIES: usize = 4;

/// Rule name of decisions that do not come from a policy line.
const BUILT_IN: &str = "built-in";

/// Bytes of a request head, and the bytes received after it.
type Head = (Vec<u8>, Vec<u8>);

/// Reason that no connection was made.
enum NoWay {
    Refused(String),
    Unreachable(String),
    /// The command has ended.
    Closed,
}

impl From<Closed> for NoWay {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

/// Serves a connection until it ends.
pub(crate) fn serve(client: &TcpStream, connection: &Connection) -> io::Result<()> {
    let limits = connection.limits();
    client.set_read_timeout(Some(limits.setup))?;
    client.set_write_timeout(Some(limits.idle))?;
    let mut first = [0];
    if client.peek(&mut first)? == 0 {
        return Ok(());
    }
    if first == [5] { serve_socks(client, connection) } else { serve_http(client, connection) }
}

fn serve_socks(mut client: &TcpStream, connection: &Connection) -> io::Result<()> {
    let Some((host, port)) = socks::ask(&mut client)? else { return Ok(()) };
    let host = match std::str::from_utf8(&host).ok().and_then(head::name) {
        Some(host) if port != 0 => host,
        _ => {
            let why = "no plain host name; no line of the policy allows it".to_owned();
            let denied = Denied { why, rule: BUILT_IN.to_owned() };
            connection.refuse(&HostName::of(&host), port, &denied);
            return socks::reply(&mut client, Reply::NotAllowed);
        }
    };
    match connect(&host, port, connection) {
        Ok(server) => {
            socks::reply(&mut client, Reply::Succeeded)?;
            pass(client, &server, connection.limits())
        }
        Err(NoWay::Closed) => Ok(()),
        Err(NoWay::Refused(_)) => socks::reply(&mut client, Reply::NotAllowed),
        Err(NoWay::Unreachable(_)) => socks::reply(&mut client, Reply::Unreachable),
    }
}

fn serve_http(mut client: &TcpStream, connection: &Connection) -> io::Result<()> {
    let limits = connection.limits();
    let (head, rest) = match read_head(client, limits)? {
        Ok(read) => read,
        Err(refused) => return answer(client, refused.0, refused.1),
    };
    let ask = match head::parse(&head) {
        Ok(ask) => ask,
        Err(Refused(status, why)) => return answer(client, status, why),
    };
    let (Ask::Tunnel { host, port } | Ask::Forward { host, port, .. }) = &ask;
    let server = match connect(host, *port, connection) {
        Ok(server) => server,
        Err(NoWay::Closed) => return Ok(()),
        Err(NoWay::Refused(why)) => return answer(client, 403, &why),
        Err(NoWay::Unreachable(why)) => return answer(client, 502, &why),
    };
    match ask {
        Ask::Tunnel { .. } => {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            (&*server).write_all(&rest)?;
            pass(client, &server, limits)
        }
        Ask::Forward { head, body_bytes, .. } => forward(client, &server, limits, &head, (&rest, body_bytes)),
    }
}

/// Forwards a single request with exactly the declared length of body, and returns the complete response.
fn forward(
    client: &TcpStream,
    mut server: &TcpStream,
    limits: &Limits,
    head: &[u8],
    (rest, body_bytes): (&[u8], u64),
) -> io::Result<()> {
    set_idle(client, server, limits)?;
    server.write_all(head)?;
    let here = rest.len().min(usize::try_from(body_bytes).unwrap_or(usize::MAX));
    server.write_all(&rest[..here])?;
    thread::scope(|scope| {
        // The response may start before the body ends, as with `Expect: 100-continue`.
        thread::Builder::new()
            .name("answer".to_owned())
            .spawn_scoped(scope, || tunnel::copy(server, client))?;
        let body = io::copy(&mut client.take(body_bytes - here as u64), &mut &*server);
        if body.is_err() {
            let _ = server.shutdown(Shutdown::Both);
        }
        Ok(())
    })
}

fn pass(client: &TcpStream, server: &TcpStream, limits: &Limits) -> io::Result<()> {
    set_idle(client, server, limits)?;
    tunnel::run(client, server)
}

fn set_idle(client: &TcpStream, server: &TcpStream, limits: &Limits) -> io::Result<()> {
    for stream in [client, server] {
        stream.set_read_timeout(Some(limits.idle))?;
        stream.set_write_timeout(Some(limits.idle))?;
    }
    Ok(())
}

/// Reads the head of a request. Returns it with the bytes that follow.
fn read_head(mut client: &TcpStream, limits: &Limits) -> io::Result<Result<Head, Refused>> {
    let until = Instant::now() + limits.setup;
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = head::end(&bytes) {
            let rest = bytes.split_off(end);
            return Ok(Ok((bytes, rest)));
        }
        if bytes.len() > MAX_HEAD_BYTES {
            return Ok(Err(Refused(431, "the request's head is too long")));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err(Refused(408, "the request took too long")));
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Applies the policy, resolves the name once, checks every address, and connects to one of them.
fn connect(host: &str, port: u16, connection: &Connection) -> Result<Arc<TcpStream>, NoWay> {
    let (shared, limits) = (&connection.shared, connection.limits());
    let refuse = |denied: Denied| {
        connection.refuse(&HostName::of(host.as_bytes()), port, &denied);
        NoWay::Refused(format!("{host}:{port} was refused: {denied}"))
    };
    let rule = shared.rules.decide(host, port).map_err(refuse)?;
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let addresses = match literal {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => look_up(host, port, &rule, connection)?,
    };
    // All addresses must pass, because a mix of public and private addresses is an attempt to evade this
    // check.
    for address in &addresses {
        let decided = shared.rules.decide_address(host, port, address.ip());
        decided.map_err(refuse)?;
        if let Err(kind) = shared.addresses.check(address.ip()) {
            let remedy = shared.addresses.remedy(address.ip());
            let why = format!("its address {} is {kind}{remedy}", address.ip());
            return Err(refuse(Denied { why, rule: BUILT_IN.to_owned() }));
        }
    }
    connection.let_through(host, port, &rule)?;
    let mut last = "it has no address".to_owned();
    for address in addresses.iter().take(MAX_TRIES) {
        let server = open(*address).map(Arc::new);
        let connected = server.and_then(|server| {
            // The end of the command shuts the stream down, and so ends the attempt.
            connection.follow(Arc::clone(&server) as _).map_err(io::Error::other)?;
            SockRef::from(&*server).connect_timeout(&(*address).into(), limits.setup)?;
            Ok(server)
        });
        connection.check()?;
        match connected {
            Ok(server) => return Ok(server),
            Err(error) => last = error.to_string(),
        }
    }
    Err(unreachable(connection, format!("{host}:{port} cannot be reached: {last}")))
}

/// Records that an allowed host cannot be reached: programs often hide the proxy's answer.
fn unreachable(connection: &Connection, why: String) -> NoWay {
    connection.could_not_reach(&why);
    NoWay::Unreachable(why)
}

/// Creates a stream that is not connected yet.
fn open(address: SocketAddr) -> io::Result<TcpStream> {
    Ok(Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?.into())
}

/// Resolves a name that a rule allows.
fn look_up(host: &str, port: u16, rule: &str, connection: &Connection) -> Result<Vec<SocketAddr>, NoWay> {
    connection.look_up(host, port, rule)?;
    let user = User { id: connection.user(), waits: &|| connection.check().is_ok() };
    match connection.shared.resolver.resolve_for(&user, host, port, connection.limits().setup) {
        Ok(addresses) => Ok(addresses),
        Err(error) => {
            // The lookup itself reached a name server, so the host counts as reached.
            connection.let_through(host, port, rule)?;
            Err(unreachable(connection, format!("{host} cannot be looked up: {error}")))
        }
    }
}

fn answer(mut client: &TcpStream, status: u16, why: &str) -> io::Result<()> {
    let body = format!("{why}\n");
    write!(
        client,
        "HTTP/1.1 {status} Refused by the sandbox's proxy\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
