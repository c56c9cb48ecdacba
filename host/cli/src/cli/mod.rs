//! Parsing and dispatch of the command line.

mod approvals;
#[cfg(unix)]
mod ask;
mod call;
mod clients;
mod config;
mod doctor;
mod environment;
mod history;
mod logging;
mod plugin;
mod policy;
mod recorder;
mod reference;
mod search;
mod serve;
mod serve_http;
mod setup;
mod skills;
mod stats;
mod store;
mod token;
mod tools;
mod uninstall;
mod update;
mod usage;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use doctor::Format;
use environment::{Environment, Named};
use scorpiox_terminal::Detail;

/// An MCP server whose tools run in WebAssembly sandboxes.
///
/// Without a command, it serves the Model Context Protocol over standard input and output, which is how AI
/// clients start it. The commands below are for people.
#[derive(Parser)]
#[command(name = "scorpiox-code", version, after_help = AFTER_HELP)]
struct Cli {
    /// The project's folder [default: `SCORPIOX_WORKSPACE`, `CLAUDE_PROJECT_DIR`, the working directory]
    #[arg(long, global = true, value_name = "FOLDER")]
    workspace: Option<PathBuf>,

    /// The program's own folder [default: `SCORPIOX_HOME`, ~/.scorpiox]
    #[arg(long, global = true, value_name = "FOLDER")]
    home: Option<PathBuf>,

    /// Refuse every tool unless a policy holds for all users of the machine
    #[arg(long, global = true, value_name = "WHEN")]
    managed: Option<Managed>,

    #[command(subcommand)]
    command: Option<Command>,
}

/// Condition for requiring a machine-wide policy.
#[derive(Clone, Copy, ValueEnum)]
enum Managed {
    /// A policy for all users has to exist
    Required,
}

const AFTER_HELP: &str = "\
Environment:
  SCORPIOX_HOME       the program's own folder [default: ~/.scorpiox]
  SCORPIOX_WORKSPACE  the project's folder
  SCORPIOX_LOG        the log on standard error, such as info or scorpiox=debug [default: warn]
  SCORPIOX_DURABILITY process (default): stored data survives the end of the process;
                      power: it also survives a loss of power; writes are several times slower

Settings are read from scorpiox-env.txt files; `scorpiox-code doctor` shows each setting and its file.";

