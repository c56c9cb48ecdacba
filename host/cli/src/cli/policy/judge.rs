//! Verdicts of the policy about a path, host, tool or directory, equal to those for a call.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_policy::access::{HttpPolicy, Principal};
use scorpiox_policy::{
    Access, Channel, Circumstances, Denial, HostDecision, HostRules, LocalRule, Network, Policy, Profile,
    Then, Verdict, WebVerdict,
};
use scorpiox_server::because_read;
use scorpiox_text::nearest;
use scorpiox_web::Router;

use super::calls::{Answering, effect};
use super::tools::Tools;
use super::{What, plugins, reads};
use crate::cli::environment::Environment;
use scorpiox_fs::{Trail, without_links};
use scorpiox_shell::{Shell, reach};
use scorpiox_workspace_config::Operator;

/// Ports of programs that know proxies.
const WEB_PORTS: [u16; 2] = [80, 443];
/// Limit of a host that is allowed on another port.
const BY_PROXY: &str = "; it is reached through the proxy in `ALL_PROXY`, so a program that knows no proxy, such as \
                        psql, does not reach it";

/// Reason why a rule that asks refuses calls.
pub(super) const NO_APPROVER: &str =
    "no approver in the policy may give it ([approvers]); over HTTP, `self = true` lets the caller";

/// Treatment of host names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Resolve names like a connection, so that their addresses are checked too.
    LookedUp,
    /// Decide by the rules only, for machines that cannot reach the hosts.
    AsWritten,
}

