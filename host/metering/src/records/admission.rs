//! Decides whether calls are served. Calls and readiness probes use the same function, so the two cannot
//! disagree.

use std::fmt;
use std::sync::Arc;

use scorpiox_audit::{ExportError, LogError};
use scorpiox_workspace_config::OperatorError;

use super::{Audit, Records};

/// Reason why no calls are served.
#[derive(Debug)]
pub enum Unserved {
    /// The policy is unusable, does not permit this workspace, or has changed since it was read.
    Policy(Arc<OperatorError>),
    /// The policy requires an audit line for each call, and lines cannot be written.
    Audit(Arc<LogError>),
    /// The policy requires an export to receive each line, and the export fails.
    Export(ExportError),
}

impl fmt::Display for Unserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(error) => error.fmt(f),
            Self::Audit(error) => error.fmt(f),
            Self::Export(error) => error.fmt(f),
        }
    }
}

impl Unserved {
    /// All reasons, as labels for metrics.
    pub const REASONS: [&'static str; 5] =
        ["policy_unusable", "policy_changed", "workspace", "audit", "export"];

    /// Returns the label of the reason, one of [`Self::REASONS`].
    pub fn reason(&self) -> &'static str {
        let [policy, changed, workspace, audit, export] = Self::REASONS;
        match self {
            Self::Policy(error) => match &**error {
                OperatorError::Outdated(_) => changed,
                OperatorError::NotAWorkspace(_) | OperatorError::Repository(_) => workspace,
                _ => policy,
            },
            Self::Audit(_) => audit,
            Self::Export(_) => export,
        }
    }
}

/// State of the audit log for metrics: failed writes and failed exports.
#[derive(Debug, Default)]
pub struct AuditState {
    /// `true` if the last attempt to write to the audit files failed.
    pub is_blocked: bool,
    /// `true` if the last valid policy stays in force instead of the current file.
    pub is_policy_kept: bool,
    /// Destination of each export, and `true` if it accepts lines.
    pub exports: Vec<(String, bool)>,
}

impl Records {
    /// Decides whether a call is served under the policy in force. Waits a limited time for required exports.
    pub fn admission(&self) -> Result<(), Unserved> {
        self.policy_admission()?;
        self.audit_admission()
    }

    /// Decides whether the server serves calls. Works like [`admission`](Self::admission), but no repository can prevent
    /// it.
    pub fn server_admission(&self) -> Result<(), Unserved> {
        let operator = &self.in_force().operator;
        operator.server_policy().map_err(Unserved::Policy)?;
        operator.check_current().map_err(|error| Unserved::Policy(Arc::new(error)))?;
        self.audit_admission()
    }

    /// Fails if the policy is unusable, or was changed and does not take effect.
    pub fn policy_admission(&self) -> Result<(), Unserved> {
        let operator = &self.in_force().operator;
        operator.policy().map_err(Unserved::Policy)?;
        operator.check_current().map_err(|error| Unserved::Policy(Arc::new(error)))
    }

    /// Decides whether the audit log permits an action.
    pub(super) fn audit_admission(&self) -> Result<(), Unserved> {
        match self.audit() {
            Some(audit) if audit.required => audit.check(),
            _ => Ok(()),
        }
    }

    /// Returns why the policy in force is not the one of the current files, if it was kept.
    pub fn kept_policy(&self) -> Option<String> {
        self.in_force().operator.unusable_managed().map(ToString::to_string)
    }

    /// Returns the state of the audit log as of the last lines. Opens nothing and does not wait.
    pub fn audit_state(&self) -> AuditState {
        let is_policy_kept = self.kept_policy().is_some();
        let Some(Some(audit)) = self.audit.get() else {
            return AuditState { is_policy_kept, ..AuditState::default() };
        };
        AuditState {
            is_policy_kept,
            is_blocked: audit.is_blocked(),
            exports: audit.exports.iter().map(|export| (export.shown().to_owned(), export.takes())).collect(),
        }
    }
}

impl Audit {
    /// Fails unless a line can be written and all exports have the previous lines.
    fn check(&self) -> Result<(), Unserved> {
        self.wrote(self.spool.check()).map_err(Unserved::Audit)?;
        self.ensure_exports().map_err(Unserved::Export)
    }
}
