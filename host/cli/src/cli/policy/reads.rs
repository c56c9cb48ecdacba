//! Files that were read before, for conditions with `after`, and the command `policy clear`.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use scorpiox_approvals::Reader;
use scorpiox_audit::time::rfc3339;
use scorpiox_audit::{Outcome, Uses};
use scorpiox_policy::access::Principal;
use scorpiox_policy::{Circumstances, FirstRead, Policy, ReadBefore, Unobserved};
use scorpiox_terminal::{self as terminal, Shown};
use scorpiox_workspace_config::Operator;

use super::tools::Tools;
use super::{BASH, Caller, What};
use crate::cli::environment::Environment;
use crate::cli::recorder::Recorder;

/// Capability and name in the audit.
const CLEAR: &str = "policy clear";

fn reader(environment: &Environment, principal: Option<&Principal>) -> Reader {
    Reader {
        workspace: environment.workspace.path.to_string_lossy().into_owned(),
        principal: principal.map(Principal::key),
    }
}

/// Returns the files that calls of a caller read before in this workspace, if the policy asks for that.
fn known(environment: &Environment, policy: &Policy, principal: Option<&Principal>) -> Result<ReadBefore> {
    if policy.globs_read_before().is_empty() {
        return Ok(ReadBefore::default());
    }
    let requests = environment.approvals(&Arc::new(Operator::new(environment.site())));
    let known = requests.read_before(&reader(environment, principal));
    known.context("the policy has `after`, and nobody can tell which files were read before")
}

/// Returns the circumstances of calls of a caller, with the files that were read before.
pub(super) fn circumstances(
    environment: &Environment,
    operator: &Operator,
    principal: Option<&Principal>,
) -> Result<Circumstances> {
    let circumstances = operator.circumstances(None, principal.cloned().map(Arc::new))?;
    let read_before = known(environment, &operator.loaded()?.policy, principal)?;
    Ok(Circumstances { read_before, ..circumstances })
}

/// Adds the files that count as read for a question: by commands, or by the call in question.
pub(super) fn add_of(
    tools: &Tools,
    environment: &Environment,
    policy: &Policy,
    what: What,
    subject: &str,
    known: &mut ReadBefore,
) {
    match what {
        What::Read | What::Write | What::Host | What::Command => {
            add(policy, BASH, Unobserved::Command, known);
        }
        What::Tool | What::Call => tools.add_reads(environment, policy, subject, known),
        What::Url | What::File | What::Plugin | What::Workspace => {}
    }
}

/// Adds files that count as read in a case.
pub(super) fn add_given(globs: &[String], known: &mut ReadBefore) {
    for glob in globs {
        let first = || FirstRead { tool: "the case".to_owned(), at: None, is_unsandboxed: false };
        known.0.entry(glob.clone()).or_insert_with(first);
    }
}

/// Adds the files that count as read in a way.
pub(super) fn add(policy: &Policy, tool: &str, way: Unobserved, known: &mut ReadBefore) {
    for glob in policy.reads_unobserved(way) {
        known.0.entry(glob.to_owned()).or_insert_with(|| policy.reading_now(tool, way));
    }
}

/// Describes a file that was read before.
pub(super) fn shown(glob: &str, first: &FirstRead) -> String {
    let at = first.at.map_or_else(String::new, |at| format!(" at {}", rfc3339(at)));
    format!("files of \"{glob}\" count as read since {}{at}", first.tool)
}

/// Forgets the files that the calls of a caller, or of everyone, read in this workspace.
pub(super) fn clear(environment: &Environment, caller: &Caller, everyone: bool) -> Result<ExitCode> {
    let recorder = Recorder::new(environment);
    recorder.check()?;
    let operator = Arc::new(Operator::new(environment.site()));
    let principal = caller.principal(&operator.loaded()?.policy.http);
    let requests = environment.approvals(&operator);
    let reader = reader(environment, principal.as_ref());
    let forgotten =
        if everyone { requests.forget_all_reads(&reader.workspace) } else { requests.forget_reads(&reader) };
    let forgotten = forgotten.context("the files that were read before cannot be forgotten")?;
    if forgotten.0.is_empty() {
        let of = match (&principal, everyone) {
            (_, true) => String::new(),
            (Some(principal), _) => format!(" by {}", principal.name),
            (None, _) => " by the person at this machine (--everyone: by anybody)".to_owned(),
        };
        let nothing = format!("There is nothing to forget: no file counts as read in this workspace{of}.");
        terminal::print(&Shown::line(&nothing));
        return Ok(ExitCode::SUCCESS);
    }
    let uses = Uses::default();
    let mut page = Shown::line("Forgotten; the next call is judged as if these files had not been read:");
    let whose = match (&principal, everyone) {
        (_, true) => "everyone".to_owned(),
        (Some(principal), _) => format!("principal {}", principal.name),
        (None, _) => "the person at this machine".to_owned(),
    };
    for (glob, first) in &forgotten.0 {
        uses.allowed("read-before", format!("{glob}, forgotten for {whose}"), CLEAR);
        page = page.and(&Shown::line(&format!("  {}", shown(glob, first))));
    }
    recorder.record(CLEAR, None, &uses, Outcome::Ok)?;
    terminal::print(&page);
    Ok(ExitCode::SUCCESS)
}
