//! `[web]`: what pages may be fetched, by which rules and with which browser.
//!
//! A host is decided about before its name is looked up, and each address that it has
//! afterwards: a network among the rules speaks of addresses.

use std::fmt;
use std::net::IpAddr;

use scorpiox_rules::{File, Host, HostRule, Invalid, NetworkRule, Odd, Source, Sourced, shorten};

/// What may be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPolicy {
    /// Whether anything may.
    pub enabled: Sourced<bool>,
    /// What may.
    pub allow: Vec<WebRule>,
    /// Where `allow` stands.
    pub allow_origin: Source,
    /// What may not, whatever else says so.
    pub deny: Vec<WebRule>,
    /// Where `deny` stands.
    pub deny_origin: Source,
    /// Networks that are reached although they are not of the public internet.
    pub allow_private: Vec<NetworkRule>,
    /// Where `allow_private` stands.
    pub private_origin: Source,
    /// Which redirects are followed.
    pub redirects: Sourced<Redirects>,
    /// Whether pages may be shown in a browser.
    pub browser: Sourced<bool>,
    /// The browser's program, in place of the first that is found.
    pub browser_path: Option<Sourced<String>>,
    /// What holds for all users, where this narrows it: asked first, so that a refusal of its own names its line.
    pub outer: Option<Box<WebPolicy>>,
    /// What is closed would be opened here.
    pub file: File,
}

impl WebPolicy {
    pub(crate) fn builtin() -> Self {
        let origin = Source::Builtin;
        Self {
            enabled: Sourced::builtin(true),
            allow: vec![WebRule { pattern: WebPattern::All, source: origin }],
            allow_origin: origin,
            deny: Vec::new(),
            deny_origin: origin,
            allow_private: Vec::new(),
            private_origin: origin,
            redirects: Sourced::builtin(Redirects::SameHost),
            browser: Sourced::builtin(true),
            browser_path: None,
            outer: None,
            file: File::Own,
        }
    }
}

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Those to the host that was asked for, with or without `www.`.
    SameHost,
    /// All, each checked as the first request was.
    Any,
}

impl fmt::Display for Redirects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameHost => "same-host",
            Self::Any => "any",
        })
    }
}

/// One entry of `allow` or `deny`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebRule {
    /// What it is about.
    pub pattern: WebPattern,
    /// Who wrote it.
    pub source: Source,
}

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebPattern {
    /// Everything.
    All,
    /// A host, or all below one.
    Host(HostRule),
    /// Addresses.
    Network(NetworkRule),
}

impl WebRule {
    /// Reads `*`, a host as [`HostRule::parse`] does, or a network.
    pub fn parse(text: &str, source: Source) -> Result<Self, Invalid> {
        let pattern = match text {
            "*" => WebPattern::All,
            _ if text.contains('/') && !text.contains("//") => {
                WebPattern::Network(NetworkRule::parse(text, source)?)
            }
            _ => WebPattern::Host(HostRule::parse(text, source)?),
        };
        Ok(Self { pattern, source })
    }

    /// Whether the rule is about a host.
    fn covers(&self, host: &Host) -> bool {
        match &self.pattern {
            WebPattern::All => true,
            WebPattern::Host(rule) => rule.covers_host(host),
            WebPattern::Network(rule) => matches!(host, Host::Address(address) if rule.contains(*address)),
        }
    }

    /// Whether it allows a port. Only a host has some of its own: 80 and 443, when it names none.
    fn allows_port(&self, port: u16) -> bool {
        match &self.pattern {
            WebPattern::Host(rule) => rule.covers_port(port),
            WebPattern::All | WebPattern::Network(_) => true,
        }
    }

    /// Whether it denies a port: without one it denies all.
    fn denies_port(&self, port: u16) -> bool {
        match &self.pattern {
            WebPattern::Host(rule) => rule.port.is_none_or(|own| own == port),
            WebPattern::All | WebPattern::Network(_) => true,
        }
    }

    /// What both rules are about, if anything. A name and a network are about nothing in common: which
    /// addresses a name has is known only when it is asked for.
    pub(crate) fn meet(&self, other: &Self) -> Option<Self> {
        match (&self.pattern, &other.pattern) {
            (_, WebPattern::All) => Some(self.clone()),
            (WebPattern::All, _) => Some(other.clone()),
            (WebPattern::Host(one), WebPattern::Host(two)) => {
                let met = one.meet(two)?;
                Some(Self { source: met.source, pattern: WebPattern::Host(met) })
            }
            (WebPattern::Network(one), WebPattern::Network(two)) => {
                let met = one.meet(two)?;
                Some(Self { source: met.source, pattern: WebPattern::Network(met) })
            }
            (WebPattern::Host(host), WebPattern::Network(network)) => {
                host.is_in(network).then(|| self.clone())
            }
            (WebPattern::Network(network), WebPattern::Host(host)) => {
                host.is_in(network).then(|| other.clone())
            }
        }
    }
}

