//! Systems on which only the client can ask the user.

use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;
use scorpiox_questions::Questions;
use scorpiox_workspace_config::Operator;

use super::Asked;

/// Prompter without any method of asking: only the client can show forms.
pub struct Prompter;

impl Prompter {
    /// Creates the prompter; the policy is not used.
    pub fn new(_: Arc<Operator>) -> Self {
        Self
    }

    /// Returns [`Asked::NoWay`] with the alternative.
    #[allow(clippy::unused_self)] // same signature as on Unix
    pub fn ask(&self, _: &Questions, _: &Cancel, _: &Uses) -> Asked {
        Asked::NoWay("on this system questions are asked by the client alone (elicitation)".to_owned())
    }
}

/// Returns the methods of asking, for display: none.
pub fn ways_here(_: &Operator) -> Result<Vec<&'static str>, String> {
    Ok(Vec::new())
}
