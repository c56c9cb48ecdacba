//! Watching for calls that wait.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use scorpiox_approvals::{Extent, Listed, Request, Requests};
use scorpiox_executor::Cancel;
use scorpiox_terminal::{self as terminal, Shown};
use scorpiox_workspace_config::Operator;

use super::answer::{Choice, answer};
use super::{Signing, show};

/// Maximum time between two checks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Shows each call as it starts to wait, and asks for the answer at a terminal. Ends when nobody reads it.
pub(super) fn run(operator: &Operator, requests: &Requests, signing: &Signing) -> Result<ExitCode> {
    let mut seen = BTreeSet::new();
    terminal::complain("Waiting for calls that need an approval; Ctrl+C ends this.");
    let mut changes = requests.changes().context("approvals cannot be read")?;
    while !terminal::is_unread() {
        let Listed { requests: listed, now } = requests.list().context("approvals cannot be read")?;
        seen.retain(|id| listed.iter().any(|request| request.id == *id));
        for request in listed.iter().filter(|request| request.is_open(now)) {
            if !seen.insert(request.id.clone()) {
                continue;
            }
            if let Err(error) = show(request, operator, requests, signing) {
                terminal::complain(&format!("scorpiox-code: {error:#}"));
            }
        }
        changes.wait(LOOK_EVERY, &Cancel::default()).context("approvals cannot be read")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a call, and asks for the answer at a terminal. Without a clear answer, the call goes on waiting.
fn show(request: &Request, operator: &Operator, requests: &Requests, signing: &Signing) -> Result<()> {
    let number = request.number;
    terminal::print(&show::whole(request, requests.now())?);
    if !terminal::can_ask() {
        return Ok(());
    }
    if terminal::ask("Let this call run? [y/N] ")? {
        let choice = Choice::Approve { extent: Extent::Once, is_certain: true };
        return answer(operator, requests, request, choice, signing).map(drop);
    }
    let hint = format!("It goes on waiting; `scorpiox-code approvals deny {number}` refuses it.");
    terminal::print(&Shown::line(&hint));
    Ok(())
}
