//! `[tools]` and `[plugins]`: what may be called, and what may be installed.

use std::fmt;

use crate::names::NamePattern;
use crate::problem::{Invalid, shorten};
use crate::source::{Source, Sourced};

/// Rules that allow and rules that deny; what is denied is so whatever is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules<T> {
    /// What may be.
    pub allow: Vec<Sourced<T>>,
    /// Where `allow` stands.
    pub allow_origin: Source,
    /// What may not be.
    pub deny: Vec<Sourced<T>>,
    /// Where `deny` stands.
    pub deny_origin: Source,
    /// What holds for all users, where this narrows it: asked first, so that a refusal of its own names its line.
    pub outer: Option<Box<Rules<T>>>,
}

impl<T> Rules<T> {
    fn all(any: T) -> Self {
        Self {
            allow: vec![Sourced::builtin(any)],
            allow_origin: Source::Builtin,
            deny: Vec::new(),
            deny_origin: Source::Builtin,
            outer: None,
        }
    }

    /// The rule that keeps something closed, or that there is none which opens it; `about` says whether a
    /// rule is about it.
    fn check(&self, about: impl Fn(&T) -> bool + Copy) -> Result<&Sourced<T>, Closed<'_, T>> {
        if let Some(outer) = &self.outer {
            outer.check(about)?;
        }
        if let Some(rule) = self.deny.iter().find(|rule| about(&rule.value)) {
            return Err(Closed::By(rule));
        }
        self.allow.iter().find(|rule| about(&rule.value)).ok_or(Closed::NotListed(self.allow_origin))
    }
}

enum Closed<'a, T> {
    By(&'a Sourced<T>),
    NotListed(Source),
}

impl<T: fmt::Display> Closed<'_, T> {
    fn refusal(&self, what: &str, table: &str) -> Refusal {
        match self {
            Self::By(rule) => Refusal {
                why: format!(
                    "{what} is denied by \"{}\" in `deny` of [{table}] ({})",
                    rule.value, rule.source
                ),
                decided_by: rule.source,
            },
            Self::NotListed(origin) => Refusal {
                why: format!("{what} is not in `allow` of [{table}] ({origin})"),
                decided_by: *origin,
            },
        }
    }
}

/// That something stays closed: a sentence, and the line that decides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// The sentence, which names the line.
    pub why: String,
    /// The line.
    pub decided_by: Source,
}

/// Which tools may be called, whoever made them.
pub type ToolsPolicy = Rules<NamePattern>;

impl ToolsPolicy {
    pub(crate) fn builtin() -> Self {
        Self::all(NamePattern::any())
    }

    /// The rule that lets a tool be called, or a sentence that names what keeps it closed.
    pub fn check_tool(&self, name: &str) -> Result<&Sourced<NamePattern>, Refusal> {
        let closed = |closed: Closed<'_, _>| closed.refusal(&format!("tool {}", shorten(name)), "tools");
        self.check(|pattern| pattern.covers(name)).map_err(closed)
    }
}

/// Which plugins may be installed and run, and who approves what they ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginsPolicy {
    /// By name and content.
    pub rules: Rules<PluginPattern>,
    /// Who approves.
    pub approve: Sourced<Approve>,
}

/// Who may approve what a plugin asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approve {
    /// A person, at a terminal.
    Person,
    /// Nobody but this policy: what it lists with its hash is approved by that.
    Policy,
}

impl Approve {
    /// Its words in the file.
    pub(crate) const WORDS: &'static [&'static str] = &["person", "policy"];
}

impl fmt::Display for Approve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Person => "person",
            Self::Policy => "policy",
        })
    }
}

/// A plugin by its name, by the hash of all of it, or by both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginPattern {
    name: NamePattern,
    /// 64 hexadecimal digits in small letters.
    hash: Option<String>,
}

const SHA256: &str = "sha256:";

impl PluginPattern {
    /// Reads `weather`, `team-*`, `sha256:…` or `weather@sha256:…`.
    pub(crate) fn parse(text: &str) -> Result<Self, Invalid> {
        let Some((name, digits)) = text.split_once(SHA256) else {
            if text.contains(['@', ':']) {
                let what = format!("plugin \"{}\" has something behind its name", shorten(text));
                return Err(Invalid::new(what, "write the name alone, or NAME@sha256: and its hash"));
            }
            return Ok(Self { name: NamePattern::parse(text, "plugin")?, hash: None });
        };
        let is_hash = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let name = match name.strip_suffix('@') {
            Some(name) => NamePattern::parse(name, "plugin").map(Some)?,
            None => name.is_empty().then(NamePattern::any),
        };
        match name {
            Some(name) if is_hash => Ok(Self { name, hash: Some(digits.to_ascii_lowercase()) }),
            _ => Err(Invalid::new(
                format!("plugin \"{}\" has no valid hash", shorten(text)),
                "write NAME@sha256: and the 64 digits that `scorpiox-code plugin hash` prints",
            )),
        }
    }

    /// Whether a plugin is meant.
    pub fn covers(&self, name: &str, hash: &str) -> bool {
        self.name.covers(name) && self.hash.as_ref().is_none_or(|own| own == hash)
    }

    /// Whether the content is meant, not the name alone.
    pub fn is_by_content(&self) -> bool {
        self.hash.is_some()
    }

