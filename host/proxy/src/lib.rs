//! The only way out of a cell: a proxy that checks each host and each address.
//!
//! Commands are in a network namespace that has nothing but a loopback interface, and a
//! listener on it that the host accepts on. It speaks HTTP (`CONNECT`, and requests for whole
//! `http` URLs) and SOCKS 5 (RFC 1928), told apart by the first byte.
//!
//! Invariants: a name is decided about before it is looked up; it is looked up once, and the
//! connection goes to an address of that answer, every one of which was checked. So neither
//! a redirect nor a name that changes its address leads anywhere else.

mod address;
mod bell;
mod connection;
mod head;
mod resolve;
mod server;
mod shared;
mod socks;
mod tunnel;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

pub use address::AddressPolicy;
pub use resolve::{Resolve, SystemResolver};
pub use server::Proxy;
pub use shared::{Reached, Refusal};

/// Who decides about names.
pub trait Decide: Send + Sync {
    /// Whether this host (a name, or an address; IPv6 in brackets) may be reached at this port.
    /// It is given as it was asked for, in lower case and without a dot at its end. Gives the rule that allows it.
    fn decide(&self, host: &str, port: u16) -> Result<String, Denied>;

    /// Whether it may be reached at an address that it has, or is, beside what
    /// [`AddressPolicy`] says.
    fn decide_address(&self, _host: &str, _port: u16, _address: IpAddr) -> Result<(), Denied> {
        Ok(())
    }
}

/// Why a host may not be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// A sentence, with the line of the policy that would allow it.
    pub why: String,
    /// The rule that decides.
    pub rule: String,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Bounds of a proxy.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Until a request is there, a name is looked up, or a connection is made: each.
    pub setup: Duration,
    /// Without a byte in either direction.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 128, setup: Duration::from_secs(10), idle: Duration::from_mins(5) }
    }
}

/// Reads the head of a request as the proxy does: where it would lead, and what would be sent
/// on. For fuzzing.
#[cfg(feature = "fuzzing")]
pub fn read_head(bytes: &[u8]) -> Option<(String, u16, Vec<u8>)> {
    match head::parse(bytes.get(..head::end(bytes)?)?).ok()? {
        head::Ask::Tunnel { host, port } => Some((host, port, Vec::new())),
        head::Ask::Forward { host, port, head, .. } => Some((host, port, head)),
    }
}
