//! Hosts that a task was refused.

use std::collections::BTreeSet;

use scorpiox_egress_proxy::{HostName, Refusal};

/// Maximum number of refused hosts remembered per task.
const MAX_REFUSALS: usize = 1024;

/// Distinct hosts that the task was refused.
#[derive(Debug)]
pub(super) struct Refusals {
    pub(super) all: Vec<Refusal>,
    /// Names and ports of these hosts.
    pub(super) known: BTreeSet<(HostName, u16)>,
    /// Number of hosts already reported to the client.
    pub(super) told: usize,
    /// Number of hosts already in the audit record of the call that started the task.
    pub(super) recorded: usize,
}

impl Refusals {
    pub(super) fn add(&mut self, refusals: Vec<Refusal>) {
        for refusal in refusals {
            if self.all.len() < MAX_REFUSALS && self.known.insert((refusal.host.clone(), refusal.port)) {
                self.all.push(refusal);
            }
        }
    }

    /// Returns the hosts not yet reported to the client, and marks them as reported.
    pub(super) fn news(&mut self) -> Vec<Refusal> {
        let news = self.all[self.told..].to_vec();
        self.told = self.all.len();
        news
    }
}