    pub(crate) fn meet(&self, other: &Self) -> Option<Self> {
        let name = self.name.meet(&other.name)?;
        match (&self.hash, &other.hash) {
            (Some(own), Some(its)) if own != its => None,
            (own, its) => Some(Self { name, hash: own.clone().or_else(|| its.clone()) }),
        }
    }
}

impl fmt::Display for PluginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hash {
            None => self.name.fmt(f),
            Some(hash) if self.name == NamePattern::any() => write!(f, "{SHA256}{hash}"),
            Some(hash) => write!(f, "{}@{SHA256}{hash}", self.name),
        }
    }
}

impl PluginsPolicy {
    pub(crate) fn builtin() -> Self {
        let any = PluginPattern { name: NamePattern::any(), hash: None };
        Self { rules: Rules::all(any), approve: Sourced::builtin(Approve::Person) }
    }

    /// The rule that lets a plugin with this hash be, or a sentence that names what keeps it out.
    pub fn check(&self, name: &str, hash: &str) -> Result<&Sourced<PluginPattern>, Refusal> {
        let closed = |closed: Closed<'_, _>| closed.refusal(&format!("plugin {}", shorten(name)), "plugins");
        self.rules.check(|pattern| pattern.covers(name, hash)).map_err(closed)
    }

    /// As [`check`](Self::check), of a plugin that a person approved: where nobody but the policy approves, that is
    /// not enough.
    pub fn check_run(&self, name: &str, hash: &str) -> Result<(), Refusal> {
        self.check(name, hash)?;
        if self.approve.value == Approve::Person || self.approves(name, hash).is_some() {
            return Ok(());
        }
        let why = format!(
            "plugin {} is not listed with its hash in `allow` of [plugins], and `approve` ({}) leaves approving to the policy",
            shorten(name),
            self.approve.source
        );
        Err(Refusal { why, decided_by: self.approve.source })
    }

    /// The rules of `allow` that let a plugin of this name run by its content.
    pub fn listed<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sourced<PluginPattern>> {
        let runs = |rule: &PluginPattern| {
            let hash = rule.hash.as_deref().filter(|_| rule.name.covers(name));
            hash.is_some_and(|hash| self.check_run(name, hash).is_ok())
        };
        self.rules.allow.iter().filter(move |rule| runs(&rule.value))
    }

    /// The rule that approves a plugin with this hash in a person's place.
    pub fn approves(&self, name: &str, hash: &str) -> Option<&Sourced<PluginPattern>> {
        let rules = &self.rules;
        self.check(name, hash).ok()?;
        rules.allow.iter().find(|rule| rule.value.is_by_content() && rule.value.covers(name, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    #[test]
    fn a_plugin_is_meant_by_name_by_content_or_by_both() {
        let covers = |text: &str, name, hash| PluginPattern::parse(text).unwrap().covers(name, hash);
        assert!(covers("weather", "weather", "x") && !covers("weather", "weathers", "x"));
        assert!(
            covers(&format!("sha256:{HASH}"), "any", HASH) && !covers(&format!("sha256:{HASH}"), "any", "x")
        );
        let both = format!("weather@sha256:{HASH}");
        assert!(
            covers(&both, "weather", HASH) && !covers(&both, "other", HASH) && !covers(&both, "weather", "x")
        );
        assert_eq!(PluginPattern::parse(&both).unwrap().to_string(), both);
        for text in
            ["sha256:12", &format!("a b@sha256:{HASH}"), &format!("weathersha256:{HASH}"), "weather@sha256:"]
        {
            assert!(PluginPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_what_is_listed_with_its_hash_is_approved_by_that() {
        let mut policy = PluginsPolicy::builtin();
        assert!(policy.check("weather", HASH).is_ok() && policy.approves("weather", HASH).is_none());
        let rule = PluginPattern::parse(&format!("weather@sha256:{HASH}")).unwrap();
        policy.rules.allow = vec![Sourced::new(rule.clone(), Source::Managed(3))];
        assert!(policy.approves("weather", HASH).is_some() && policy.approves("weather", "x").is_none());
        let listed = |policy: &PluginsPolicy, name| policy.listed(name).count();
        assert!(listed(&policy, "weather") == 1 && listed(&policy, "other") == 0);
        policy.rules.deny = vec![Sourced::new(PluginPattern::parse("weather").unwrap(), Source::Line(9))];
        assert!(policy.approves("weather", HASH).is_none() && listed(&policy, "weather") == 0);
        assert_eq!(
            policy.check("weather", HASH).unwrap_err().why,
            "plugin weather is denied by \"weather\" in `deny` of [plugins] (policy.toml line 9)"
        );
    }

    #[test]
    fn a_tool_that_no_rule_opens_is_closed() {
        let mut policy = ToolsPolicy::builtin();
        assert!(policy.check_tool("Bash").is_ok());
        policy.deny = vec![Sourced::new(NamePattern::parse("B*", "tool").unwrap(), Source::Line(2))];
        assert_eq!(
            policy.check_tool("Bash").unwrap_err().why,
            "tool Bash is denied by \"B*\" in `deny` of [tools] (policy.toml line 2)"
        );
        policy.allow.clear();
        assert_eq!(
            policy.check_tool("Read").unwrap_err().why,
            "tool Read is not in `allow` of [tools] (built-in)"
        );
    }
}
