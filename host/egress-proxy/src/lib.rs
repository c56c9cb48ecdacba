//! Filtering proxy of a cell, which checks every host and every address. It is the cell's only way out.
//!
//! Commands run in a network namespace that contains only a loopback interface, with a listener whose
//! connections the host accepts. The proxy speaks HTTP (`CONNECT`, and requests with absolute `http` URLs)
//! and SOCKS 5 (RFC 1928), distinguished by the first byte.
//!
//! It also forwards connections to single services of the machine, which programs reach without a proxy: see
//! `services`.
//!
//! Invariants: the policy decides about a name before it is resolved. The name is resolved once, every
//! address in the answer is checked, and the connection goes to one of these addresses. Neither a redirect
//! nor DNS rebinding can therefore reach another destination.

mod address;
mod bell;
mod connection;
mod head;
mod host;
mod places;
mod published;
mod recent;
mod resolve;
mod server;
#[cfg(unix)]
mod services;
mod session;
mod shared;
mod socks;
mod tunnel;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

pub use address::AddressPolicy;
pub use host::HostName;
pub use places::descriptors;
pub use published::{Dial, Published};
pub use resolve::{Resolve, SystemResolver, User};
pub use server::Proxy;
#[cfg(unix)]
pub use services::{Service, ServiceListener, Target};
pub use session::{Lost, Reached, Refusal, Session};

/// Policy for destination hosts.
pub trait Decide: Send + Sync {
    /// Decides about a host (a name or an address; IPv6 in brackets) and a port, and returns the rule that
    /// allows it. The host is passed as requested, in lower case and without a trailing dot.
    fn decide(&self, host: &str, port: u16) -> Result<String, Denied>;

    /// Decides about a resolved or literal address of the host, in addition to [`AddressPolicy`].
    fn decide_address(&self, _host: &str, _port: u16, _address: IpAddr) -> Result<(), Denied> {
        Ok(())
    }
}

/// Reason for refusing a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// Message with the policy line that would allow the host.
    pub why: String,
    /// Rule that refuses the host.
    pub rule: String,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Maximum number of concurrent connections of a command.
pub const MAX_CONNECTIONS: usize = 128;

/// Limits of a proxy.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of concurrent connections of a command.
    pub connections: usize,
    /// Timeout for each of these: receiving a request, resolving a name, connecting to an address.
    pub setup: Duration,
    /// Timeout without traffic in either direction.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: MAX_CONNECTIONS, setup: Duration::from_secs(10), idle: Duration::from_mins(5) }
    }
}

/// Parses a request head as the proxy does, for fuzzing. Returns the destination and the bytes that would be
/// forwarded.
#[cfg(feature = "fuzzing")]
pub fn read_head(bytes: &[u8]) -> Option<(String, u16, Vec<u8>)> {
    match head::parse(bytes.get(..head::end(bytes)?)?).ok()? {
        head::Ask::Tunnel { host, port } => Some((host, port, Vec::new())),
        head::Ask::Forward { host, port, head, .. } => Some((host, port, head)),
    }
}