/// Answers questions under a policy.
pub(super) struct Judge<'a> {
    environment: &'a Environment,
    shell: &'a Shell,
    policy: &'a Policy,
    names: Names,
    /// Reason why nothing runs in this workspace, if the policy closes it.
    closed: Option<String>,
    /// The caller over HTTP.
    pub(super) principal: Option<Principal>,
    /// Properties of tools, which are the same for all questions.
    pub(super) tools: Rc<Tools>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(environment: &'a Environment, shell: &'a Shell, names: Names) -> Result<Self> {
        let policy = &shell.operator().loaded()?.policy;
        let closed = shell.operator().policy().err().map(|error| error.to_string());
        // Nothing can be reached from a closed workspace, so no names are resolved.
        let names = if closed.is_some() { Names::AsWritten } else { names };
        Ok(Self { environment, shell, policy, names, closed, principal: None, tools: Rc::default() })
    }

    /// Returns the policy for clients over HTTP, with the owners of its tokens.
    pub(super) fn http(&self) -> &HttpPolicy {
        &self.policy.http
    }

    /// Returns the verdict. `profile` is the profile of commands.
    pub(super) fn verdict(&self, what: What, subject: &str, profile: &str) -> Result<Verdict> {
        let verdict = self.in_an_open_folder(what, subject, profile)?;
        Ok(self.closed(what).unwrap_or(verdict))
    }

    /// Returns a denial if the policy closes this workspace. Questions about workspaces have their own check.
    pub(super) fn closed(&self, what: What) -> Option<Verdict> {
        self.closed.clone().filter(|_| what != What::Workspace).map(Verdict::denied)
    }

    /// Returns the verdict as if the policy opened this workspace.
    pub(super) fn in_an_open_folder(&self, what: What, subject: &str, profile: &str) -> Result<Verdict> {
        // The profile that commands get: `readonly` shows at most what the default profile shows.
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
            What::Call => bail!("a call is judged with its arguments"),
            What::Command => {
                bail!("commands are not judged by their text; ask what they may read, write and reach")
            }
        }
    }

    /// Returns the policy.
    pub(super) fn policy(&self) -> &Policy {
        self.policy
    }

    /// Returns the policy with the workspace that it is applied to.
    pub(super) fn operator(&self) -> &Operator {
        self.shell.operator()
    }

    /// Returns the circumstances of a call of a tool by a client.
    pub(super) fn circumstances(&self, tool: &str, client: Option<&str>) -> Result<Circumstances> {
        let operator = self.operator();
        let mut circumstances = match self.names {
            Names::LookedUp => reads::circumstances(self.environment, operator, self.principal.as_ref())?,
            // Cases name what was read.
            Names::AsWritten => operator.circumstances(None, self.principal.clone().map(Arc::new))?,
        };
        circumstances.client = client.map(Arc::from);
        self.tools.add_reads(self.environment, self.policy, tool, &mut circumstances.read_before);
        Ok(circumstances)
    }

    /// Returns the name that its author gave a tool of a plugin, if it was renamed.
    pub(super) fn authors_name(&self, tool: &str) -> Option<String> {
        self.tools.authors_name(self.environment, tool)
    }

    /// Returns the hash of the plugin that a tool belongs to; empty for a built-in tool.
    pub(super) fn component(&self, tool: &str) -> String {
        self.tools.component(self.environment, tool)
    }

    /// Returns why a tool may be called as far as `[tools]` and `[access]` decide, or the denial.
    pub(super) fn open_tool(&self, subject: &str) -> Result<std::result::Result<String, Verdict>> {
        let known = self.environment.registry.names();
        // Tools of plugins, which have a dot in their names, depend on the installed plugins.
        if !subject.contains('.') && !known.contains(&subject) {
            let near = nearest(subject, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            bail!("there is no tool {subject:?}{near}");
        }
        // Cases and changes are about the policy alone.
        let off = (self.names == Names::LookedUp).then(|| self.switched_off(subject)).flatten();
        if let Some(off) = off {
            return Ok(Err(Verdict::denied(off)));
        }
        let original = self.authors_name(subject);
        let because = match self.policy.tools.check_tool_as(subject, original.as_deref()) {
            Err(refusal) => return Ok(Err(Verdict::denied(refusal.to_string()))),
            Ok(rule) => format!("`allow` of [tools] has \"{}\" ({})", rule.value, rule.source),
        };
        let access =
            self.principal.as_ref().map(|who| self.policy.access.check(who, subject, original.as_deref()));
        let because = match access {
            Some(Err(denial)) => return Ok(Err(Verdict::denied(denial.why))),
            Some(Ok(opened)) => format!("{because}; {opened}"),
            None => because,
        };
        let Some((plugin, _)) = subject.split_once('.') else { return Ok(Ok(because)) };
        let plugin = plugins::named(self.environment, &self.policy.plugins, plugin)?;
        Ok(if plugin.allowed { Ok(format!("{because}; {}", plugin.because)) } else { Err(plugin) })
    }

    fn tool(&self, subject: &str) -> Result<Verdict> {
        let because = match self.open_tool(subject)? {
            Ok(because) => because,
            Err(denied) => return Ok(denied),
        };
        let original = self.authors_name(subject);
        let because = match self.ruled(subject, original.as_deref(), because)? {
            Ok(because) => because,
            Err(denied) => return Ok(denied),
        };
        Ok(Verdict::allowed(because))
    }

    /// Returns the setting that switches a tool off, whatever the policy says.
    pub(super) fn switched_off(&self, tool: &str) -> Option<String> {
        let settings = &self.environment.settings;
        if settings.tool_enabled(tool) {
            return None;
        }
        let own = format!("TOOL_{}", tool.to_ascii_uppercase());
        let key = if settings.tools_enabled() { &*own } else { "TOOLS" };
        let origin = settings.entries().find(|entry| entry.key == key).map(|entry| entry.origin);
        let origin = origin.map_or_else(String::new, |origin| format!(" ({origin})"));
        Some(format!("the setting {key} switches {tool} off{origin}; the policy does not decide about it"))
    }

    /// Adds what rules about single calls decide, or returns the verdict of a rule that refuses every call.
    fn ruled(
        &self,
        tool: &str,
        original: Option<&str>,
        mut because: String,
    ) -> Result<std::result::Result<String, Verdict>> {
        let operator = self.shell.operator();
        let (places, circumstances) = (operator.places()?, self.circumstances(tool, None)?);
        let answering = Answering { approvers: &self.policy.approvers, principal: self.principal.as_ref() };
        for rule in self.policy.calls.about(tool, original, &circumstances, &places) {
            let denies = rule.then == Then::Deny || !answering.is_answered(rule);
            let after = because_read(&rule.conditions, &circumstances.read_before).unwrap_or_default();
            let effect = format!("{rule} {}{after}", effect(rule, answering));
            if denies && rule.covers_every_call() && !rule.reports {
                return Ok(Err(Verdict::denied(effect)));
            }
            because = format!("{because}; {effect}");
        }
        Ok(Ok(because))
    }

    /// Formats the subject in the form that the policy evaluates.
    pub(super) fn shown(&self, what: What, subject: &str) -> String {
        match what {
            What::Read | What::Write | What::File => self.asked(subject).display().to_string(),
            What::Workspace => self.folder(subject).display().to_string(),
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
            let seen =
                if access == Access::Read { self.shell.sees_in_etc(profile, &resolved)? } else { None };
            return Ok(seen.map_or(verdict, Verdict::allowed));
        }
        // These built-in rules depend on the content of the directories, so no policy line contains them.
        Ok(match self.shell.closes(profile, &resolved, access == Access::Write)? {
            Some(why) => Verdict::denied(format!("{} is closed (built-in): {why}", resolved.display())),
            None => verdict,
        })
    }

    /// Returns the path in question: in the home directory, in the workspace, or absolute.
    pub(super) fn asked(&self, subject: &str) -> PathBuf {
        self.asked_from(&self.shell.operator().site().workspace, subject)
    }

    /// Returns the directory that a server would be started for. A relative path starts at the working
    /// directory, even if that is not a project.
    fn folder(&self, subject: &str) -> PathBuf {
        let here = self.environment.workspace.instead_of.as_ref();
        without_links(&self.asked_from(here.unwrap_or(&self.shell.operator().site().workspace), subject))
    }

    fn asked_from(&self, folder: &Path, subject: &str) -> PathBuf {
        let in_home = subject.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match (in_home, &self.environment.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => folder.join(subject),
        }
    }

    fn host(&self, profile: &Profile, subject: &str) -> Result<Verdict> {
        if let Some(verdict) = local(profile, subject) {
            return Ok(verdict);
        }
        let (name, port) = split_port(subject)?;
        let (at, network) = (&profile.name, &profile.network);
        let refusing = refusing(profile, name, port);
        Ok(match &network.value {
            Network::Off => {
                let line = HostRules::entry(name, port).map(|entry| {
                    let listed = format!("mode = \"allowlist\", hosts = [\"{entry}\"]");
                    format!("network = {{ {listed} }} in [shell.profile.{at}]")
                });
                let off = Verdict::denied(format!("the network of profile {at} is off ({})", network.source));
                off.unless(line, refusing.origins.file)
            }
            Network::Open => {
                Verdict::allowed(format!("the network of profile {at} is open ({})", network.source))
            }
            Network::Allowlist { hosts, allow_private } => {
                match HostRules::from(hosts.clone())
                    .of(&refusing.name, refusing.origins.file)
                    .decide(name, port)
                {
                    HostDecision::Denied(denial) => {
                        let unknown = &profile.unknown_hosts;
                        let rule = profile.host_rule();
                        let rule = rule.filter(|_| matches!(denial, Denial::NotListed { .. }));
                        let asked = rule.map_or_else(String::new, |rule| {
                            let who = match rule.channel_for(self.principal.is_some()) {
                                Channel::Strong => "an approver",
                                Channel::Weak => "a person",
                            };
                            format!("; {who} is asked about it ({})", unknown.source)
                        });
                        Verdict::denied(format!("{denial} ({}){asked}", refusing.network.source))
                    }
                    HostDecision::Allowed(rule) => {
                        let listed = format!("{rule} is listed ({})", rule.source);
                        let looks_up = self.names == Names::LookedUp;
                        let verdict = reach::at_its_addresses((name, port), allow_private, &listed, looks_up);
                        let note = if WEB_PORTS.contains(&port) { "" } else { BY_PROXY };
                        let because = if verdict.allowed { verdict.because + note } else { verdict.because };
                        Verdict { because, ..verdict }
                    }
                }
            }
        })
    }

    fn url(&self, subject: &str) -> Result<Verdict> {
        let web = &self.policy.web;
        let router = Router::of_system(web.clone());
        let url = Router::parse(subject)?;
        match router.check_host(&url, None) {
            Err(error) => return Ok(Verdict::denied(error.to_string())),
            // A literal address needs no lookup.
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
        let (files, asked) = (&self.policy.files, self.asked(subject));
        // As a tool judges: a rule that denies any of the names on the way denies the file.
        let forms = Trail::follow(&asked).map_or_else(|_| vec![asked.clone()], |trail| trail.forms);
        let checked = forms.iter().try_for_each(|form| files.check_denied(form, &[], &places));
        let checked = checked.and_then(|()| files.check(&without_links(&asked), &places));
        Ok(said(
            checked.map_err(|denial| denial.to_string()).map(|folder| {
                format!("`read` of [files] ({}) covers {}", files.read_origin, folder.display())
            }),
        ))
    }

    /// Returns the rule that also closes the folder on which a server works instead of `path`.
    fn instead_of(&self, path: &Path) -> Result<String> {
        let Some(instead) = self.environment.workspace_instead_of(path) else { return Ok(String::new()) };
        let checked = self.policy.workspaces.check(&instead, &self.shell.operator().places()?);
        Ok(checked.err().map_or_else(String::new, |why| format!(", and refuses every tool there: {why}")))
    }

    fn workspace(&self, subject: &str) -> Result<Verdict> {
        let (workspaces, path) = (&self.policy.workspaces, self.folder(subject));
        if let Some(why) = self.environment.why_not_workspace(&path) {
            return Ok(Verdict::denied(why + &self.instead_of(&path)?));
        }
        // A served workspace without a path is the server's own workspace.
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
        let missing = self.names == Names::LookedUp && !path.is_dir();
        let missing = if missing { "; there is no such folder on this machine" } else { "" };
        let checked = workspaces.check(&path, &self.shell.operator().places()?);
        let rule = match workspaces.allow {
            None => format!("[workspaces] has no `allow` ({})", workspaces.origin),
            Some(_) => format!("`allow` of [workspaces] ({}) covers {}", workspaces.origin, path.display()),
        };
        Ok(said(checked.map(|()| rule + missing)))
    }
}

fn said(decided: Result<String, impl Display>) -> Verdict {
    decided.map_or_else(|why| Verdict::denied(why.to_string()), Verdict::allowed)
}

/// Decides about a service of the machine. Returns `None` for everything that may be a host of the network.
fn local(profile: &Profile, subject: &str) -> Option<Verdict> {
    let is_path = subject.starts_with("unix:");
    let service = match LocalRule::parse(subject, profile.origins.local) {
        Ok(rule) => rule.service,
        Err(invalid) if is_path => return Some(Verdict::denied(invalid.to_string())),
        Err(_) => return None,
    };
    let (at, lists) =
        (&profile.name, |profile: &Profile| profile.local.iter().any(|rule| rule.service == service));
    if let Some(rule) = profile.local.iter().find(|rule| rule.service == service) {
        let because =
            format!("`local` of profile {at} has {service} ({}), in the sandboxes T1 and T1b", rule.source);
        return Some(Verdict::allowed(because));
    }
    // A port can also be a host of the network.
    if !is_path {
        return None;
    }
    let refusing = profile.outer.as_deref().filter(|outer| !lists(outer)).unwrap_or(profile);
    let listed = refusing.local.iter().map(|rule| &rule.service).chain([&service]);
    let listed: Vec<_> = listed.map(|service| format!("{:?}", service.to_string())).collect();
    let line = format!("local = [{}] in [shell.profile.{at}]", listed.join(", "));
    let denied =
        Verdict::denied(format!("`local` of profile {at} ({}) lacks {service}", refusing.origins.local));
    Some(denied.unless((!profile.is_read_only()).then_some(line), refusing.origins.file))
}

/// Returns the profile whose host list refuses the host: of those that narrow each other, the outermost that does.
fn refusing<'p>(profile: &'p Profile, name: &str, port: u16) -> &'p Profile {
    let refuses = |profile: &&Profile| match &profile.network.value {
        Network::Off => true,
        Network::Open => false,
        Network::Allowlist { hosts, .. } => {
            matches!(HostRules::from(hosts.clone()).decide(name, port), HostDecision::Denied(_))
        }
    };
    let all = std::iter::successors(Some(profile), |profile| profile.outer.as_deref());
    all.filter(refuses).last().unwrap_or(profile)
}

/// Splits a host and its port. The default is the port of HTTPS.
fn split_port(subject: &str) -> Result<(&str, u16)> {
    ensure!(
        !subject.contains("://"),
        "{subject:?} is a URL; ask about the host in it, such as example.com, or with `policy why url`"
    );
    match subject.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            Ok((name, port.parse().with_context(|| format!("{port:?} is not a port"))?))
        }
        _ => Ok((subject, 443)),
    }
}
