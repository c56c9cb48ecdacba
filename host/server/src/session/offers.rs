//! What plugins offer beside tools, as far as a session's client may have it.
//!
//! Settings, the policy and its rules of access know a prompt as `PLUGIN.PROMPT`, and all resources of a plugin together
//! as `PLUGIN.resources`.

use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_offers::Prompt;
use scorpiox_tools::plugins::Offering;

use super::Session;

/// What all resources of a plugin are called together.
fn resources_of(offering: &Offering) -> String {
    format!("{}.resources", offering.served.plugin())
}

impl Session {
    /// The plugins that offer something, whatever of it the client may have.
    pub(crate) fn offerings(&self) -> Vec<Arc<Offering>> {
        self.workspace.plugins.offerings()
    }

    /// The plugins whose resources its client may have.
    pub(crate) fn resourceful(&self) -> Vec<Arc<Offering>> {
        let mut offerings = self.offerings();
        offerings.retain(|offering| offering.served.has_resources() && self.opens(&resources_of(offering)));
        offerings
    }

    /// The plugin that serves its client an address: whose scheme it is, else who was approved first.
    pub(crate) fn offering_at(&self, uri: &str) -> Option<Arc<Offering>> {
        let offering = self.workspace.offering_at(uri)?;
        self.opens(&resources_of(&offering)).then_some(offering)
    }

    /// Whether its client may have a prompt; `uses` is told if not.
    pub(crate) fn may_have(&self, offering: &Offering, prompt: &Prompt, uses: Option<&Uses>) -> bool {
        let name = offering.served.full_name(prompt);
        if let (Some(denial), Some(uses)) = (self.denial(&name), uses) {
            uses.denied("access", &name, &denial.why, denial.decided_by);
        }
        self.opens(&name)
    }

    /// Whether nothing keeps its client from what has this name.
    fn opens(&self, name: &str) -> bool {
        self.workspace.is_name_on(name) && self.denial(name).is_none()
    }
}
