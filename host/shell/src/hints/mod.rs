//! Sentences for a result about differences between a sandbox and the machine, of which programs only print the
//! consequence: ports of another localhost, files that commands do not see, and limits.
//!
//! The output is only an occasion. Each sentence states something that holds whatever a command prints, and repeats no
//! path of the output that the command itself does not have.

mod limits;
mod outside;
mod ports;
mod programs;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use scorpiox_command_output::{Said, Subject};
use scorpiox_policy::{LocalService, PathRule, Place, Profile, READONLY, Source, local_entry};
use scorpiox_sandbox::{Network, Outcome, Status, Tier};

use crate::request::{As, Request};
use crate::{RunsIn, Started};
use limits::Bounds;

/// Facts about a command that its hints need.
#[derive(Debug)]
pub(super) struct Facts {
    command: String,
    bounds: Bounds,
    local: Vec<SocketAddr>,
    /// Folders that the profile lists in `write`, with their sources.
    write: Vec<(PathBuf, Source)>,
    publish: Vec<u16>,
    /// `true` if ports of the command can be published.
    can_publish: bool,
    /// `true` if the client is on this machine.
    is_local: bool,
}

impl Facts {
    pub(super) fn of(profile: &Profile, request: &Request, place: RunsIn) -> Self {
        let local = profile.local.iter().filter_map(|rule| match &rule.service {
            LocalService::Tcp(address) => Some(*address),
            LocalService::Unix(_) => None,
        });
        let is_over_http = request.uses.client().is_some_and(|client| client.principal.is_some());
        let is_client = matches!(request.run_as, As::Client { .. });
        Self {
            command: request.command.clone(),
            bounds: Bounds::of(profile),
            local: local.collect(),
            write: profile.write.iter().filter_map(listed).collect(),
            publish: profile.publish.iter().map(|port| port.value).collect(),
            is_local: !is_over_http,
            can_publish: place == RunsIn::Background && is_client && !is_over_http,
        }
    }
}

/// Returns the folder that a rule names, with the source of the rule.
fn listed(rule: &PathRule) -> Option<(PathBuf, Source)> {
    match &rule.place {
        Place::Path(path) => Some((path.clone(), rule.source)),
        _ => None,
    }
}

impl Started {
    /// Says that a folder is in `write` and does not exist, if commands could write to a path in it otherwise.
    pub(super) fn about_absent(&self, path: &Path) -> Option<String> {
        let is_absent = |folder: &Path| path.starts_with(folder) && folder.symlink_metadata().is_err();
        let (folder, source) = self.facts.write.iter().find(|(folder, _)| is_absent(folder))?;
        Some(format!(
            "read-only: {} is in `write` ({source}), and does not exist; commands write there once the person has created it, \
             and the server was started again",
            folder.display()
        ))
    }

    /// Returns the hints about a command that ended.
    pub(super) fn hints(&self, said: &Said, outcome: &Outcome) -> Vec<String> {
        let mut hints = self.facts.bounds.sentences(said, outcome);
        let failed = outcome.ended.is_some() || outcome.status != Status::Code(0);
        if failed {
            hints.extend(self.about_localhost(said));
            hints.extend(self.about_outside(said));
            hints.extend(self.about_programs(said));
            hints.extend(self.about_system(said));
        } else {
            hints.extend(self.about_home());
        }
        hints
    }

    /// Returns `true` if commands have a network, and so a localhost, of their own.
    fn has_own_localhost(&self) -> bool {
        matches!(self.tier, Tier::T1 | Tier::T1b) && self.cell.plan.spec.network != Network::Host
    }

    /// Explains why nothing listens at a port, unless the profile opens a service there.
    fn about_localhost(&self, said: &Said) -> Option<String> {
        if !self.has_own_localhost() || self.profile == READONLY {
            return None;
        }
        let addresses = ports::refused(said.lines(Subject::Refused))?;
        let is_open =
            |address: &SocketAddr| self.facts.local.iter().any(|open| open.port() == address.port());
        let can_open = |address: &SocketAddr| local_entry(&address.to_string()).is_some();
        let closed: Vec<_> =
            addresses.iter().filter(|address| !is_open(address) && can_open(address)).collect();
        if closed.is_empty() && !addresses.is_empty() {
            return None;
        }
        let (at, entries) = match closed.as_slice() {
            [] => (String::new(), "\"127.0.0.1:PORT\"".to_owned()),
            closed => {
                let ports: Vec<_> = closed.iter().map(|address| address.port().to_string()).collect();
                let entries: Vec<_> = closed.iter().map(|address| format!("\"{address}\"")).collect();
                (format!(" at port {}", ports.join(", ")), entries.join(", "))
            }
        };
        Some(format!(
            "localhost: commands have one of their own, where none of them listens{at}. If it is a service of this \
             machine, the person can open it: `local = [{entries}]` in [shell.profile.{}] of policy.toml",
            self.profile
        ))
    }

    /// Explains that only commands reach a server that a background command says it is.
    pub(super) fn about_listening(&self, said: &Said) -> Option<String> {
        if !self.has_own_localhost() || self.profile == READONLY || !self.facts.can_publish {
            return None;
        }
        let ports = ports::listening(said.lines(Subject::Listening));
        let ports: Vec<_> = ports.into_iter().filter(|port| !self.facts.publish.contains(port)).collect();
        let first = ports.first()?;
        let all: Vec<_> = ports.iter().map(u16::to_string).collect();
        Some(format!(
            "publish: commands alone reach the servers of commands. The person can open port {first} to this machine: \
             `publish = [{}]` in [shell.profile.{}] of policy.toml; then start this command again",
            all.join(", "),
            self.profile
        ))
    }
}
