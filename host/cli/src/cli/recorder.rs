//! Records of decisions on the command line.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use scorpiox_audit::{Component, Outcome, Uses};
use scorpiox_metering::records::Records;
use scorpiox_shell::Shell;
use scorpiox_workspace_config::Operator;

use super::environment::Environment;

/// Writes records of decisions.
pub(super) struct Recorder {
    shell: Arc<Shell>,
    records: Arc<Records>,
}

impl Recorder {
    pub(super) fn new(environment: &Environment) -> Self {
        let shell = Arc::new(Shell::new(Arc::new(Operator::new(environment.site()))));
        Self {
            records: Records::new(&shell, Arc::default(), Arc::default(), &environment.workspace.path),
            shell,
        }
    }

    /// Returns the operator, whose policy is in force.
    pub(super) fn operator(&self) -> &Operator {
        self.shell.operator()
    }

    /// Returns an error if the policy requires records and none can be written.
    pub(super) fn check(&self) -> Result<()> {
        self.records.check_decision().map_err(|refused| anyhow!("{refused}"))
    }

    pub(super) fn record(
        &self,
        what: &str,
        component: Option<Component<'_>>,
        uses: &Uses,
        outcome: Outcome,
    ) -> Result<()> {
        let recorded = self.records.record_decision(what, component, uses, outcome);
        recorded.map_err(|refused| anyhow!("{refused}"))
    }
}
