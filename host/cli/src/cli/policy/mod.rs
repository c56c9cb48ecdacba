//! The command `scorpiox-code policy`: shows and explains the effective policy.

mod ask;
mod calls;
mod check;
mod diff;
pub(in crate::cli) mod edit;
mod init;
mod judge;
mod outside;
mod plugins;
mod reads;
mod replay;
mod show;
mod suggest;
mod test;
mod tools;
mod unused;
mod why;

pub(super) use edit::allow_hosts;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand, ValueEnum};
use scorpiox_policy::access::{HttpPolicy, Principal};
use scorpiox_policy::{Circumstances, Loaded, Policy, ReadBefore, seen_note};
use scorpiox_server::because_read;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_workspace_config::Operator;

use super::environment::Environment;
use scorpiox_shell::Shell;

pub(super) use calls::effects;
pub(super) use init::Example;

#[derive(Subcommand)]
pub(super) enum PolicyCommand {
    /// Show what the policy files come to, with the file and line of each value
    Show {
        /// Also show the values that are built in
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        caller: Caller,
    },
    /// Check the policy: print the file, line and fix of each mistake, and notes on likely unintended rules
    Check {
        /// Check this file instead of those in use
        file: Option<PathBuf>,
        /// Check the file as the administrator's, for all users of a machine
        #[arg(long, requires = "file")]
        for_all_users: bool,
        /// Exit with code 1 if there are notes
        #[arg(long)]
        strict: bool,
    },
    /// Show which line decides about a path, a host, a tool or a command
    Why(why::Question),
    /// Check that the policy decides as a file of cases expects, with one case per line: `deny read .env`
    #[command(after_help = test::HELP)]
    Test {
        /// The file of cases
        cases: PathBuf,
        /// Use this file instead of the policy in use
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Allow an access in your policy.toml, show the change, and keep its comments
    #[command(after_help = edit::HELP)]
    Allow(edit::Wish),
    /// Deny an access in your policy.toml, show the change, and keep its comments
    #[command(after_help = edit::HELP)]
    Deny(edit::Wish),
    /// Have a person asked about an access, by a change of your policy.toml
    #[command(after_help = ask::HELP)]
    Ask(ask::Wish),
    /// Suggest the smallest changes that would have allowed what the audit has as refused
    #[command(after_help = suggest::HELP)]
    Suggest(suggest::Chosen),
    /// Judge the calls that the audit has under the policy as it is now, or another file, and show what would change
    #[command(after_help = replay::HELP)]
    Replay(replay::Chosen),
    /// Show how the policy in use differs from the built-in one, or from another file
    Diff {
        /// The file to compare with the policy in use
        file: Option<PathBuf>,
    },
    /// Write a first policy.toml from an example
    Init {
        /// Write this example, without asking
        #[arg(long, value_name = "EXAMPLE")]
        example: Option<Example>,
        /// Print it instead of writing it
        #[arg(long)]
        print: bool,
    },
    /// Accept that a policy.toml that was in use here no longer exists
    Forget,
    /// Forget which files were read in this workspace, for rules and restrictions with `after`
    Clear {
        /// Forget it for all callers over HTTP, and for the clients of this machine
        #[arg(long, conflicts_with = "name")]
        everyone: bool,
        #[command(flatten)]
        caller: Caller,
    },
}

/// The caller of a tool over HTTP.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(super) struct Caller {
    /// Answer for this principal over HTTP: its access to tools and workspaces, and the restrictions that hold for it
    #[arg(long = "as", value_name = "PRINCIPAL")]
    name: Option<String>,
    /// An additional scope of the principal's token; can be given several times
    #[arg(long, requires = "name")]
    scope: Vec<String>,
    /// An additional group of the principal; can be given several times
    #[arg(long, requires = "name")]
    group: Vec<String>,
}

