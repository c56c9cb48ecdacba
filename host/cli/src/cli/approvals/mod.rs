//! The command `scorpiox-code approvals`: lists calls that wait for an approval, and answers them.

mod always;
mod answer;
mod credential;
mod show;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use scorpiox_approvals::{Extent, Listed, Requests};
use scorpiox_plugin_manager::install::{Protection, Trusts, keygen};
use scorpiox_terminal::{self as terminal, Shown};
use scorpiox_workspace_config::Operator;

use super::environment::Environment;
use answer::{Choice, answer};

#[derive(Subcommand)]
pub(super) enum ApprovalsCommand {
    /// List the calls that wait for an answer
    List {
        /// List those of the last day that were answered or expired, too
        #[arg(long)]
        all: bool,
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a call with all its arguments, and the rules that ask
    Show {
        /// The number of the approval
        number: u64,
    },
    /// Let a call run
    Approve {
        /// The number of the approval
        number: u64,
        /// Remember it for equal calls in the workspace; the rules have to offer that
        #[arg(long)]
        remember: bool,
        /// Approve equal calls in all workspaces, by an entry of your policy.toml; needs --key, and the rules have to
        /// offer it
        #[arg(long, conflicts_with = "remember", requires = "key")]
        always: bool,
        #[command(flatten)]
        signing: Signing,
        /// Do not ask whether this is the call
        #[arg(long)]
        yes: bool,
    },
    /// Refuse a call
    Deny {
        /// The number of the approval
        number: u64,
        /// Words for the model
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        signing: Signing,
    },
    /// Show each call as it starts to wait, and ask for the answer at a terminal
    Watch {
        #[command(flatten)]
        signing: Signing,
    },
    /// List the approvals that are remembered for a workspace
    Remembered {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget a remembered approval, so that the next equal call asks again
    Revoke {
        /// The number of the approval
        number: u64,
    },
    /// Make a key that proves the answers of an approver
    Keygen {
        /// The name of the approver
        name: String,
        /// A file with the key's password [default: asked at a terminal, else from standard input]
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
        /// Make a credential for the pages of a server instead, and write it to NAME.credential
        #[arg(long, conflicts_with = "password_file")]
        browser: bool,
    },
}

/// Key that signs an answer.
#[derive(Args)]
pub(super) struct Signing {
    /// The approver's secret key, which `approvals keygen` made; for rules that need a proof
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A file with the key's password [default: asked at a terminal, else from standard input]
    #[arg(long, value_name = "FILE", requires = "key")]
    password_file: Option<PathBuf>,
}

impl Signing {
    fn key(&self) -> Option<(&Path, Option<&Path>)> {
        self.key.as_deref().map(|key| (key, self.password_file.as_deref()))
    }
}

pub(super) fn run(environment: &Environment, command: Option<ApprovalsCommand>) -> Result<ExitCode> {
    let command = command.unwrap_or(ApprovalsCommand::List { all: false, json: false });
    if let ApprovalsCommand::Keygen { name, browser: true, .. } = &command {
        credential::make(Path::new(""), name)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let ApprovalsCommand::Keygen { name, password_file, .. } = &command {
        keygen(Path::new(""), name, Protection::Password(password_file.as_deref()), Trusts::Answers)?;
        return Ok(ExitCode::SUCCESS);
    }
    let operator = Arc::new(Operator::new(environment.site()));
    let requests = environment.approvals(&operator);
    match command {
        ApprovalsCommand::List { all, json } => {
            let Listed { requests: mut found, now } = requests.list().context("approvals cannot be read")?;
            found.retain(|request| all || request.is_open(now));
            terminal::print(&if json { show::json(&found, now) } else { show::table(&found, now) });
        }
        ApprovalsCommand::Show { number } => {
            let request = find(&requests, number)?;
            terminal::print(&show::whole(&request, requests.now())?);
        }
        ApprovalsCommand::Approve { number, remember, always, signing, yes } => {
            let request = find(&requests, number)?;
            if yes {
                terminal::print(&show::whole(&request, requests.now())?);
            }
            let extent = match (remember, always) {
                (_, true) => Extent::Always,
                (true, false) => Extent::Workspace,
                (false, false) => Extent::Once,
            };
            if extent == Extent::Always {
                always::check(&operator, &request)?;
            }
            let choice = Choice::Approve { extent, is_certain: yes };
            let code = answer(&operator, &requests, &request, choice, &signing)?;
            // The person may have decided otherwise.
            let is_given = code == ExitCode::SUCCESS && extent == Extent::Always;
            return if is_given { always::write(environment, &requests, &request) } else { Ok(code) };
        }
        ApprovalsCommand::Deny { number, reason, signing } => {
            let request = find(&requests, number)?;
            return answer(&operator, &requests, &request, Choice::Deny { reason }, &signing);
        }
        ApprovalsCommand::Watch { signing } => return watch::run(&operator, &requests, &signing),
        ApprovalsCommand::Remembered { json } => {
            let (found, now) = (requests.remembered().context("approvals cannot be read")?, requests.now());
            let policy = &operator.loaded()?.policy;
            terminal::print(&if json {
                show::remembered_json(&found, policy, now)
            } else {
                show::remembered(&found, policy)
            });
        }
        ApprovalsCommand::Revoke { number } => {
            if let Some(code) = always::revoke(environment, &operator, &requests, number)? {
                return Ok(code);
            }
            if !requests.revoke(number).context("approvals cannot be changed")? {
                bail!("no approval {number} is remembered; `scorpiox-code approvals remembered` lists them");
            }
            terminal::print(&Shown::line(&format!("Approval {number} is forgotten; equal calls ask again.")));
        }
        ApprovalsCommand::Keygen { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the request of that number.
fn find(requests: &Requests, number: u64) -> Result<scorpiox_approvals::Request> {
    let found = requests.get(number).context("approvals cannot be read")?;
    found.with_context(|| format!("there is no approval {number}; `scorpiox-code approvals` lists them"))
}
