//! Export to a log server: RFC 5424 messages with octet counting (RFC 6587), over TCP or TLS (RFC 5425).
//!
//! The protocol has no acknowledgments. Lines sent within [`CONFIRM_TIME`](super::CONFIRM_TIME) before a
//! connection breaks are therefore sent again. The system breaks a connection whose peer acknowledges nothing
//! for `UNHEARD_TIME`.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::{APP_NAME, CONNECT_TIME, FACILITY, SEND_TIME, SEVERITY, Sink};

/// Time allowed for an orderly close by the peer.
const GOODBYE_TIME: Duration = Duration::from_millis(300);
/// Maximum length of the host name in a header, in bytes.
const MAX_MACHINE_BYTES: usize = 255;
/// MSGID field of the header.
const MESSAGE_KIND: &str = "audit";
/// Length of a timestamp in a line.
const TIME_BYTES: usize = 24;

/// Address of a log server, and how it is authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogServer {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Authorities that authenticate the server over TLS; plain TCP if `None`.
    pub tls: Option<Authorities>,
}

/// Trusted certificate authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorities {
    /// Authorities trusted by the system.
    System,
    /// Only the authorities in this file.
    File(PathBuf),
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

pub(super) struct SyslogSink {
    server: LogServer,
    machine: String,
    stream: Option<Stream>,
}

impl SyslogSink {
    pub(super) fn new(server: LogServer, machine: &str) -> Self {
        let machine: String =
            machine.chars().filter(char::is_ascii_graphic).take(MAX_MACHINE_BYTES).collect();
        let machine = if machine.is_empty() { "-".to_owned() } else { machine };
        Self { server, machine, stream: None }
    }

    fn connect(&self) -> io::Result<Stream> {
        let LogServer { host, port, tls } = &self.server;
        // Load the configuration before connecting, so that a missing file is reported.
        let config = tls.as_ref().map(config).transpose()?;
        let socket = connect(host, *port)?;
        socket.set_nodelay(true)?;
        #[cfg(unix)]
        rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
        #[cfg(target_os = "linux")]
        {
            let unheard = u32::try_from(super::UNHEARD_TIME.as_millis()).unwrap_or(u32::MAX);
            rustix::net::sockopt::set_tcp_user_timeout(&socket, unheard)?;
        }
        socket.set_read_timeout(Some(SEND_TIME))?;
        socket.set_write_timeout(Some(SEND_TIME))?;
        let Some(config) = config else { return Ok(Stream::Plain(socket)) };
        let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, socket);
        let until = Instant::now() + CONNECT_TIME;
        while stream.conn.is_handshaking() {
            if Instant::now() > until {
                return Err(io::Error::new(ErrorKind::TimedOut, "it does not finish the TLS handshake"));
            }
            stream
                .conn
                .complete_io(&mut stream.sock)
                .map_err(timed_out)
                .map_err(|error| meant(error, tls.as_ref()))?;
        }
        Ok(Stream::Tls(Box::new(stream)))
    }
}

impl Sink for SyslogSink {
    fn check(&mut self) -> io::Result<()> {
        if let Some(mut stream) = self.stream.take() {
            stream.is_open()?;
            self.stream = Some(stream);
        } else {
            self.stream = Some(self.connect()?);
        }
        Ok(())
    }

    fn send(&mut self, lines: &[u8]) -> io::Result<u64> {
        // A failed stream is discarded, because a message may be partly sent.
        let Some(mut stream) = self.stream.take() else { return Err(ErrorKind::NotConnected.into()) };
        let mut out = Vec::with_capacity(lines.len() + lines.len() / 4);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            push_message(&mut out, line, &self.machine);
        }
        stream.write(&out).map_err(timed_out)?;
        self.stream = Some(stream);
        Ok(0)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn close(&mut self) -> bool {
        self.stream.take().is_none_or(|stream| stream.say_goodbye().unwrap_or(false))
    }
}

impl Stream {
    /// Fails if the peer is known to have closed the connection.
    fn is_open(&mut self) -> io::Result<()> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        };
        socket.set_nonblocking(true)?;
        let read = match self {
            Self::Plain(socket) => socket.read(&mut [0; 1024]),
            Self::Tls(stream) => read_tls(stream),
        };
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        };
        socket.set_nonblocking(false)?;
        match read {
            Ok(0) => Err(io::Error::new(ErrorKind::ConnectionAborted, "it has closed the connection")),
            Ok(_) => Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Closes the write side and waits for the peer to close: then it has received everything.
    fn say_goodbye(self) -> io::Result<bool> {
        let until = Instant::now() + GOODBYE_TIME;
        let mut socket = match self {
            Self::Plain(socket) => socket,
            Self::Tls(mut stream) => {
                stream.conn.send_close_notify();
                stream.sock.set_write_timeout(Some(GOODBYE_TIME))?;
                while stream.conn.wants_write() {
                    stream.conn.write_tls(&mut stream.sock)?;
                }
                stream.sock
            }
        };
        socket.shutdown(Shutdown::Write)?;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            socket.set_read_timeout(Some(left))?;
            // Incoming data is irrelevant: unsolicited data, or the peer's own close_notify.
            if socket.read(&mut [0; 1024])? == 0 {
                return Ok(true);
            }
        }
    }
}

