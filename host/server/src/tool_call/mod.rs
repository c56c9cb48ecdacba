//! `tools/call`, in five steps, each in its own file: `read`, `permit`, `run`, `record`, `render`.
//!
//! Invariants: nothing runs without a [`Permit`]. Each call leaves exactly one audit line: a refused call through
//! [`Refusal::record`], and a permitted call through [`Permit::record`].

mod absence;
mod approval;
mod permit;
mod read;
mod record;
mod refusal;
mod render;
mod run;

use super::scope::{Answer, Scope};

pub(crate) use approval::required as required_approvals;
pub(crate) use approval::unasked;
use permit::Permit;
use read::ToolCall;
pub(crate) use record::{record_unrun, stopped};
pub(crate) use refusal::INVALID;
use refusal::Refusal;
pub(crate) use run::run;

/// Handles a call from its parameters to its answer.
pub(crate) fn call(scope: &Scope<'_>) -> Answer {
    let call = ToolCall::read(scope).map_err(|refusal| refusal.record(scope))?;
    let mut permit = Permit::obtain(scope, &call).map_err(|refusal| refusal.record(scope))?;
    let ran = permit.run();
    permit.record(ran)?.render()
}