impl Caller {
    /// Returns the principal, with the scopes and groups from the policy and from the options.
    fn principal(&self, http: &HttpPolicy) -> Option<Principal> {
        let mut principal = http.principal(self.name.as_ref()?);
        principal.scopes.extend(self.scope.iter().cloned());
        principal.groups.extend(self.group.iter().cloned());
        Some(principal)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum What {
    /// Reading a path in a command
    Read,
    /// Writing a path in a command
    Write,
    /// Reaching a host from a command
    Host,
    /// Running a command
    Command,
    /// Fetching a page
    Url,
    /// Reading a file with a tool such as `ReadImage`
    File,
    /// Calling a tool
    Tool,
    /// Calling a tool with these arguments
    Call,
    /// Running a plugin, by NAME or NAME@sha256:HASH
    Plugin,
    /// Working in a folder
    Workspace,
}

/// Exit code if there is no decision. A denial is 1.
const NO_DECISION: u8 = 2;
/// Tool that runs commands.
const BASH: &str = "Bash";

pub(super) fn run(environment: &Environment, command: PolicyCommand) -> ExitCode {
    carry_out(environment, command).unwrap_or_else(|error| {
        terminal::complain(&format!("scorpiox-code: {error:#}"));
        ExitCode::from(NO_DECISION)
    })
}

fn carry_out(environment: &Environment, command: PolicyCommand) -> Result<ExitCode> {
    match command {
        PolicyCommand::Show { all, caller } => show::run(environment, &caller, all),
        PolicyCommand::Check { file, for_all_users, strict } => {
            check::run(environment, file.as_deref().map(|file| (file, for_all_users)), strict)
        }
        PolicyCommand::Why(question) => why::run(environment, question),
        PolicyCommand::Test { cases, policy } => test::run(environment, &cases, policy.as_deref()),
        PolicyCommand::Replay(chosen) => replay::run(environment, &chosen),
        PolicyCommand::Diff { file } => diff::run(environment, file.as_deref()),
        PolicyCommand::Allow(wish) => edit::run(environment, &wish, true),
        PolicyCommand::Deny(wish) => edit::run(environment, &wish, false),
        PolicyCommand::Ask(wish) => ask::run(environment, &wish),
        PolicyCommand::Suggest(chosen) => suggest::run(environment, &chosen),
        PolicyCommand::Init { example, print } => init::run(environment, example, print),
        PolicyCommand::Forget => forget(environment),
        PolicyCommand::Clear { everyone, caller } => reads::clear(environment, &caller, everyone),
    }
}

fn forget(environment: &Environment) -> Result<ExitCode> {
    let own = environment.site().own_policy();
    ensure!(own.symlink_metadata().is_err(), "{} exists and is in use", own.display());
    let note = seen_note(&own);
    match fs::remove_file(&note) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            terminal::print(&Shown::line("There is nothing to forget: no policy.toml was in use here."));
        }
        done => {
            done.with_context(|| format!("{} cannot be removed", note.display()))?;
            let done = "Servers use no policy.toml from their next call on.";
            terminal::print(&Shown::line(done));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the shell, which decides about the access of commands.
fn shell(environment: &Environment) -> Shell {
    Shell::new(Arc::new(Operator::new(environment.site())))
}

/// Returns a shell under the restrictions of the policy that hold for a caller, and the caller over HTTP. `reads` adds
/// the files that count as read now.
fn shell_for(
    environment: &Environment,
    caller: &Caller,
    reads: impl FnOnce(&Policy, &mut ReadBefore),
) -> Result<(Shell, Option<Principal>)> {
    let operator = Operator::new(environment.site());
    let policy = &operator.loaded()?.policy;
    let principal = caller.principal(&policy.http);
    let mut circumstances = reads::circumstances(environment, &operator, principal.as_ref())?;
    reads(policy, &mut circumstances.read_before);
    let numbers = operator.restrictions_for(&circumstances);
    let operator = if numbers.is_empty() { operator } else { operator.restricted(&numbers)? };
    Ok((Shell::new(Arc::new(operator)), principal))
}

/// Returns the restrictions that hold in these circumstances.
fn held(shell: &Shell, circumstances: &Circumstances) -> Result<Vec<String>> {
    let operator = shell.operator();
    let (numbers, policy) = (operator.restrictions_for(circumstances), &operator.loaded()?.policy);
    let held = numbers.iter().filter_map(|&number| policy.restrictions.get(number));
    let because = |conditions| because_read(conditions, &circumstances.read_before).unwrap_or_default();
    Ok(held.map(|restriction| format!("{restriction}{}", because(&restriction.conditions))).collect())
}

/// Returns the restrictions that hold for a caller, by a client. `reads` adds the files that count as read.
fn restrictions_in(
    shell: &Shell,
    caller: &Caller,
    client: Option<&str>,
    reads: impl FnOnce(&Policy, &mut ReadBefore),
) -> Result<Vec<usize>> {
    let operator = shell.operator();
    let policy = &operator.loaded()?.policy;
    let principal = caller.principal(&policy.http);
    let mut circumstances = operator.circumstances(client.map(Arc::from), principal.map(Arc::new))?;
    reads(policy, &mut circumstances.read_before);
    Ok(operator.restrictions_for(&circumstances))
}

/// Returns the shell under some restrictions, if there are any.
fn restricted_shell(shell: &Shell, numbers: &[usize]) -> Result<Option<Shell>> {
    let restricted = || Ok(Shell::new(Arc::new(shell.operator().restricted(numbers)?)));
    (!numbers.is_empty()).then(restricted).transpose()
}

/// Returns an operator under the restrictions that hold for this account before it reads files, or for a caller over
/// HTTP.
pub(super) fn restricted(operator: Operator, principal: Option<Principal>) -> Result<Operator> {
    let circumstances = operator.circumstances(None, principal.map(Arc::new))?;
    let numbers = operator.restrictions_for(&circumstances);
    Ok(if numbers.is_empty() { operator } else { operator.restricted(&numbers)? })
}

/// Returns a shell under a policy that is not in use.
fn shell_under(environment: &Environment, loaded: Loaded) -> Shell {
    Shell::new(Arc::new(Operator::under(environment.site(), loaded)))
}
