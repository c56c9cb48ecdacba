//! Connects the sockets of a command.
//!
//! A path leads to the sockets of other programs too, if they lie in a folder that the command sees. Neither a
//! mount nor Landlock keeps a command from a socket that appears while it runs. The supervisor therefore makes
//! every connection itself, on a duplicate of the caller's socket: a call that continued in the kernel could
//! exchange its descriptor and its address after the check. It connects to a path only if a command listens
//! there: see [`listeners`].
//!
//! This holds for cells with their own network. With the machine's network, commands reach the machine's
//! services in any case.

mod connectors;
mod listeners;
mod proxy;

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use libc::c_long;
use rustix::fs::{AtFlags, FileType, fstat};
use rustix::io::Errno;
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;
use scorpiox_sandbox::RawPath;
use scorpiox_sandbox::wire::{Local, Network, Tier};
use scorpiox_sys::linux::questions::{self, Answer, Question};
use scorpiox_sys::linux::sys;

use crate::guard::{Caller, Told, path_of};
use crate::pace::Pace;
use crate::questions::{INTERRUPTED, is_interrupted};
use connectors::{Connectors, Made, Progress};

/// The call that connects a socket.
pub(super) const CONNECT: c_long = libc::SYS_connect;
/// Maximum length of an address in bytes, equal to the kernel's.
const MAX_ADDRESS: usize = size_of::<libc::sockaddr_storage>();
/// Offset of the path in the address of a Unix socket.
const PATH: usize = size_of::<libc::sa_family_t>();

/// Returns `true` if the supervisor makes the connections of commands in such a cell.
pub(super) fn are_connected_by_supervisor(tier: Tier, network: Network) -> bool {
    matches!(tier, Tier::T1 | Tier::T1b) && network != Network::Host
}

/// The connections of a command.
#[derive(Debug)]
pub(super) struct Sockets {
    /// Descriptor of the notifications.
    questions: Arc<OwnedFd>,
    /// Source address of connections to the host's proxy.
    source: Option<Ipv4Addr>,
    /// Ports of services of the machine.
    services: Vec<u16>,
    refused: Told,
    connectors: Connectors,
    /// Calls that wait for their connection.
    blocked: Vec<(Question, Progress)>,
    pace: Pace,
}

/// Socket of the caller and its new peer's address.
struct Connection {
    socket: OwnedFd,
    address: Vec<u8>,
    /// Source address, if the connection leads to the proxy.
    source: Option<Ipv4Addr>,
    /// File that the address leads to, kept open until the connection is made.
    _target: Option<OwnedFd>,
}

impl Connection {
    fn make(&self) -> Answer {
        match sys::connect(self.socket.as_fd(), &self.address) {
            Ok(()) => self.verified(),
            Err(error) => failed(&error),
        }
    }

    /// Shuts a connection down if the program has changed its source address meanwhile.
    fn verified(&self) -> Answer {
        match self.source.map_or(Ok(()), |source| proxy::check(source, &self.socket)) {
            Ok(()) => Answer::Done,
            Err(error) => {
                let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
                failed(&error)
            }
        }
    }
}

impl Sockets {
    pub(super) fn new(questions: Arc<OwnedFd>, source: Option<Ipv4Addr>, local: &[Local]) -> Self {
        let port = |service: &Local| match service {
            Local::Tcp(address) => Some(address.port()),
            Local::Unix(_) => None,
        };
        let connectors = Connectors::new(Arc::clone(&questions));
        Self {
            questions,
            source,
            services: local.iter().filter_map(port).collect(),
            refused: Told::default(),
            connectors,
            blocked: Vec::new(),
            pace: Pace::default(),
        }
    }

    /// Makes a connection. Returns `None` if the call is answered as soon as the connection is made.
    pub(super) fn connect(&mut self, question: &Question) -> Option<Answer> {
        let connection = match self.prepare(question) {
            Ok(connection) => connection,
            Err(error) => return Some(failed(&error)),
        };
        match self.connectors.connect(connection, *question) {
            Made::Now(answer) => Some(answer),
            Made::Later(progress) => {
                self.forget_answered();
                self.blocked.push((*question, progress));
                None
            }
        }
    }