impl fmt::Display for WebRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            WebPattern::All => f.write_str("*"),
            WebPattern::Host(rule) => rule.fmt(f),
            WebPattern::Network(rule) => rule.fmt(f),
        }
    }
}

/// Why something is not fetched; a sentence that names what decides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WebDenial(pub String);

/// What is known of a host before it is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebVerdict<'a> {
    /// Allowed by this rule, unless one of its addresses is denied.
    Allowed(&'a WebRule),
    /// Allowed if a rule about networks allows all its addresses.
    ByAddress,
}

impl WebPolicy {
    /// Whether a host may be asked for; an IPv6 address stands in brackets.
    pub fn check_host(&self, host: &str, port: u16) -> Result<WebVerdict<'_>, WebDenial> {
        if let Some(outer) = &self.outer {
            outer.check_host(host, port)?;
        }
        if !self.enabled.value {
            return Err(WebDenial(format!(
                "the web is switched off by `enabled = false` in [web] ({})",
                self.enabled.source
            )));
        }
        let parsed = Host::parse(host).map_err(|odd| match odd {
            Odd::Name => WebDenial(format!("\"{}\" is not a plain host name", shorten(host))),
            Odd::Address(Some(plain)) => WebDenial(format!(
                "\"{}\" is an unusual spelling of the address {plain}; ask for that",
                shorten(host)
            )),
            Odd::Address(None) => WebDenial(format!("\"{}\" is not a plain address", shorten(host))),
        })?;
        if let Some(rule) = self.deny.iter().find(|rule| rule.covers(&parsed) && rule.denies_port(port)) {
            return Err(denied_by(host, rule));
        }
        let mut about = self.allow.iter().filter(|rule| rule.covers(&parsed)).peekable();
        let on_other_ports = about.peek().copied();
        if let Some(rule) = about.find(|rule| rule.allows_port(port)) {
            return Ok(WebVerdict::Allowed(rule));
        }
        let networks = self.allow.iter().any(|rule| matches!(rule.pattern, WebPattern::Network(_)));
        match parsed {
            Host::Name(_) if networks => Ok(WebVerdict::ByAddress),
            _ => Err(on_other_ports
                .map_or_else(|| self.not_listed(host), |rule| other_port(host, port, rule, self.file))),
        }
    }

    /// Whether a host may be reached at an address, which it has or is. That the address is
    /// one of the public internet, or of `allow_private`, is checked elsewhere.
    pub fn check_address(
        &self,
        host: &str,
        address: IpAddr,
        verdict: &WebVerdict<'_>,
    ) -> Result<(), WebDenial> {
        if let Some(outer) = &self.outer {
            outer.check_address(host, address, &outer.verdict_of(host))?;
        }
        let about = |rules: &'_ [WebRule]| {
            rules.iter().position(
                |rule| matches!(&rule.pattern, WebPattern::Network(network) if network.contains(address)),
            )
        };
        if let Some(rule) = about(&self.deny).and_then(|at| self.deny.get(at)) {
            return Err(denied_by(&format!("{host} ({address})"), rule));
        }
        match verdict {
            WebVerdict::ByAddress if about(&self.allow).is_none() => Err(self.not_listed(host)),
            _ => Ok(()),
        }
    }

    /// Whether a host that was let through was so by its name.
    fn verdict_of(&self, host: &str) -> WebVerdict<'_> {
        let named = Host::parse(host).ok().and_then(|host| self.allow.iter().find(|rule| rule.covers(&host)));
        named.map_or(WebVerdict::ByAddress, WebVerdict::Allowed)
    }

    fn not_listed(&self, host: &str) -> WebDenial {
        WebDenial(format!(
            "{host} is not in `allow` of [web] ({}); to allow it, add \"{host}\" to it in {}",
            self.allow_origin, self.file
        ))
    }
}

fn other_port(host: &str, port: u16, rule: &WebRule, file: File) -> WebDenial {
    WebDenial(format!(
        "port {port} of {host} is not allowed by \"{rule}\" in `allow` of [web] ({}); to allow it, add \"{host}:{port}\" to \
         it in {file}",
        rule.source
    ))
}

fn denied_by(host: &str, rule: &WebRule) -> WebDenial {
    WebDenial(format!("{host} is denied by \"{rule}\" in `deny` of [web] ({})", rule.source))
}

#[cfg(test)]
mod tests;
