//! `scorpiox-code policy`: what holds, and why.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use scorpiox_policy::{Access, HostDecision, HostRules, Network, Policy, Profile, Verdict, render};

use scorpiox_web::{Fetcher, Router};

use super::environment::Environment;
use super::quote::Shown;
use super::terminal;
use crate::capabilities::shell::{DEFAULT_PROFILE, Shell, ShellSetup};
use crate::capabilities::skills::SkillFolders;

#[derive(Subcommand)]
pub(super) enum PolicyCommand {
    /// Show everything that holds, and which line says so
    Show,
    /// Check policy.toml: the file, line and fix of what is wrong
    Check {
        /// Another file than the one in use
        file: Option<PathBuf>,
    },
    /// Say which line decides about a path, a host or a command
    Why {
        /// What is asked about
        what: What,
        /// The path, the host (with :port) or the command
        subject: String,
        /// The profile
        #[arg(long, default_value = DEFAULT_PROFILE)]
        profile: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum What {
    /// Reading a path
    Read,
    /// Writing a path
    Write,
    /// Reaching a host
    Host,
    /// Running a command
    Command,
    /// Fetching a page
    Url,
    /// Reading a file with a tool such as `ReadImage`
    File,
}

pub(super) fn run(environment: &Environment, command: PolicyCommand) -> Result<ExitCode> {
    let own = environment.own_home.join("policy.toml");
    match command {
        PolicyCommand::Show => {
            let policy = Policy::load(&own)?;
            let origin =
                if own.exists() { own.display().to_string() } else { "built-in defaults".to_owned() };
            terminal::print(&Shown::line(&format!("# {origin}")).and(&Shown::text(&render(&policy))));
            Ok(ExitCode::SUCCESS)
        }
        PolicyCommand::Check { file } => check(&file.unwrap_or(own)),
        PolicyCommand::Why { what, subject, profile } => {
            let policy = Policy::load(&own)?;
            let shell = Shell::new(setup(environment));
            // As commands have it: `readonly` shows nothing that the default profile does not.
            let profile = &*shell.profile(&profile)?;
            match what {
                What::Read => path(environment, &shell, profile, &subject, Access::Read),
                What::Write => path(environment, &shell, profile, &subject, Access::Write),
                What::Host => host(profile, &subject),
                What::Url => Ok(url(&policy, &subject)),
                What::File => file(environment, &shell, &policy, &subject),
                What::Command => describe_command(&shell, &policy, profile, &subject),
            }
        }
    }
}

fn check(file: &Path) -> Result<ExitCode> {
    if !file.exists() {
        let text = format!("{} does not exist; the built-in defaults hold.", file.display());
        terminal::print(&Shown::line(&text));
        return Ok(ExitCode::SUCCESS);
    }
    let policy = Policy::load(file)?;
    terminal::print(&Shown::line(&format!(
        "{} is valid: {} profiles, {} grants.",
        file.display(),
        policy.shell.profiles.len(),
        policy.grants.len()
    )));
    Ok(ExitCode::SUCCESS)
}

fn path(
    environment: &Environment,
    shell: &Shell,
    profile: &Profile,
    subject: &str,
    access: Access,
) -> Result<ExitCode> {
    let path = asked(environment, subject);
    let (places, resolved) = (shell.places()?, resolve(&path));
    let verdict = if resolved.symlink_metadata().is_ok() {
        profile.why_existing(&resolved, access, &places)
    } else {
        profile.why_path(&resolved, access, &places)
    };
    // Rules that no line of the policy has, since they come from what lies in the folders.
    let closed =
        if verdict.allowed { shell.closes(profile, &resolved, access == Access::Write)? } else { None };
    let verdict = match closed {
        Some(why) => {
            let because = format!("{} is closed (built-in): {why}", resolved.display());
            Verdict { allowed: false, because, would_allow: None }
        }
        None => verdict,
    };
    Ok(print(&verdict, &path.display().to_string()))
}

/// The path that is asked about: in the home folder, in the workspace, or absolute.
fn asked(environment: &Environment, subject: &str) -> PathBuf {
    match (subject.strip_prefix("~/"), &environment.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => environment.workspace.path.join(subject),
    }
}

/// The path without links, as far as it exists.
pub(super) fn resolve(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(found) = existing.canonicalize() {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                existing = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

fn host(profile: &Profile, subject: &str) -> Result<ExitCode> {
    let (name, port) = match subject.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, port.parse()?),
        _ => (subject, 443),
    };
    let verdict = match &profile.network.value {
        Network::Off => Verdict {
            allowed: false,
            because: format!("the network of profile {} is off ({})", profile.name, profile.network.source),
            would_allow: Some("network = { mode = \"allowlist\", hosts = [\"…\"] }".to_owned()),
        },
        Network::Open => Verdict {
            allowed: true,
            because: format!("the network of profile {} is open ({})", profile.name, profile.network.source),
            would_allow: None,
        },
        Network::Allowlist { hosts } => match HostRules::from(hosts.clone()).decide(name, port) {
            HostDecision::Allowed(rule) => Verdict {
                allowed: true,
                because: format!("{rule} is listed ({}); private addresses are refused even so", rule.source),
                would_allow: None,
            },
            HostDecision::Denied(denial) => {
                Verdict { allowed: false, because: denial.to_string(), would_allow: None }
            }
        },
    };
    Ok(print(&verdict, &format!("{name}:{port}")))
}

fn url(policy: &Policy, subject: &str) -> ExitCode {
    let fetcher = Fetcher::new(policy.web.clone());
    let route = Router::parse(subject).and_then(|url| fetcher.router().route(&url, None));
    let (allowed, because) = match route {
        Ok(route) => {
            let addresses: Vec<_> = route.addresses.iter().map(|address| address.ip().to_string()).collect();
            let private = policy
                .web
                .allow_private
                .iter()
                .find(|rule| route.addresses.iter().any(|address| rule.contains(address.ip())));
            let private = private.map(|rule| format!("; `allow_private` has {rule} ({})", rule.source));
            let because = format!(
                "`allow` of [web] ({}) covers {}, which is at {}{}",
                policy.web.allow_origin,
                route.host,
                addresses.join(", "),
                private.unwrap_or_default()
            );
            (true, because)
        }
        Err(error) => (false, error.to_string()),
    };
    print(&Verdict { allowed, because, would_allow: None }, subject)
}

fn file(environment: &Environment, shell: &Shell, policy: &Policy, subject: &str) -> Result<ExitCode> {
    let places = shell.places()?;
    let path = resolve(&asked(environment, subject));
    let (allowed, because) = match policy.files.check(&path, &places) {
        Ok(folder) => {
            let origin = policy.files.read_origin;
            (true, format!("`read` of [files] ({origin}) covers {}", folder.display()))
        }
        Err(denial) => (false, denial.to_string()),
    };
    Ok(print(&Verdict { allowed, because, would_allow: None }, &path.display().to_string()))
}

fn describe_command(shell: &Shell, policy: &Policy, profile: &Profile, command: &str) -> Result<ExitCode> {
    let tier = shell.tier()?;
    shell.shut_down();
    let Policy { shell: rules, .. } = policy;
    let first = format!("`{command}` is allowed: commands are not judged by their text. It runs");
    terminal::print(&Shown::line(&first).and(&Shown::lines(&format!(
        "\
         - in a sandbox of tier {tier}; at least {} is asked for ({})\n\
         - under profile {} ({}), whose network is {} ({})\n\
         - for at most {} ms unless the call says otherwise ({}), and never more than {} ms ({})\n\
         `policy why read|write PATH` and `policy why host NAME` say what it may touch.\n",
        rules.min_tier.value,
        rules.min_tier.source,
        profile.name,
        profile.origins.profile,
        profile.network.value,
        profile.network.source,
        rules.default_timeout.value.as_millis(),
        rules.default_timeout.source,
        rules.max_timeout.value.as_millis(),
        rules.max_timeout.source,
    ))));
    Ok(ExitCode::SUCCESS)
}

fn print(verdict: &Verdict, subject: &str) -> ExitCode {
    let word = if verdict.allowed { "allowed" } else { "denied" };
    let mut shown = Shown::line(&format!("{subject}: {word}: {}", verdict.because));
    if let Some(line) = &verdict.would_allow {
        shown = shown.and(&Shown::line(&format!("  to allow it: {line}")));
    }
    terminal::print(&shown);
    if verdict.allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub(super) fn setup(environment: &Environment) -> ShellSetup {
    ShellSetup {
        workspace: environment.workspace.path.clone(),
        workspace_name: environment.workspace.name(),
        home: environment.home.clone(),
        own_home: environment.own_home.clone(),
        skills: Arc::new(SkillFolders::new(
            &environment.workspace.path,
            environment.home.as_deref(),
            &environment.own_home,
            environment.settings.additional_skills(),
        )),
    }
}