#[derive(Subcommand)]
enum Command {
    /// Serve clients over HTTP; without a command, a single client is served over standard input and output
    Serve {
        /// The address and port to listen on, such as 127.0.0.1:7300; port 0 takes a free port
        #[arg(long, value_name = "ADDRESS:PORT", value_parser = scorpiox_transport_http::listening_address)]
        http: SocketAddr,
    },
    /// Create a token for a client over HTTP, and print the policy lines that admit it
    Token {
        /// The name of the token's owner in the policy and the audit
        name: String,
        /// A scope of the token, for policy rules that require scopes; can be given several times
        #[arg(long)]
        scope: Vec<String>,
        /// A group of the token's owner; can be given several times
        #[arg(long)]
        group: Vec<String>,
    },
    /// Check the installation, show what differs from the defaults, and what to fix
    Doctor {
        /// Also show each tool and each setting with its default
        #[arg(long)]
        all: bool,
        /// Print all results as JSON
        #[arg(long, conflicts_with = "all")]
        json: bool,
    },
    /// Check the installation, and print only failures
    SelfTest,
    /// Show each tool, where it runs and what it may access; with a name, also its arguments
    Tools {
        /// Show this tool alone, with its arguments and an example of a call
        name: Option<String>,
        /// Print the tools as JSON, with the schemas of their arguments
        #[arg(long)]
        json: bool,
    },
    /// Call one tool and print the result
    Call {
        /// The tool's name, such as TaskManager
        tool: String,
        /// The arguments: a JSON object, or NAME=TEXT and NAME:=JSON
        arguments: Vec<String>,
        /// Print the whole result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Search the web, and show the status of each engine
    Search {
        /// The words to search for
        query: String,
    },
    /// Show and explain the policy: what commands may access
    Policy {
        #[command(subcommand)]
        command: policy::PolicyCommand,
    },
    /// List calls that wait for an approval, and answer them
    Approvals {
        #[command(subcommand)]
        command: Option<approvals::ApprovalsCommand>,
    },
    /// Show recorded tool calls, one line for each call
    Audit(Box<crate::auditing::AuditArguments>),
    /// Show how often the tools of running servers were called, and how long the calls took
    Stats {
        /// Show the usage of each HTTP principal at all servers over the last days instead: 1 is today, 31
        /// the maximum
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=31))]
        days: Option<u64>,
        /// Print the figures as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check and copy the data stored by tools, in files or in the database of `[store]` in policy.toml
    Store {
        #[command(subcommand)]
        command: store::StoreCommand,
    },
    /// Install plugins, and decide what they may access
    Plugin {
        #[command(subcommand)]
        command: plugin::PluginCommand,
    },
    /// List skills as the model sees them, and check your own
    Skills {
        #[command(subcommand)]
        command: skills::SkillsCommand,
    },
    /// Show questions in this terminal, which the server opened for them
    #[cfg(unix)]
    #[command(hide = true)]
    Ask {
        /// The file with the questions
        #[arg(long)]
        request: PathBuf,
        /// The file for the answer
        #[arg(long)]
        answer: PathBuf,
    },
    /// Set up the clients on this machine: show what would change, ask, write, and check that the server answers
    Setup(setup::SetupArguments),
    /// Print the entry for a client's configuration, or write it into the client's file
    Config(config::ConfigArguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// Write the pages of all commands into this folder instead
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Show the version, how the program was installed, and the command that updates it; nothing is downloaded
    Update {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the program and what it created, after asking
    Uninstall {
        /// Also remove policy, plugins, audit, tasks, outputs and skills
        #[arg(long)]
        purge: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// Runs the program.
pub fn main() -> ExitCode {
    // Fast path for clients: without arguments, there is nothing to parse and no help text to create.
    let is_server = std::env::args_os().len() == 1;
    let cli = if is_server {
        Cli { workspace: None, home: None, managed: None, command: None }
    } else {
        let cli = Cli::parse();
        Cli {
            workspace: scorpiox_client_config::unfilled::argument(cli.workspace),
            home: scorpiox_client_config::unfilled::argument(cli.home),
            ..cli
        }
    };
    // Authors who try a plugin want to see its output.
    let tries = matches!(&cli.command, Some(Command::Plugin { command }) if command.is_trial());
    let is_service = matches!(&cli.command, Some(Command::Serve { .. }));
    logging::start(tries, is_service);
    // Independent of any project.
    #[cfg(unix)]
    if let Some(Command::Ask { request, answer }) = &cli.command {
        return finish(ask::run(request, answer));
    }
    match &cli.command {
        Some(Command::Completions { shell }) => return finish(reference::completions(*shell)),
        Some(Command::Man { out }) => return finish(reference::man(out.as_deref())),
        Some(Command::Token { name, scope, group }) => return finish(token::run(name, scope, group)),
        _ => {}
    }
    // The records of a directory must be available even if the directory no longer exists.
    let is_asked_for = matches!(cli.command, Some(Command::Audit(_)));
    let workspace = cli.workspace.clone().filter(|_| !is_asked_for);
    let is_managed_required = matches!(cli.managed, Some(Managed::Required));
    let environment =
        Environment::read(Named { home: cli.home, workspace, is_managed_required, databases: None });
    let outcome = environment.and_then(|environment| match cli.command {
        None => serve::run(&environment),
        Some(Command::Serve { http }) => serve_http::run(&environment, http),
        Some(Command::Doctor { all, json }) => {
            let detail = if all { Detail::All } else { Detail::Differences };
            Ok(doctor::run(&environment, &if json { Format::Json } else { Format::Text(detail) }))
        }
        Some(Command::SelfTest) => Ok(doctor::run(&environment, &Format::Text(Detail::Failures))),
        Some(Command::Tools { name, json }) => tools::run(&environment, name.as_deref(), json),
        Some(Command::Call { tool, arguments, json }) => call::run(&environment, &tool, &arguments, json),
        Some(Command::Search { query }) => search::run(&environment, &query),
        Some(Command::Policy { command }) => Ok(policy::run(&environment, command)),
        Some(Command::Approvals { command }) => approvals::run(&environment, command),
        Some(Command::Audit(arguments)) => {
            let folder = scorpiox_metering::records::audit_folder(&environment.own_home);
            crate::auditing::run(
                &folder,
                &arguments,
                cli.workspace.as_deref(),
                &scorpiox_metering::records::account(),
            )
        }
        Some(Command::Store { command }) => store::run(&environment, &command),
        Some(Command::Stats { days: Some(days), json }) => usage::run(&environment, days, json),
        Some(Command::Stats { days: None, json }) => stats::run(&environment, json),
        Some(Command::Plugin { command }) => plugin::run(&environment, command),
        Some(Command::Skills { command }) => skills::run(&environment, command),
        Some(Command::Config(arguments)) => config::run(&environment, arguments),
        Some(Command::Setup(arguments)) => setup::run(&environment, &arguments),
        Some(Command::Update { json }) => Ok(update::run(&environment, json)),
        Some(Command::Uninstall { purge, yes }) => uninstall::run(&environment, purge, yes),
        #[cfg(unix)]
        Some(Command::Ask { request, answer }) => ask::run(&request, &answer),
        Some(Command::Token { name, scope, group }) => token::run(&name, &scope, &group),
        Some(Command::Completions { shell }) => reference::completions(shell),
        Some(Command::Man { out }) => reference::man(out.as_deref()),
    });
    finish(outcome)
}

fn finish(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        scorpiox_terminal::complain(&format!("scorpiox-code: {error:#}"));
        ExitCode::FAILURE
    })
}
