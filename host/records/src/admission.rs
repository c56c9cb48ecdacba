//! Says whether calls are served now. One function decides, for each call and for probes of readiness, so that the two cannot
//! disagree.

use std::fmt;
use std::sync::Arc;

use scorpiox_audit::{ExportError, LogError};
use scorpiox_operator::OperatorError;

use super::{Audit, Records};

/// Reason why no call is served.
#[derive(Debug)]
pub enum Unserved {
    /// The policy cannot be used, does not allow this folder, or was changed after it was read.
    Policy(Arc<OperatorError>),
    /// The policy requires a line in the audit for each call, and none can be written.
    Audit(Arc<LogError>),
    /// The policy requires that an export has each line, and it takes none.
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
    /// All reasons, as figures name them.
    pub const REASONS: [&'static str; 5] =
        ["policy_unusable", "policy_changed", "workspace", "audit", "export"];

    /// The reason in a word, one of [`Self::REASONS`].
    pub fn reason(&self) -> &'static str {
        let [policy, changed, workspace, audit, export] = Self::REASONS;
        match self {
            Self::Policy(error) => match &**error {
                OperatorError::Outdated => changed,
                OperatorError::NotAWorkspace(_) => workspace,
                _ => policy,
            },
            Self::Audit(_) => audit,
            Self::Export(_) => export,
        }
    }
}

/// State of the audit, for figures: lines that cannot be written, and exports that take none.
#[derive(Debug, Default)]
pub struct AuditState {
    /// Lines cannot be written to the audit's own files.
    pub is_blocked: bool,
    /// Each export by the name of its place, and whether it takes lines.
    pub exports: Vec<(String, bool)>,
}

impl Records {
    /// Decides whether a call is served now. Waits for a required export, for a bounded time.
    pub fn admission(&self) -> Result<(), Unserved> {
        let shell = &self.shell;
        shell.operator().policy().map_err(Unserved::Policy)?;
        if let Err(error) = shell.operator().check_current() {
            // What it runs was allowed by what holds no more.
            shell.shut_down();
            return Err(Unserved::Policy(Arc::new(error)));
        }
        self.audit_admission()
    }

    /// Decides whether the audit stands in the way of what is about to be done.
    pub(super) fn audit_admission(&self) -> Result<(), Unserved> {
        match self.audit() {
            Some(audit) if audit.required => audit.check(),
            _ => Ok(()),
        }
    }

    /// Returns the state of the audit as its last lines found it. Opens and waits for nothing.
    pub fn audit_state(&self) -> AuditState {
        let Some(Some(audit)) = self.audit.get() else { return AuditState::default() };
        AuditState {
            is_blocked: audit.is_blocked(),
            exports: audit.exports.iter().map(|export| (export.place().to_owned(), export.takes())).collect(),
        }
    }
}

impl Audit {
    /// Fails unless a line could be written now, and every export has those before it.
    fn check(&self) -> Result<(), Unserved> {
        self.wrote(self.spool.check()).map_err(Unserved::Audit)?;
        self.ensure_exports().map_err(Unserved::Export)
    }
}
