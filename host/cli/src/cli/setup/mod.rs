//! The command `scorpiox-code setup`: finds the user's clients and registries, shows each change, asks, writes, and checks
//! that the server answers.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum as _;
use scorpiox_client_config::{self as clients, Change, Client, How, Owner, Sign, Start, WriteError};
use scorpiox_fs::{Writable, resolve};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use serde_json::{Value, json};

use self::handshake::Answered;
use self::registries::Registry;
use super::clients::{Target, around, name, record, target};
use super::config::check_program;
use super::environment::Environment;
use super::policy;

mod allow;
mod handshake;
mod registries;

/// Arguments of `setup`.
#[derive(Debug, clap::Args)]
pub(super) struct SetupArguments {
    /// Set up this client only, whether it is found or not; can be given several times
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<Client>,
    /// Also let clients call tools without asking that only keep their own data, ask you, or show what skills say
    #[arg(long)]
    allow_harmless: bool,
    /// Make all changes without asking
    #[arg(long)]
    yes: bool,
    /// Print the result as JSON, and change nothing without --yes
    #[arg(long)]
    json: bool,
}

/// A client that is to be set up.
struct Found {
    client: Client,
    /// Sign that the user has the client; `None` if the user named it.
    sign: Option<Sign>,
    file: PathBuf,
    start: Start,
    state: State,
}

/// State of a client's file.
enum State {
    /// Nothing was changed yet.
    Planned(Change),
    Written(How),
    Failed(String),
}

impl State {
    /// Returns its name, the backup, and the error.
    fn parts(&self) -> (&'static str, Option<&PathBuf>, Option<&String>) {
        match self {
            Self::Planned(Change::Create) => ("would create", None, None),
            Self::Planned(Change::Update) => ("would update", None, None),
            Self::Planned(Change::Nothing) | Self::Written(How::Unchanged) => ("present", None, None),
            Self::Written(How::Created) => ("created", None, None),
            Self::Written(How::Updated { backup }) => ("updated", Some(backup), None),
            Self::Failed(why) => ("failed", None, Some(why)),
        }
    }
}