/// Reads and discards the available data. Returns 0 if the peer has closed the connection.
fn read_tls(stream: &mut StreamOwned<ClientConnection, TcpStream>) -> io::Result<usize> {
    let read = stream.conn.read_tls(&mut stream.sock)?;
    let state = stream.conn.process_new_packets().map_err(io::Error::other)?;
    if read == 0 || state.peer_has_closed() {
        return Ok(0);
    }
    let mut rest = vec![0; state.plaintext_bytes_to_read()];
    stream.conn.reader().read_exact(&mut rest)?;
    Ok(read)
}

/// Connects to the first address that accepts.
fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let until = Instant::now() + CONNECT_TIME;
    let mut failed = io::Error::new(ErrorKind::NotFound, "its name has no address");
    for address in (host, port).to_socket_addrs()? {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&address, left) {
            // A port of this machine without a listener may be the one that the system gave to this socket, which
            // is then connected to itself.
            Ok(socket) if socket.local_addr()? == socket.peer_addr()? => {
                failed = ErrorKind::ConnectionRefused.into();
            }
            Ok(socket) => return Ok(socket),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Builds the TLS configuration.
fn config(authorities: &Authorities) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Authorities::System => {
            // Some certificates may be unusable; having none at all is reported below.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Authorities::File(path) => {
            let unusable = |error: &dyn std::fmt::Display| {
                io::Error::other(format!("the certificates in {} cannot be used: {error}", path.display()))
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))? {
                let certificate = certificate.map_err(|error| unusable(&error))?;
                roots.add(certificate).map_err(|error| unusable(&error))?;
            }
        }
    }
    if roots.is_empty() {
        return Err(io::Error::other(match authorities {
            Authorities::System => {
                "the system trusts no authority; is the package ca-certificates installed?".to_owned()
            }
            Authorities::File(path) => format!("{} has no certificate", path.display()),
        }));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Explains a TLS error and names the policy key to check.
fn meant(error: io::Error, authorities: Option<&Authorities>) -> io::Error {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return error;
    };
    let said = match tls {
        rustls::Error::InvalidCertificate(why) => match why {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => match authorities {
                Some(Authorities::File(path)) => format!(
                    "its certificate is vouched for by nobody in {}; look at `export_ca` in [audit]",
                    path.display()
                ),
                _ => "its certificate is vouched for by nobody whom the system trusts; name who does as `export_ca` in \
                      [audit]"
                    .to_owned(),
            },
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired; look at the server, and at this machine's clock".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet; look at this machine's clock, and at the server".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name; look at the host in `export` of [audit], and at the server"
                    .to_owned()
            }
            _ => format!("its certificate cannot be accepted ({why}); look at the server"),
        },
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS; look at the port in `export` of [audit], or write tcp:// in place of tls://".to_owned()
        }
        rustls::Error::AlertReceived(alert) => {
            format!("it refused the TLS connection ({alert:?}); look at what it wants of clients")
        }
        other => format!("the TLS connection failed ({other}); look at `export` in [audit], and at the server"),
    };
    io::Error::new(error.kind(), said)
}

/// Translates `WouldBlock`, which the system reports for an expired timeout.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock => io::Error::new(ErrorKind::TimedOut, "it does not read, or does not answer"),
        _ => error,
    }
}

/// Appends one message: length, header, and the unmodified line.
fn push_message(out: &mut Vec<u8>, line: &[u8], machine: &str) {
    let (time, process) = about(line).unwrap_or(("-", "-"));
    let priority = FACILITY * 8 + SEVERITY;
    let header = format!("<{priority}>1 {time} {machine} {APP_NAME} {process} {MESSAGE_KIND} - ");
    out.extend_from_slice(format!("{} ", header.len() + line.len()).as_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(line);
}

/// Extracts the timestamp and the process ID of a line.
fn about(line: &[u8]) -> Option<(&str, &str)> {
    let (time, rest) = line.strip_prefix(b"{\"time\":\"")?.split_at_checked(TIME_BYTES)?;
    let rest = rest.strip_prefix(b"\",\"pid\":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fits = time.iter().all(|byte| byte.is_ascii_digit() || b"-:.TZ".contains(byte));
    let text = |bytes| std::str::from_utf8(bytes).ok();
    (fits && (1..=20).contains(&digits)).then_some((text(time)?, text(&rest[..digits])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_length_a_header_and_the_line() {
        let line = b"{\"time\":\"2026-11-22T21:54:32.442Z\",\"pid\":28192,\"x\":0}";
        let mut out = Vec::new();
        push_message(&mut out, line, "m1");
        let header = "<110>1 2026-11-22T21:54:32.442Z m1 scorpiox-code 28192 audit - ";
        let length = header.len() + line.len();
        assert_eq!(out, [format!("{length} {header}").as_bytes(), line].concat());
        for other in [
            "{}",
            "{\"time\":\"2026-11-22T21:54:32.442Z\"}",
            "{\"time\":\"2026-11-22 21:54:32.442 \",\"pid\":1}",
        ] {
            let mut out = Vec::new();
            push_message(&mut out, other.as_bytes(), "m1");
            let text = String::from_utf8(out).unwrap();
            assert!(text.ends_with(&format!("<110>1 - m1 scorpiox-code - audit - {other}")), "{text}");
        }
        let none =
            |machine| SyslogSink::new(LogServer { host: String::new(), port: 1, tls: None }, machine).machine;
        assert_eq!((none(""), none("a b\n"), none("é")), ("-".to_owned(), "ab".to_owned(), "-".to_owned()));
    }
}
