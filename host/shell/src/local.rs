//! Services of the machine that a profile opens to commands.
//!
//! The helper listens at their addresses in the cell, and the host forwards the connections. In a tier without its
//! own network, no other service could be kept closed, so a profile with `local` is refused there.

use std::path::Path;

#[cfg(unix)]
use scorpiox_egress_proxy::{Service, ServiceListener as Forwarded, Target};
use scorpiox_fs::{Writable, resolve};
use scorpiox_policy::{LocalRule, LocalService, Profile, hands_out};
#[cfg(unix)]
use scorpiox_sandbox::ServiceListener;
use scorpiox_sandbox::{CellSpec, Local, Network, Tier};
use scorpiox_workspace_config::Site;

use crate::error::ShellError;

/// Folders of the system that are not the same in a cell.
const SYSTEM: [&str; 10] =
    ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/tmp", "/usr"];

/// A service of the machine that a cell opens.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    /// Address in the cell and on the machine.
    pub address: Local,
    /// Rule that opens it.
    #[cfg_attr(not(unix), allow(dead_code))] // other systems open none
    pub rule: String,
}

/// Returns the services that need a listener in a cell of this tier.
pub(super) fn services(
    site: &Site,
    profile: &Profile,
    writable: &Writable,
    (tier, network): (Tier, Network),
) -> Result<Vec<Opened>, ShellError> {
    let is_path = |rule: &&LocalRule| matches!(rule.service, LocalService::Unix(_));
    // With the network of the machine, commands reach its ports in any case.
    let needed: Vec<_> =
        profile.local.iter().filter(|rule| network != Network::Host || is_path(rule)).collect();
    let Some(first) = needed.first().filter(|_| tier != Tier::None) else { return Ok(Vec::new()) };
    if !matches!(tier, Tier::T1 | Tier::T1b) {
        return Err(ShellError::Unenforceable(format!(
            "`local` of profile {} ({}) opens a service of this machine, which tier {tier} cannot open alone; T1 and T1b can",
            profile.name, first.source
        )));
    }
    needed.into_iter().map(|rule| opened(site, profile, writable, rule)).collect()
}

fn opened(
    site: &Site,
    profile: &Profile,
    writable: &Writable,
    rule: &LocalRule,
) -> Result<Opened, ShellError> {
    let address = match &rule.service {
        LocalService::Tcp(address) => Local::Tcp(*address),
        LocalService::Unix(path) => {
            // A path that a command can redirect must not decide which service is reached.
            let path = resolve(Path::new(path), writable)
                .map_err(|error| refused(profile, rule, &format!("cannot be resolved: {error}")))?;
            check_path(site, writable, &path).map_err(|why| refused(profile, rule, &why))?;
            Local::Unix(path.into())
        }
    };
    Ok(Opened { address, rule: rule.source.to_string() })
}

/// Checks the resolved path of a socket.
fn check_path(site: &Site, writable: &Writable, path: &Path) -> Result<(), String> {
    let shown = path.display();
    if let Some(owner) = path.to_str().map_or(Some("an unknown program"), hands_out) {
        return Err(format!("leads to {shown}, a socket of {owner}; leave it out"));
    }
    if path.starts_with(&site.own_home) || site.own_home.starts_with(path) {
        return Err(format!("leads to {shown}, which is this program's; leave it out"));
    }
    let folder = path.parent().unwrap_or(path);
    if writable.covers(path) || site.workspace.starts_with(folder) {
        return Err(format!(
            "leads to {shown}, where commands can make sockets; let the service listen elsewhere"
        ));
    }
    if folder.parent().is_none() || SYSTEM.iter().any(|system| path.starts_with(system)) {
        return Err(format!(
            "leads to {shown}, whose folder is another one in a sandbox; let the service listen elsewhere, such as in /run"
        ));
    }
    Ok(())
}

/// Checks that a cell has nothing else at the paths of its services.
pub(super) fn check_places(spec: &CellSpec, profile: &Profile) -> Result<(), ShellError> {
    for service in &spec.local {
        let Local::Unix(path) = service else { continue };
        let path = path.as_path();
        let is_shown = spec.exposed.iter().any(|exposed| path.starts_with(exposed.path.as_path()));
        let folder = path.parent().unwrap_or(path);
        let meets_home = folder.starts_with(spec.home.as_path()) || spec.home.as_path().starts_with(folder);
        if is_shown || meets_home {
            return Err(ShellError::Unenforceable(format!(
                "`local` of profile {} has unix:{}, which lies in a folder that commands see otherwise; let the service \
                 listen elsewhere, such as in /run",
                profile.name,
                path.display()
            )));
        }
    }
    Ok(())
}

/// Returns the arguments for the proxy that forwards the connections.
#[cfg(unix)]
pub(super) fn forwarded(listener: ServiceListener, service: &Opened) -> (Forwarded, Service) {
    let listener = match listener {
        ServiceListener::Tcp(listener) => Forwarded::Tcp(listener),
        ServiceListener::Unix(listener) => Forwarded::Unix(listener),
    };
    let target = match &service.address {
        Local::Tcp(address) => Target::Tcp(*address),
        Local::Unix(path) => Target::Unix(path.as_path().to_owned()),
    };
    (listener, Service { target, rule: service.rule.clone() })
}

fn refused(profile: &Profile, rule: &LocalRule, why: &str) -> ShellError {
    ShellError::Rule {
        before: format!("`local` of profile {} has \"{}\"", profile.name, rule.service),
        rule: rule.source,
        after: format!(", which {why}"),
    }
}
