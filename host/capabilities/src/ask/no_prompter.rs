//! Systems where nobody is asked outside of the client.

use std::sync::Arc;

use scorpiox_ask::Questions;
use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;
use scorpiox_operator::Operator;

use super::Asked;

/// Asks nobody: the client has to show forms.
pub struct Prompter;

impl Prompter {
    /// For a server under this policy.
    pub fn new(_: Arc<Operator>) -> Self {
        Self
    }

    /// Says what there is to do.
    #[allow(clippy::unused_self)] // as where somebody is asked
    pub fn ask(&self, _: &Questions, _: &Cancel, _: &Uses) -> Asked {
        Asked::NoWay("on this system questions are asked by the client alone (elicitation)".to_owned())
    }
}

/// For people: what would be tried to ask them. There is nothing.
pub fn ways_here(_: &Operator) -> Result<Vec<&'static str>, String> {
    Ok(Vec::new())
}
