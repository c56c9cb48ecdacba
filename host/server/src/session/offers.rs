//! The prompts and resources of plugins that are available to a session's client.
//!
//! Settings, the policy and its access rules refer to a prompt as `PLUGIN.PROMPT`, and to all resources of a
//! plugin as `PLUGIN.resources`.

use std::collections::BTreeMap;
use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_tools::Tool;
use scorpiox_tools::offers::Prompt;
use scorpiox_tools::plugins::Offering;

use super::access::Access;
use crate::list_changed::{Offered, PerList, prompts_digest, resources_digest, tools_digest};

/// Returns the common name of all resources of a plugin.
fn resources_of(offering: &Offering) -> String {
    format!("{}.resources", offering.served.plugin())
}

/// Digests of the part of the plugin lists that is available to the client, used to detect changes.
impl Access<'_> {
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

impl Access<'_> {
    /// Returns the plugins that offer prompts or resources, regardless of access.
    pub(crate) fn offerings(&self) -> Vec<Arc<Offering>> {
        self.workspace.plugins.offerings()
    }

    /// Returns the plugins whose resources are available to the client.
    pub(crate) fn resourceful(&self) -> Vec<Arc<Offering>> {
        let mut offerings = self.offerings();
        offerings.retain(|offering| self.opens_resources(offering));
        offerings
    }

    fn opens_resources(&self, offering: &Offering) -> bool {
        offering.served.has_resources() && self.opens(&resources_of(offering))
    }

    /// Returns the plugin that serves a URI to the client. The owner of the URI's scheme wins, then the
    /// plugin that was approved first. Records a denial in `uses`.
    pub(crate) fn offering_at(&self, uri: &str, uses: Option<&Uses>) -> Option<Arc<Offering>> {
        let offering = self.workspace.offering_at(uri)?;
        self.admits(&resources_of(&offering), uses).then_some(offering)
    }

    /// Returns `true` if the client may use a prompt. Records a denial in `uses`.
    pub(crate) fn may_have(&self, offering: &Offering, prompt: &Prompt, uses: Option<&Uses>) -> bool {
        self.admits(&offering.served.full_name(prompt), uses)
    }

    /// Returns `true` if a name is open to the client. Records a denial by an access rule in `uses`.
    fn admits(&self, name: &str, uses: Option<&Uses>) -> bool {
        if let (Some(denial), Some(uses)) = (self.denial(name), uses) {
            uses.denied("access", name, &denial.why, denial.decided_by);
        }
        self.opens(name)
    }

    /// Returns `true` if a name is open to the client.
    fn opens(&self, name: &str) -> bool {
        self.workspace.is_name_on(name) && self.denial(name).is_none()
    }
}
