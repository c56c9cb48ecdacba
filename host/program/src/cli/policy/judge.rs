//! What the policy says of one thing, as it would be decided when it comes to it.

use std::fmt::Display;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use scorpiox_access::{HttpPolicy, Principal};
use scorpiox_policy::{
    Access, HostDecision, HostRules, Network, NetworkRule, Policy, Profile, Verdict, WebVerdict,
};
use scorpiox_proxy::{AddressPolicy, Resolve as _, SystemResolver};
use scorpiox_text::nearest;
use scorpiox_web::Router;

use super::{What, plugins};
use crate::cli::environment::Environment;
use scorpiox_operator::Operator;
use scorpiox_paths::without_links;
use scorpiox_shell::{PRIVATE_KEY, Shell};
use scorpiox_tools::plugins::Plugins;

/// How long a name may take to be looked up.
const LOOKUP_TIME: Duration = Duration::from_secs(5);

/// Whether names of hosts are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// As a connection would, so that the addresses are judged, too.
    LookedUp,
    /// The rules alone decide about names, on a machine that need not reach the hosts.
    AsWritten,
}

/// Who asks.
pub(super) struct Judge<'a> {
    environment: &'a Environment,
    shell: &'a Shell,
    policy: &'a Policy,
    names: Names,
    /// Why nothing runs in this folder, where the policy closes it.
    closed: Option<String>,
    /// Who calls over HTTP.
    pub(super) principal: Option<Principal>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(environment: &'a Environment, shell: &'a Shell, names: Names) -> Result<Self> {
        let policy = &shell.operator().loaded()?.policy;
        let closed = shell.operator().policy().err().map(|error| error.to_string());
        // From a folder that is closed nothing is asked for.
        let names = if closed.is_some() { Names::AsWritten } else { names };
        Ok(Self { environment, shell, policy, names, closed, principal: None })
    }

    /// What the policy says of serving over HTTP: who its tokens are for.
    pub(super) fn http(&self) -> &HttpPolicy {
        &self.policy.http
    }

    /// The decision; `profile` is that of commands.
    pub(super) fn verdict(&self, what: What, subject: &str, profile: &str) -> Result<Verdict> {
        let verdict = self.in_an_open_folder(what, subject, profile)?;
        Ok(self.closed(what).unwrap_or(verdict))
    }

    /// That nothing runs in this folder, where the policy closes it. Of workspaces the subject is a folder itself.
    pub(super) fn closed(&self, what: What) -> Option<Verdict> {
        self.closed.clone().filter(|_| what != What::Workspace).map(Verdict::denied)
    }

    fn in_an_open_folder(&self, what: What, subject: &str, profile: &str) -> Result<Verdict> {
        // As commands have it: `readonly` shows nothing that the default profile does not.
        let profile = || self.shell.operator().profile(profile);
        match what {
            What::Read => self.path(&*profile()?, subject, Access::Read),
            What::Write => self.path(&*profile()?, subject, Access::Write),
            What::Host => self.host(&*profile()?, subject),
            What::Url => self.url(subject),
            What::File => self.file(subject),
            What::Tool => self.tool(subject),
            What::Plugin => plugins::verdict(self.environment, &self.policy.plugins, subject),
            What::Workspace => self.workspace(subject),
            What::Command => {
                bail!("commands are not judged by their text; ask what they may read, write and reach")
            }
        }
    }

    fn tool(&self, subject: &str) -> Result<Verdict> {
        let known = self.environment.registry.names();
        // Which tools of plugins there are, which have a dot, depends on what is installed.
        if !subject.contains('.') && !known.contains(&subject) {
            let near = nearest(subject, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            bail!("there is no tool {subject:?}{near}");
        }
        let installed = Plugins::new(Arc::new(Operator::new(self.environment.site())));
        let original = installed.authors_name(subject);
        let because = match self.policy.tools.check_tool_as(subject, original.as_deref()) {
            Err(refusal) => return Ok(Verdict::denied(refusal.to_string())),
            Ok(rule) => format!("`allow` of [tools] has \"{}\" ({})", rule.value, rule.source),
        };
        let access =
            self.principal.as_ref().map(|who| self.policy.access.check(who, subject, original.as_deref()));
        let because = match access {
            Some(Err(denial)) => return Ok(Verdict::denied(denial.why)),
            Some(Ok(opened)) => format!("{because}; {opened}"),
            None => because,
        };
        let Some((plugin, _)) = subject.split_once('.') else { return Ok(Verdict::allowed(because)) };
        let plugin = plugins::named(self.environment, &self.policy.plugins, plugin)?;
        Ok(if plugin.allowed { Verdict::allowed(format!("{because}; {}", plugin.because)) } else { plugin })
    }

    /// The subject, as it is decided about.
    pub(super) fn shown(&self, what: What, subject: &str) -> String {
        match what {
            What::Read | What::Write | What::File | What::Workspace => {
                self.asked(subject).display().to_string()
            }
            What::Host => split_port(subject)
                .map_or_else(|_| subject.to_owned(), |(name, port)| format!("{name}:{port}")),
            _ => subject.to_owned(),
        }
    }

    fn path(&self, profile: &Profile, subject: &str, access: Access) -> Result<Verdict> {
        let path = self.asked(subject);
        let (places, resolved) = (self.shell.operator().places()?, without_links(&path));
        let verdict = if resolved.symlink_metadata().is_ok() {
            profile.why_existing(&resolved, access, &places)
        } else {
            profile.why_path(&resolved, access, &places)
        };
        if !verdict.allowed {
            return Ok(verdict);
        }
        // Rules that no line of the policy has, since they come from what lies in the folders.
        Ok(match self.shell.closes(profile, &resolved, access == Access::Write)? {
            Some(why) => Verdict::denied(format!("{} is closed (built-in): {why}", resolved.display())),
            None => verdict,
        })
    }

    /// The path that is asked about: in the home folder, in the workspace, or absolute.
    fn asked(&self, subject: &str) -> PathBuf {
        match (subject.strip_prefix("~/"), &self.environment.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.shell.operator().site().workspace.join(subject),
        }
    }

    fn host(&self, profile: &Profile, subject: &str) -> Result<Verdict> {
        let (name, port) = split_port(subject)?;
        Ok(match &profile.network.value {
            Network::Off => Verdict::denied(format!(
                "the network of profile {} is off ({})",
                profile.name, profile.network.source
            ))
            .unless(
                Some(format!(
                    "network = {{ mode = \"allowlist\", hosts = [\"…\"] }} in [shell.profile.{}]",
                    profile.name
                )),
                refusing(profile, name, port).origins.file,
            ),
            Network::Open => Verdict::allowed(format!(
                "the network of profile {} is open ({})",
                profile.name, profile.network.source
            )),
            Network::Allowlist { hosts, allow_private } => {
                let file = refusing(profile, name, port).origins.file;
                match HostRules::from(hosts.clone()).of(file).decide(name, port) {
                    HostDecision::Denied(denial) => Verdict::denied(format!(
                        "{denial} ({})",
                        refusing(profile, name, port).network.source
                    )),
                    HostDecision::Allowed(rule) => self.at_its_addresses(
                        name,
                        port,
                        allow_private,
                        &format!("{rule} is listed ({})", rule.source),
                    ),
                }
            }
        })
    }

    /// A host that is listed, where its addresses are.
    fn at_its_addresses(&self, name: &str, port: u16, private: &[NetworkRule], listed: &str) -> Verdict {
        let literal = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let found: Vec<IpAddr> = match (literal, self.names) {
            (Ok(address), _) => vec![address],
            (Err(_), Names::AsWritten) => Vec::new(),
            (Err(_), Names::LookedUp) => match SystemResolver::default().resolve(name, port, LOOKUP_TIME) {
                Ok(found) => found.iter().map(std::net::SocketAddr::ip).collect(),
                Err(error) => {
                    return Verdict::allowed(format!("{listed}; it cannot be looked up at present: {error}"));
                }
            },
        };
        let networks = private.iter().map(|rule| rule.network).collect();
        let addresses = AddressPolicy::new(networks, PRIVATE_KEY);
        for address in &found {
            if let Err(kind) = addresses.check(*address) {
                return Verdict::denied(format!(
                    "{listed}, but its address {address} is {kind}{}",
                    addresses.remedy(*address)
                ));
            }
        }
        let rule = private.iter().find(|rule| found.iter().any(|address| rule.contains(*address)));
        Verdict::allowed(match rule {
            Some(rule) => format!("{listed}; `allow_private` has {rule} ({})", rule.source),
            None => format!("{listed}; private addresses are refused even so"),
        })
    }

    fn url(&self, subject: &str) -> Result<Verdict> {
        let web = &self.policy.web;
        let router = Router::of_system(web.clone());
        let url = Router::parse(subject)?;
        match router.check_host(&url, None) {
            Err(error) => return Ok(Verdict::denied(error.to_string())),
            // What is an address already needs no look-up.
            Ok(WebVerdict::Allowed(rule)) if self.names == Names::AsWritten && !Router::is_address(&url) => {
                return Ok(Verdict::allowed(format!("`allow` of [web] has {rule} ({})", rule.source)));
            }
            Ok(WebVerdict::ByAddress) if self.names == Names::AsWritten => {
                return Ok(Verdict::denied(format!(
                    "`allow` of [web] ({}) has no name that covers {subject}; whether one of its networks does is \
                     not known without looking the name up",
                    web.allow_origin
                )));
            }
            Ok(_) => {}
        }
        Ok(match router.route(&url, None) {
            Err(error) => Verdict::denied(error.to_string()),
            Ok(route) => {
                let found: Vec<_> = route.addresses.iter().map(|address| address.ip().to_string()).collect();
                let at = if Router::is_address(&url) {
                    String::new()
                } else {
                    format!(", which is at {}", found.join(", "))
                };
                let private = web
                    .allow_private
                    .iter()
                    .find(|rule| route.addresses.iter().any(|address| rule.contains(address.ip())));
                let private = private.map(|rule| format!("; `allow_private` has {rule} ({})", rule.source));
                Verdict::allowed(format!(
                    "`allow` of [web] ({}) covers {}{at}{}",
                    web.allow_origin,
                    route.host,
                    private.unwrap_or_default()
                ))
            }
        })
    }

    fn file(&self, subject: &str) -> Result<Verdict> {
        let places = self.shell.operator().places()?;
        let files = &self.policy.files;
        let checked = files.check(&without_links(&self.asked(subject)), &places);
        Ok(said(
            checked.map_err(|denial| denial.to_string()).map(|folder| {
                format!("`read` of [files] ({}) covers {}", files.read_origin, folder.display())
            }),
        ))
    }

    fn workspace(&self, subject: &str) -> Result<Verdict> {
        let (workspaces, path) = (&self.policy.workspaces, without_links(&self.asked(subject)));
        // One without a path is where the server is started.
        let own = &self.shell.operator().site().workspace;
        let served = self.policy.served.iter().filter(|(_, served)| {
            let folder = served.path.as_ref().map_or(own.as_path(), Path::new);
            without_links(folder) == path
        });
        for (name, served) in served {
            let closed = self.principal.as_ref().filter(|who| !served.who.admits(who));
            if let Some(who) = closed {
                let why = format!("[workspace.{name}] ({}) is not for {}", served.source, who.name);
                return Ok(Verdict::denied(why));
            }
            if let Some(who) = &self.principal
                && workspaces.check(&path, &self.shell.operator().places()?).is_ok()
            {
                let why = format!("[workspace.{name}] ({}) is for {}", served.source, who.name);
                return Ok(Verdict::allowed(why));
            }
        }
        Ok(said(workspaces.check(&path, &self.shell.operator().places()?).map(
            |()| match &workspaces.allow {
                None => format!("[workspaces] has no `allow` ({})", workspaces.origin),
                Some(_) => {
                    format!("`allow` of [workspaces] ({}) covers {}", workspaces.origin, path.display())
                }
            },
        )))
    }
}

fn said(decided: Result<String, impl Display>) -> Verdict {
    decided.map_or_else(|why| Verdict::denied(why.to_string()), Verdict::allowed)
}

/// The profile whose list of hosts refuses one: the one for all users, where that does.
fn refusing<'p>(profile: &'p Profile, name: &str, port: u16) -> &'p Profile {
    let refuses = |profile: &&Profile| match &profile.network.value {
        Network::Off => true,
        Network::Open => false,
        Network::Allowlist { hosts, .. } => {
            matches!(HostRules::from(hosts.clone()).decide(name, port), HostDecision::Denied(_))
        }
    };
    profile.outer.as_deref().filter(refuses).unwrap_or(profile)
}

/// A host and its port; without one that of encrypted HTTP.
fn split_port(subject: &str) -> Result<(&str, u16)> {
    match subject.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            Ok((name, port.parse().with_context(|| format!("{port:?} is not a port"))?))
        }
        _ => Ok((subject, 443)),
    }
}
