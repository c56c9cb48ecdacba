//! The requests of a command.

use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::HostName;
use crate::shared::Shared;

/// A refused host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Host as requested, as far as it may be shown.
    pub host: HostName,
    /// Port number.
    pub port: u16,
    /// Reason for the refusal.
    pub why: String,
    /// Rule that refused the host.
    pub rule: String,
    /// Number of requests, up to 16.
    pub times: usize,
}

/// An allowed host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Host as requested.
    pub host: String,
    /// Port number.
    pub port: u16,
    /// Rule that allowed the host.
    pub rule: String,
}

/// Numbers of requests that are not retained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Refused hosts.
    pub refused: usize,
    /// Allowed hosts.
    pub reached: usize,
    /// Connections that were closed, because too many were open.
    pub crowded: usize,
}

/// The connections of a command and the hosts that they requested. Dropping it closes the connections.
///
/// Connections belong to the command whose [source](Self::source) address they come from. Those from another
/// address belong to all commands that run: each records their hosts, and they are closed with the last.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    id: u64,
    source: Ipv4Addr,
}

impl Session {
    pub(crate) fn begin(shared: &Arc<Shared>) -> Self {
        let (id, source) = shared.begin();
        Self { shared: Arc::clone(shared), id, source }
    }

    /// Returns the loopback address from which only this command may connect.
    pub fn source(&self) -> Ipv4Addr {
        self.source
    }

    /// Closes the connections. No host is reached afterwards that is missing in [`reached`](Self::reached).
    pub fn end(&self) {
        self.shared.end(self.id);
    }

    /// Returns the distinct refused hosts, the most recent last. At most 1,024 are retained.
    pub fn refusals(&self) -> Vec<Refusal> {
        self.shared.of(self.id, |requests| {
            let refusals = requests.refusals.iter();
            let refusal = |(host, port, denied, times): (&HostName, u16, &crate::Denied, usize)| {
                let crate::Denied { why, rule } = denied.clone();
                Refusal { host: host.clone(), port, why, rule, times }
            };
            refusals.map(refusal).collect()
        })
    }

    /// Returns the distinct allowed hosts, the most recent last. At most 1,024 are retained.
    pub fn reached(&self) -> Vec<Reached> {
        self.shared.of(self.id, |requests| {
            let reached = |(host, port, rule, _): (&String, u16, &String, usize)| Reached {
                host: host.to_owned(),
                port,
                rule: rule.clone(),
            };
            requests.reached.iter().map(reached).collect()
        })
    }

    /// Returns the services of the machine that did not answer, each with the reason.
    pub fn unreachable(&self) -> Vec<String> {
        self.shared.of(self.id, |requests| requests.unreachable.clone())
    }

    /// Returns the allowed hosts that could not be reached, each with the reason.
    pub fn unreached(&self) -> Vec<String> {
        self.shared.of(self.id, |requests| requests.unreached.clone())
    }

    /// Returns the numbers of requests that are not retained.
    pub fn lost(&self) -> Lost {
        self.shared.of(self.id, |requests| Lost {
            refused: requests.refusals.lost(),
            reached: requests.reached.lost(),
            crowded: requests.crowded,
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.end(self.id);
        self.shared.forget_session(self.id);
    }
}
