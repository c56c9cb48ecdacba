//! Watching for calls that wait.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use scorpiox_approvals::{Extent, Requests};
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
        let now = requests.now();
        let listed = requests.list().context("approvals cannot be read")?;
        seen.retain(|number| listed.iter().any(|request| request.number == *number));
        for request in listed.iter().filter(|request| request.is_open(now)) {
            if !seen.insert(request.number) {
                continue;
            }
            terminal::print(&show::whole(request, now)?);
            if !terminal::can_ask() {
                continue;
            }
            let choice = if terminal::ask("Let this call run? [y/N] ")? {
                Choice::Approve { extent: Extent::Once, is_certain: true }
            } else {
                Choice::Deny { reason: None }
            };
            if let Err(error) = answer(operator, requests, request.number, choice, signing) {
                terminal::complain(&format!("scorpiox-code: {error:#}"));
            }
        }
        changes.wait(LOOK_EVERY, &Cancel::default()).context("approvals cannot be read")?;
    }
    terminal::print(&Shown::text(""));
    Ok(ExitCode::SUCCESS)
}
