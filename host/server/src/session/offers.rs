//! What plugins offer beside tools, as far as a session's client may have it.
//!
//! Settings, the policy and its rules of access know a prompt as `PLUGIN.PROMPT`, and all resources of a plugin together
//! as `PLUGIN.resources`.

use std::collections::BTreeMap;
use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_offers::Prompt;
use scorpiox_tools::Tool;
use scorpiox_tools::plugins::Offering;

use super::Session;
use crate::list_changed::{Offered, PerList, prompts_digest, resources_digest, tools_digest};

/// What all resources of a plugin are called together.
fn resources_of(offering: &Offering) -> String {
    format!("{}.resources", offering.served.plugin())
}

/// What plugins have, as far as it is there for the client: digests, by which it is told of changes.
impl Session {
    pub(crate) fn tools_digest(&self, tools: &[Arc<Tool>], plain: &BTreeMap<String, String>) -> u64 {
        tools_digest(tools.iter().filter(|tool| self.is_open(tool)), plain)
    }

    pub(crate) fn prompts_digest(&self, offerings: &[Arc<Offering>]) -> u64 {
        prompts_digest(offerings, |name| self.opens(name))
    }

    pub(crate) fn digests(&self, offered: &Offered) -> PerList<u64> {
        let Offered { tools, plain, offerings } = offered;
        let resourceful = offerings.iter().filter(|offering| self.opens_resources(offering));
        [self.tools_digest(tools, plain), self.prompts_digest(offerings), resources_digest(resourceful)]
    }
}

impl Session {
    /// The plugins that offer something, whatever of it the client may have.
    pub(crate) fn offerings(&self) -> Vec<Arc<Offering>> {
        self.workspace.plugins.offerings()
    }

    /// The plugins whose resources its client may have.
    pub(crate) fn resourceful(&self) -> Vec<Arc<Offering>> {
        let mut offerings = self.offerings();
        offerings.retain(|offering| self.opens_resources(offering));
        offerings
    }

    fn opens_resources(&self, offering: &Offering) -> bool {
        offering.served.has_resources() && self.opens(&resources_of(offering))
    }

    /// The plugin that serves its client an address: whose scheme it is, else who was approved first. `uses` is told if
    /// it is not for the client.
    pub(crate) fn offering_at(&self, uri: &str, uses: Option<&Uses>) -> Option<Arc<Offering>> {
        let offering = self.workspace.offering_at(uri)?;
        self.admits(&resources_of(&offering), uses).then_some(offering)
    }

    /// Whether its client may have a prompt; `uses` is told if not.
    pub(crate) fn may_have(&self, offering: &Offering, prompt: &Prompt, uses: Option<&Uses>) -> bool {
        self.admits(&offering.served.full_name(prompt), uses)
    }

    /// Whether nothing keeps its client from what has this name; `uses` is told of a rule of access that does.
    fn admits(&self, name: &str, uses: Option<&Uses>) -> bool {
        if let (Some(denial), Some(uses)) = (self.denial(name), uses) {
            uses.denied("access", name, &denial.why, denial.decided_by);
        }
        self.opens(name)
    }

    /// Whether nothing keeps its client from what has this name.
    fn opens(&self, name: &str) -> bool {
        self.workspace.is_name_on(name) && self.denial(name).is_none()
    }
}
