//! The question about a host that the list of a profile does not cover, as a rule that asks.

use std::borrow::Cow;

use super::{CallRule, Channel, DEFAULT_WITHIN, Programs, Then};
use crate::Policy;
use crate::circumstances::Conditions;
use crate::profile::{Profile, UnknownHosts};
use crate::rule::Source;

/// Stands for the tool in approvals of a connection. No tool has such a name.
pub const CONNECTION: &str = "connect to a host";

impl Profile {
    /// Returns the rule by which somebody is asked about unknown hosts; `None` if they are refused.
    pub fn host_rule(&self) -> Option<CallRule> {
        let asked = &self.unknown_hosts;
        asked.value.asks().then(|| rule(&self.name, asked.value, asked.source))
    }
}

impl Policy {
    /// Returns everything that asks: the rules about calls, and those about unknown hosts of each profile. A restriction
    /// for some can make the latter stricter, so each stricter form is among them.
    pub fn asking(&self) -> impl Iterator<Item = Cow<'_, CallRule>> {
        let hosts = self.shell.profiles.values().flat_map(|profile| {
            let asked = &profile.unknown_hosts;
            let forms = UnknownHosts::ALL.into_iter().filter(|form| form.asks() && *form <= asked.value);
            forms.map(|form| Cow::Owned(rule(&profile.name, form, asked.source)))
        });
        self.calls.0.iter().map(Cow::Borrowed).chain(hosts)
    }
}

/// It has no condition, which no rule of a file lacks, so its text is never that of another rule.
fn rule(profile: &str, asked: UnknownHosts, source: Source) -> CallRule {
    CallRule {
        name: format!("unknown_hosts of {profile}"),
        tools: Vec::new(),
        arguments: Vec::new(),
        programs: Programs::default(),
        conditions: Conditions::default(),
        then: Then::Ask,
        own: asked == UnknownHosts::AskWeak,
        channel: if asked == UnknownHosts::AskApprover { Channel::Strong } else { Channel::Weak },
        who: Vec::new(),
        within: DEFAULT_WITHIN,
        remember: Vec::new(),
        reports: false,
        reason: None,
        source,
    }
}
