//! Services of the machine that a profile opens to commands.
//!
//! The helper listens at their addresses in the cell, and the host forwards the connections. In a tier without its
//! own network, and without a sandbox, no other service could be kept closed, so a profile with `local` is refused
//! there. An entry that cannot be opened therefore never leads to a lower tier.

#[cfg(unix)]
mod links;

use std::path::Path;
#[cfg(not(unix))]
use std::path::PathBuf;

#[cfg(unix)]
use scorpiox_egress_proxy::{Service, ServiceListener as Forwarded, Target};
use scorpiox_fs::Writable;
use scorpiox_policy::{LocalRule, LocalService, Profile, hands_out};
#[cfg(unix)]
use scorpiox_sandbox::ServiceListener;
use scorpiox_sandbox::{CellSpec, Local, Network, Tier};
use scorpiox_workspace_config::Site;

use crate::error::ShellError;
#[cfg(unix)]
use links::follow;

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
    let Some(first) = needed.first() else { return Ok(Vec::new()) };
    if !matches!(tier, Tier::T1 | Tier::T1b) {
        return Err(ShellError::Unenforceable(format!(
            "`local` of profile {} ({}) opens a service of this machine, which tier {tier} cannot open alone; T1 and T1b can",
            profile.name, first.source
        )));
    }
    let mut services: Vec<Opened> = Vec::new();
    for rule in needed {
        let new = opened(site, profile, writable, rule)?;
        if let Some(same) = services.iter().find(|known| known.address == new.address) {
            let why =
                format!("leads to the same socket as another entry ({}); leave one of them out", same.rule);
            return Err(refused(profile, rule, &why));
        }
        services.push(new);
    }
    Ok(services)
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
            let path = follow(Path::new(path), writable).map_err(|why| refused(profile, rule, &why))?;
            check_path(site, writable, &path).map_err(|why| refused(profile, rule, &why))?;
            Local::Unix(path.into())
        }
    };
    Ok(Opened { address, rule: rule.source.to_string() })
}

/// Returns a path as it is: other systems open no services.
#[cfg(not(unix))]
fn follow(path: &Path, _writable: &Writable) -> Result<PathBuf, String> {
    Ok(path.to_owned())
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
    #[cfg(unix)]
    if links::is_open_to_all(folder) {
        return Err(format!(
            "leads to {shown}, in a folder where every user can make sockets; let the service listen elsewhere"
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
            return Err(ShellError::Rule {
                before: format!("`local` of profile {}", profile.name),
                rule: profile.origins.local,
                after: format!(
                    " has unix:{}, which lies in a folder that commands see otherwise; let the service listen elsewhere, \
                     such as in /run",
                    path.display()
                ),
            });
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::Arc;

    use scorpiox_policy::Policy;
    use scorpiox_workspace_config::SkillFolders;

    use super::*;

    /// Plans services at paths below a folder.
    fn planned(folder: &Path, entries: &[&str]) -> Result<Vec<Local>, String> {
        planned_in(Tier::T1, folder, entries)
    }

    fn planned_in(tier: Tier, folder: &Path, entries: &[&str]) -> Result<Vec<Local>, String> {
        let services: Vec<_> =
            entries.iter().map(|entry| format!("unix:{}", folder.join(entry).display())).collect();
        let text = format!("version = 1\n[shell.profile.workspace]\nlocal = {services:?}\n");
        let policy = Policy::parse(&text, Path::new("policy.toml")).expect("a policy");
        let site = Site {
            workspace: folder.join("workspace/inner"),
            home: None,
            own_home: folder.join("own"),
            workspace_name: "workspace".to_owned(),
            skills: Arc::new(SkillFolders::new(&folder.join("own"), None, &folder.join("own"), &[])),
            is_managed_required: false,
            worked_on: Vec::new(),
        };
        let writable = Writable::new([folder.join("workspace")]);
        let profile = &policy.shell.profiles["workspace"];
        super::services(&site, profile, &writable, (tier, Network::Off))
            .map(|opened| opened.into_iter().map(|service| service.address).collect())
            .map_err(|error| error.to_string())
    }

    /// Returns a folder outside of `/tmp`, where commands can make sockets.
    fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
        let program = std::env::current_exe().expect("a program");
        let held = tempfile::tempdir_in(program.parent().expect("its folder")).expect("a folder");
        let path = held.path().canonicalize().expect("a path");
        fs::create_dir(path.join("run")).expect("a folder");
        symlink("run", path.join("alias")).expect("a link");
        (held, path)
    }

    #[test]
    fn two_spellings_of_a_socket_are_refused_with_their_line() {
        let (_held, folder) = folder();
        let own = Local::Unix(folder.join("run/x").as_path().into());
        assert_eq!(planned(&folder, &["alias/x"]), Ok(vec![own]));
        assert_eq!(planned(&folder, &["run/x", "alias/y"]).expect("both").len(), 2);
        let error = planned(&folder, &["run/x", "alias/x"]).expect_err("the same socket");
        assert!(
            error.contains("alias/x") && error.contains("leads to the same socket as another entry"),
            "{error}"
        );
        assert!(error.contains("line 3"), "{error}");
    }

    #[test]
    fn a_link_in_a_folder_that_others_can_write_is_refused() {
        let (_held, folder) = folder();
        symlink("/run/rootonly/control", folder.join("run/s")).expect("a link");
        assert!(planned(&folder, &["run/s"]).is_ok(), "nobody else can replace it");
        fs::set_permissions(folder.join("run"), Permissions::from_mode(0o775)).expect("permissions");
        let error = planned(&folder, &["run/s"]).expect_err("a link");
        assert!(error.contains("on its path, which other programs can replace"), "{error}");
        assert!(planned(&folder, &["run/x"]).is_ok(), "a socket may lie there");
    }

    #[test]
    fn a_service_is_opened_in_no_tier_that_cannot_keep_the_others_closed() {
        let (_held, folder) = folder();
        for tier in [Tier::T2, Tier::Seatbelt, Tier::None] {
            let error = planned_in(tier, &folder, &["run/x"]).expect_err("refused");
            assert!(error.contains("cannot open alone; T1 and T1b can"), "{tier}: {error}");
            assert_eq!(planned_in(tier, &folder, &[]), Ok(Vec::new()));
        }
    }

    #[test]
    fn a_folder_in_which_every_user_can_make_sockets_is_refused() {
        let (_held, folder) = folder();
        fs::set_permissions(folder.join("run"), Permissions::from_mode(0o1777)).expect("permissions");
        let error = planned(&folder, &["run/x"]).expect_err("a folder like /run/lock");
        assert!(error.contains("in a folder where every user can make sockets"), "{error}");
    }
}
