//! The policy in force, as audit lines name it.

use std::sync::{Arc, OnceLock};

use scorpiox_audit::{Origin, UnderPolicy};
use scorpiox_workspace_config::Operator;

use super::recorder;

/// Policy under which calls of a workspace run.
#[derive(Debug)]
pub struct PolicyInForce {
    /// Holds the policy.
    pub(super) operator: Arc<Operator>,
    /// Workspace directory.
    workspace: String,
    /// Computed for the first line.
    origin: OnceLock<Origin>,
}

impl PolicyInForce {
    pub(super) fn new(operator: Arc<Operator>, workspace: String) -> Self {
        Self { operator, workspace, origin: OnceLock::new() }
    }
}

impl UnderPolicy for PolicyInForce {
    fn origin(&self) -> &Origin {
        self.origin.get_or_init(|| recorder::origin(&self.workspace, &self.operator))
    }
}
