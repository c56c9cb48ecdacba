//! The command `plugin why`: names the line that allows or denies a capability to a plugin.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use scorpiox_plugin::{Asks, Decisions, EnvAsk, PluginFolder, PluginName, Status};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, one_line};
use scorpiox_web::{Router, WebError};

use crate::cli::environment::Environment;
use scorpiox_capabilities::approved::Approved;
use scorpiox_capabilities::granted::decide;
use scorpiox_plugin_manager::install::{closed, standing};
use scorpiox_shell::Shell;
use scorpiox_tools::plugins::{grants, pins};
use scorpiox_wasi::Unwritable;
use scorpiox_workspace_config::Operator;

/// A capability of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub(in crate::cli) enum Subject {
    Store,
    Clock,
    Random,
    Ask,
    Sampling,
    Forms,
    Roots,
    Files,
    Env,
    Web,
    Shell,
}

impl Subject {
    /// Returns the name in `plugin.toml`.
    fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Clock => "clock",
            Self::Random => "random",
            Self::Ask => "ask",
            Self::Sampling => "sampling",
            Self::Forms => "forms",
            Self::Roots => "roots",
            Self::Files => "files",
            Self::Env => "env",
            Self::Web => "web",
            Self::Shell => "shell",
        }
    }
}

/// Maximum width of a plugin's reason.
const MAX_REASON: usize = 200;

/// `Ok` if it is allowed, `Err` if not. Both contain the reason.
type Verdict = Result<String, String>;