    /// Inspects the arguments of the call.
    fn prepare(&mut self, question: &Question) -> io::Result<Connection> {
        let questions = Arc::clone(&self.questions);
        let waits = || questions::still_waits(questions.as_fd(), question);
        let caller = Caller::new(question.thread, &waits);
        let [number, address, length, ..] = question.arguments;
        let socket = caller.duplicate(word(number))?;
        let family = socket_domain(&socket)?;
        let length = usize::try_from(word(length)).ok().filter(|length| *length <= MAX_ADDRESS);
        let address = caller.bytes(address, length.ok_or(Errno::INVAL)?).map_err(|_| Errno::FAULT)?;
        match path_in(&address).filter(|_| family == AddressFamily::UNIX) {
            None => {
                let source = self.source.filter(|_| proxy::is_at(&address, &self.services));
                if let Some(source) = source {
                    proxy::come_from(source, &socket, family)?;
                }
                Ok(Connection { socket, address, source, _target: None })
            }
            Some(path) => {
                let target = caller.file_at(libc::AT_FDCWD, path.to_vec(), AtFlags::empty())?;
                self.check(&target)?;
                Ok(Connection { socket, address: address_of(&target), source: None, _target: Some(target) })
            }
        }
    }

    /// Fails as if nobody listened at the path, unless a command does.
    fn check(&mut self, target: &OwnedFd) -> io::Result<()> {
        if !FileType::from_raw_mode(fstat(target)?.st_mode).is_socket() {
            return Err(Errno::CONNREFUSED.into());
        }
        // A failed lookup is a refusal, too.
        if listeners::includes(target).unwrap_or(false) {
            return Ok(());
        }
        if let Ok(path) = path_of(target) {
            self.refused.add(&path);
        }
        Err(Errno::CONNREFUSED.into())
    }

    /// Interrupts waiting calls whose thread has a signal to handle. Their connection may still be made, as
    /// with TCP. Returns the time until the next attempt, if some still wait.
    pub(super) fn interrupt(&mut self) -> Option<Duration> {
        self.forget_answered();
        let Self { questions, blocked, pace, .. } = self;
        pace.check(|| {
            blocked.retain(|(question, _)| {
                if !is_interrupted(question.thread) {
                    return true;
                }
                let _ = questions::answer(questions.as_fd(), question, INTERRUPTED);
                false
            });
            !blocked.is_empty()
        })
    }

    fn forget_answered(&mut self) {
        self.blocked.retain(|(_, progress)| !progress.is_answered());
    }

    /// Returns the paths of the sockets that the command was refused, and the number of further attempts.
    pub(super) fn end(self) -> (Vec<RawPath>, u32) {
        self.refused.into_paths()
    }
}

/// Returns the path in the address of a Unix socket; returns `None` for any other address, including an
/// abstract name, which belongs to the cell's network.
fn path_in(address: &[u8]) -> Option<&[u8]> {
    let (family, path) = address.split_at_checked(PATH)?;
    let is_unix = family == libc::sa_family_t::try_from(libc::AF_UNIX).ok()?.to_ne_bytes();
    let path = path.split(|byte| *byte == 0).next()?;
    (is_unix && !path.is_empty()).then_some(path)
}

/// Returns an address that leads to an open file, whatever happens to its path.
fn address_of(file: &OwnedFd) -> Vec<u8> {
    let family = libc::sa_family_t::try_from(libc::AF_UNIX).unwrap_or_default();
    let path = format!("/proc/self/fd/{}\0", file.as_raw_fd());
    [&family.to_ne_bytes(), path.as_bytes()].concat()
}

/// Returns the low half of an argument: the kernel ignores the rest of an `int`.
#[allow(clippy::cast_possible_truncation)]
const fn word(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

/// Returns the answer for an error; one without a number comes from a check.
fn failed(error: &io::Error) -> Answer {
    Answer::Fail(error.raw_os_error().unwrap_or(libc::EACCES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unix(path: &[u8]) -> Vec<u8> {
        [&1_u16.to_ne_bytes(), path].concat()
    }

    #[test]
    fn only_addresses_with_a_path_are_looked_up() {
        assert_eq!(path_in(&unix(b"/run/x\0rest")), Some(&b"/run/x"[..]));
        assert_eq!(path_in(&unix(b"x")), Some(&b"x"[..]));
        assert_eq!(path_in(&unix(b"\0name")), None);
        assert_eq!(path_in(&unix(b"")), None);
        assert_eq!(path_in(&[2, 0, b'/', b'x']), None);
        assert_eq!(path_in(&[1]), None);
    }
}