pub(super) fn run(environment: &Environment, arguments: &SetupArguments) -> Result<ExitCode> {
    check_program(environment).context("clients must not start this program where it is")?;
    let home = environment.home.as_ref().context("there is no home folder; set HOME")?;
    let mut found = find(environment, &arguments.clients)?;
    let (registries, unasked) = registries::find(environment, home);
    let (mut lists, others) = if arguments.allow_harmless {
        allow::find(&found, &around(environment)?)
    } else {
        (Vec::new(), Vec::new())
    };
    if !arguments.json {
        terminal::print(&Shown::text(&plan(environment, &found, &registries, unasked.as_deref())));
        if arguments.allow_harmless {
            terminal::print(&Shown::lines(&allow::plan(&lists, &others)));
        }
    }
    let adds =
        found.iter().any(|found| matches!(found.state, State::Planned(Change::Create | Change::Update)));
    let hosts: Vec<_> = registries.iter().flat_map(Registry::closed).collect();
    let may = Consent::of(arguments, adds, lists.iter().any(allow::Allow::is_planned), &hosts)?;
    if may.writes {
        write(environment, &mut found, !arguments.json);
    }
    if may.lists {
        allow::write(&mut lists, &found, !arguments.json);
    }
    let mut states = found.iter().map(|found| &found.state).chain(lists.iter().map(|list| &list.state));
    let mut is_done = !states.any(|state| matches!(state, State::Failed(_)));
    if may.opens {
        is_done &= open(environment, &hosts, !arguments.json);
    }
    let answered = handshake::run(environment);
    is_done &= answered.is_ok();
    if arguments.json {
        let mut report = report(environment, &found, &registries, answered.as_ref());
        if arguments.allow_harmless {
            report["allow"] = allow::report(&lists);
        }
        terminal::print(&Shown::json(&report.to_string()));
    } else {
        terminal::print(&Shown::text(&end(&found, &answered)));
    }
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Changes that the user agreed to.
struct Consent {
    /// `true` if entries may be written.
    writes: bool,
    /// `true` if allow-lists may be written.
    lists: bool,
    /// `true` if commands may reach the registries.
    opens: bool,
}

impl Consent {
    fn of(arguments: &SetupArguments, adds: bool, lists: bool, hosts: &[String]) -> Result<Self> {
        if arguments.yes || arguments.json {
            let is_told = arguments.yes;
            let opens = is_told && !hosts.is_empty();
            return Ok(Self { writes: is_told && adds, lists: is_told && lists, opens });
        }
        if (adds || lists || !hosts.is_empty()) && !terminal::can_ask() {
            bail!(
                "there is no terminal to ask at; --yes makes these changes without asking; nothing was changed"
            );
        }
        let writes = adds && terminal::ask("\nAdd these entries? [y/N] ")?;
        let lists = lists && terminal::ask("\nLet the clients call these tools without asking? [y/N] ")?;
        let question = format!("\nLet commands reach {}? [y/N] ", hosts.join(", "));
        let opens = !hosts.is_empty() && terminal::ask(&question)?;
        Ok(Self { writes, lists, opens })
    }
}

/// Finds the user's clients, or takes those that the user named.
fn find(environment: &Environment, named: &[Client]) -> Result<Vec<Found>> {
    let around = around(environment)?;
    let path = env::var_os("PATH");
    let mut all = Vec::new();
    for client in Client::value_variants() {
        let own = clients::own_path(*client, &around);
        let target = match target(environment, &around, *client, own.clone()) {
            Ok(target) => target,
            // A Windows program that is not there, or several times.
            Err(error) if named.contains(client) => {
                let (start, state) = (Start::default(), State::Failed(format!("{error:#}")));
                all.push(Found { client: *client, sign: None, file: own, start, state });
                continue;
            }
            Err(_) => continue,
        };
        let Target { file, start, is_of_windows } = target;
        let sign = if is_of_windows {
            file.exists().then(|| Sign::File(file.clone()))
        } else {
            clients::sign(*client, &around, path.as_deref())
        };
        let is_wanted = if named.is_empty() { sign.is_some() } else { named.contains(client) };
        if is_wanted {
            let state = match preview(environment, *client, &file, &start) {
                Ok(change) => State::Planned(change),
                Err(error) => State::Failed(error),
            };
            all.push(Found { client: *client, sign, file, start, state });
        }
    }
    Ok(all)
}

fn preview(environment: &Environment, client: Client, file: &Path, start: &Start) -> Result<Change, String> {
    // Nothing is written where a project could have put a link.
    resolve(file, &Writable::new([environment.workspace.path.clone()]))
        .map_err(|error| format!("{} is not written: {error}", file.display()))?;
    clients::preview(file, client, start, Owner::Person).map_err(|error| error.to_string())
}

/// Writes the planned entries, and tells about each.
fn write(environment: &Environment, found: &mut [Found], tells: bool) {
    for found in found {
        let State::Planned(Change::Create | Change::Update) = found.state else { continue };
        let written: Result<_, WriteError> =
            clients::write(&found.file, found.client, &found.start, Owner::Person);
        found.state = match written {
            Ok(written) => {
                if let Err(error) = record(environment, found.client, &written.path) {
                    terminal::complain(&format!("{error:#}"));
                }
                State::Written(written.how)
            }
            Err(error) => State::Failed(error.to_string()),
        };
        if tells {
            terminal::print(&Shown::line(&told(found)));
        }
    }
}

/// Lets commands reach hosts. Returns `true` on success.
fn open(environment: &Environment, hosts: &[String], tells: bool) -> bool {
    match policy::allow_hosts(environment, hosts) {
        Ok(path) => {
            if tells {
                let done = format!("Wrote {}: commands reach {}.", path.display(), hosts.join(", "));
                terminal::print(&Shown::line(&done));
            }
            true
        }
        Err(error) => {
            terminal::complain(&format!("The registries stay closed: {error:#}"));
            false
        }
    }
}

/// Returns the text that shows all changes before they are made.
fn plan(
    environment: &Environment,
    found: &[Found],
    registries: &[Registry],
    unasked: Option<&str>,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |line: String| _ = writeln!(text, "{line}");
    if found.is_empty() {
        line("No client was found. `setup --client NAME` sets one up nevertheless; `config --help` lists them.".into());
    } else {
        line(format!("Clients, each to start {}:", environment.binary.display()));
    }
    for found in found {
        line(format!("  {:<15} {}", name(found.client), told(found)));
        if let Some(sign) = &found.sign
            && *sign.path() != found.file
        {
            line(format!("  {:<15} (found: {})", "", sign.path().display()));
        }
    }
    if !registries.is_empty() {
        line("Registries that your tools use:".into());
    }
    for registry in registries {
        let closed = registry.closed();
        let state = if closed.is_empty() { "commands reach it" } else { "closed to commands" };
        line(format!("  {:<15} {} ({state})", registry.tool, registry.names().join(", ")));
    }
    if let Some(why) = unasked {
        line(format!("The registries of npm and pip are not known: {why}"));
    }
    text
}

/// Returns a line about a client's file.
fn told(found: &Found) -> String {
    told_of(&found.state, &found.file, "the entry")
}

/// Returns a line about the state of `what` in a file.
fn told_of(state: &State, file: &Path, what: &str) -> String {
    let file = file.display();
    match state {
        State::Planned(Change::Create) => format!("would create {file}"),
        State::Planned(Change::Update) => {
            format!("would add {what} to {file}, and keep a backup beside it")
        }
        State::Planned(Change::Nothing) | State::Written(How::Unchanged) => {
            format!("{file} has {what}")
        }
        State::Written(How::Created) => format!("created {file}"),
        State::Written(How::Updated { backup }) => format!("updated {file} (before: {})", backup.display()),
        State::Failed(why) => format!("cannot be set up: {why}"),
    }
}

/// Returns the last lines.
fn end(found: &[Found], answered: &Result<Answered>) -> String {
    let mut text = match answered {
        Ok(Answered { tools, time }) => {
            format!("\nThe server starts and lists {tools} tools in {} ms.\n", time.as_millis())
        }
        Err(error) => {
            format!("\nThe server does not answer: {error:#}. `scorpiox-code doctor` looks for the cause.\n")
        }
    };
    if found.iter().any(|found| matches!(found.state, State::Written(How::Created | How::Updated { .. }))) {
        text += "Quit these clients if they are open, and open them again: they start the server by themselves.\n\
                 A client asks you before it calls a tool, as for any server, because it does not know the policy: \
                 `scorpiox-code policy show` says what each tool may touch.\n\
                 Then try: \"Run pwd with Bash.\"\n";
    }
    text
}

fn report(
    environment: &Environment,
    found: &[Found],
    registries: &[Registry],
    answered: Result<&Answered, &anyhow::Error>,
) -> Value {
    let clients: Vec<_> = found
        .iter()
        .map(|found| {
            let (state, backup, error) = found.state.parts();
            json!({
                "client": name(found.client),
                "found": found.sign.as_ref().map(Sign::path),
                "file": found.file,
                "state": state,
                "backup": backup,
                "error": error,
            })
        })
        .collect();
    let registries: Vec<_> = registries
        .iter()
        .map(|registry| {
            json!({ "tool": registry.tool, "hosts": registry.names(), "closed": registry.closed() })
        })
        .collect();
    let server = match answered {
        Ok(Answered { tools, time }) => {
            let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            json!({ "answers": true, "tools": tools, "milliseconds": milliseconds, "error": null })
        }
        Err(error) => {
            json!({ "answers": false, "tools": null, "milliseconds": null, "error": format!("{error:#}") })
        }
    };
    json!({
        "program": environment.binary, "clients": clients, "registries": registries, "server": server,
    })
}