pub(super) fn run(
    environment: &Environment,
    name: &PluginName,
    subject: Subject,
    argument: Option<&str>,
) -> Result<ExitCode> {
    let installed = PluginFolder::new(&environment.own_home).find(name);
    let installed = installed.map_err(|why| anyhow!("there is no plugin {name} that can be used: {why}"))?;
    let decisions = Decisions::read(&environment.own_home)?;
    let status = Status::of(&installed, decisions.get(name));
    let operator = Arc::new(Operator::new(environment.site()));
    let (asks, folders) = match &status {
        Status::Approved(approval) if closed(&operator, name, approval).is_none() => {
            (approval.capabilities.clone(), approval.folders.clone())
        }
        other => {
            let standing = standing(&operator, name, other);
            let note = format!("{name} does not run ({standing}). If it ran as it is:");
            terminal::print(&Shown::line(&note));
            let asks = installed.manifest.capabilities.clone();
            let folders = pins(&asks, environment.home.as_deref())?;
            (asks, folders)
        }
    };
    let why = Why { environment, asks: &asks, approved: grants(&asks, &folders)?.1, operator };
    let verdicts = why.about(subject, argument)?;
    let mut is_allowed = false;
    for (what, verdict) in verdicts {
        // For a file, reading counts: permission to write is only additional information.
        is_allowed |= verdict.is_ok();
        let (word, why) = match verdict {
            Ok(why) => ("yes", why),
            Err(why) => ("no", why),
        };
        terminal::print(&Shown::line(&format!("{what}: {word}. {why}")));
    }
    Ok(if is_allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Why<'a> {
    environment: &'a Environment,
    asks: &'a Asks,
    approved: Approved,
    operator: Arc<Operator>,
}

impl Why<'_> {
    fn about(&self, subject: Subject, argument: Option<&str>) -> Result<Vec<(String, Verdict)>> {
        let needed = |what: &str| argument.ok_or_else(|| anyhow!("name the {what}"));
        Ok(match subject {
            Subject::Store
            | Subject::Clock
            | Subject::Random
            | Subject::Ask
            | Subject::Sampling
            | Subject::Forms
            | Subject::Roots => {
                let name = subject.name();
                if let Some(argument) = argument {
                    bail!("{name} is granted as a whole; leave out {argument:?}");
                }
                vec![(name.to_owned(), self.asked(name))]
            }
            Subject::Env => vec![self.variable(needed("variable")?)],
            Subject::Files => self.file(needed("file")?),
            Subject::Web => vec![self.host(needed("URL")?)],
            Subject::Shell => vec![self.commands()],
        })
    }

    /// Returns the approved capability of this name.
    fn asked(&self, name: &str) -> Verdict {
        let lines = self.asks.lines();
        let line = lines.iter().find(|ask| ask.name == name);
        let ask =
            line.ok_or_else(|| format!("plugin.toml has no [capabilities.{name}], so it is not given"))?;
        let parts = ask.details.iter().map(|(what, values)| format!("{what} {}", values.join(", ")));
        let details = parts.collect::<Vec<_>>().join("; ");
        let details = if details.is_empty() { String::new() } else { format!(": {details}") };
        let why = one_line(ask.why, MAX_REASON);
        Ok(format!("[capabilities.{name}] was approved{details}. Its reason: {why}"))
    }

    fn variable(&self, name: &str) -> (String, Verdict) {
        let verdict = self.asked("env").and_then(|line| {
            let is_secret = |env: &EnvAsk| env.secrets.iter().any(|secret| secret.as_str() == name);
            let is_granted = self.approved.env.iter().any(|own| own == name);
            if is_granted || self.asks.env.as_ref().is_some_and(is_secret) {
                Ok(line)
            } else {
                Err(format!("{line}; {name} is none of them"))
            }
        });
        (format!("variable {name}"), verdict)
    }

    fn file(&self, path: &str) -> Vec<(String, Verdict)> {
        let at_home = path.strip_prefix("~/").zip(self.environment.home.as_ref());
        let asked = at_home
            .map_or_else(|| self.environment.workspace.path.join(path), |(path, home)| home.join(path));
        let resolved = scorpiox_fs::without_links(&asked);
        let site = self.operator.site();
        let roots = self.approved.present(&site.workspace);
        let about = |what: &str, write: bool| {
            let verdict = self.asked("files").and_then(|line| {
                let places = self.operator.places().map_err(|error| error.to_string())?;
                let decided = decide(&self.operator, &places, &roots, &resolved, write);
                let guarded =
                    || Unwritable::look(&Shell::new(Arc::clone(&self.operator)), &roots).check(&resolved);
                decided.and_then(|_| if write { guarded() } else { Ok(()) }).map(|()| line).map_err(
                    |denial| {
                        let around = resolved
                            .parent()
                            .map(|around| decide(&self.operator, &places, &roots, around, false));
                        let is_listed = !write && around.is_some_and(|decided| decided.is_ok());
                        let listed = if is_listed {
                            ". A listing of its folder shows its name and kind alone"
                        } else {
                            ""
                        };
                        format!("{denial}{listed}")
                    },
                )
            });
            (format!("{what} {}", resolved.display()), verdict)
        };
        vec![about("read", false), about("write", true)]
    }

    fn host(&self, target: &str) -> (String, Verdict) {
        let url = if target.contains("://") { target.to_owned() } else { format!("https://{target}/") };
        let verdict = self.asked("web").and_then(|line| {
            let policy = self.operator.policy().map_err(|error| error.to_string())?;
            let router = Router::of_system(policy.web.clone());
            let url = Router::parse(&url).map_err(|error| error.to_string())?;
            let only = self.approved.hosts.as_deref();
            router.check_host(&url, only).map_err(|error| error.to_string())?;
            match router.route(&url, only) {
                Ok(_) => Ok(line),
                Err(WebError::Denied(why)) => Err(why),
                // The name is allowed. Whether the host exists is a different question.
                Err(error) => Ok(format!("{line}. But now: {error}")),
            }
        });
        (format!("request to {url}"), verdict)
    }

    fn commands(&self) -> (String, Verdict) {
        let verdict = self.asked("shell").and_then(|line| {
            let policy = self.operator.policy().map_err(|error| error.to_string())?;
            let profile = self.approved.profile.as_deref().unwrap_or_default();
            if !policy.shell.profiles.contains_key(profile) {
                let known: Vec<_> = policy.shell.profiles.keys().map(String::as_str).collect();
                return Err(format!(
                    "{line}; the policy has no profile {profile}, only {}",
                    known.join(", ")
                ));
            }
            Ok(format!("{line}. `scorpiox-code policy why` says what the profile {profile} allows"))
        });
        ("commands".to_owned(), verdict)
    }
}
