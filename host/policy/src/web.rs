//! `[web]`: pages that may be fetched, and the browser for it.
//!
//! A host is checked before its name is resolved. Each resolved address is checked afterwards, because rules
//! about networks apply to addresses.

use std::fmt;
use std::net::IpAddr;

use crate::rule::{File, Host, HostRule, Invalid, NetworkRule, Odd, Source, Sourced, WEB_PORTS, shorten};

/// Rules for fetching web pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPolicy {
    /// `false` denies all fetches.
    pub enabled: Sourced<bool>,
    /// Hosts and networks that may be fetched from.
    pub allow: Vec<WebRule>,
    /// Source of the `allow` list.
    pub allow_origin: Source,
    /// Hosts and networks that are denied; `deny` wins over `allow`.
    pub deny: Vec<WebRule>,
    /// Source of the `deny` list.
    pub deny_origin: Source,
    /// Networks that may be reached although they are not part of the public internet.
    pub allow_private: Vec<NetworkRule>,
    /// Source of the `allow_private` list.
    pub private_origin: Source,
    /// Redirects that are followed.
    pub redirects: Sourced<Redirects>,
    /// `true` if pages may be loaded in a browser.
    pub browser: Sourced<bool>,
    /// Path of the browser's executable; `None` uses the first browser found.
    pub browser_path: Option<Sourced<String>>,
    /// Managed policy that this one narrows. It is checked first, so that its refusals cite its own line.
    pub outer: Option<Box<WebPolicy>>,
    /// Policy file to edit to allow a denied host.
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

/// Redirects that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Redirects to the requested host, with or without `www.`.
    SameHost,
    /// All redirects, each checked like the first request.
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

/// An entry of `allow` or `deny`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebRule {
    /// Pattern to match.
    pub pattern: WebPattern,
    /// Source of the rule.
    pub source: Source,
}

/// Hosts or addresses that a rule matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebPattern {
    /// Everything.
    All,
    /// A host, or all its subdomains.
    Host(HostRule),
    /// A range of addresses.
    Network(NetworkRule),
}

impl WebRule {
    /// Parses `*`, a host as [`HostRule::parse`] does, or a network.
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

    /// Returns `true` if the rule matches a host.
    fn covers(&self, host: &Host) -> bool {
        match &self.pattern {
            WebPattern::All => true,
            WebPattern::Host(rule) => rule.covers_host(host),
            WebPattern::Network(rule) => matches!(host, Host::Address(address) if rule.contains(*address)),
        }
    }

    /// Returns `true` if the rule allows a port. Only host rules restrict ports: to 80 and 443 if the rule
    /// names no port.
    fn allows_port(&self, port: u16) -> bool {
        match &self.pattern {
            WebPattern::Host(rule) => rule.covers_port(port),
            WebPattern::All | WebPattern::Network(_) => true,
        }
    }

    /// Returns `true` if the rule denies a port. A rule without a port denies every port.
    fn denies_port(&self, port: u16) -> bool {
        match &self.pattern {
            WebPattern::Host(rule) => rule.port.is_none_or(|own| own == port),
            WebPattern::All | WebPattern::Network(_) => true,
        }
    }

    /// Returns the intersection of two rules, if there is one. A host name and a network have none, because
    /// the addresses of a name are known only when it is resolved.
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

/// Reason why a fetch is denied, as a sentence that names the deciding rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WebDenial(pub String);

/// Decision about a host before its name is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebVerdict<'a> {
    /// Allowed by this rule, unless one of the host's addresses is denied.
    Allowed(&'a WebRule),
    /// Allowed only if network rules allow all addresses of the host.
    ByAddress,
}

impl WebPolicy {
    /// Checks if a host may be contacted. An IPv6 address has to be in brackets.
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
            return Err(self.denied_by(host, rule));
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
                .map_or_else(|| self.not_listed(host, port), |rule| other_port(host, port, rule, self.file))),
        }
    }

    /// Returns `true` if a host may be contacted on any port, unless one of its addresses is denied.
    pub fn opens(&self, host: &str) -> bool {
        let named = self.allow.iter().filter_map(|rule| match &rule.pattern {
            WebPattern::Host(rule) => rule.port,
            WebPattern::All | WebPattern::Network(_) => None,
        });
        named.chain(WEB_PORTS).any(|port| self.check_host(host, port).is_ok())
    }

    /// Checks if a host may be contacted at one of its addresses. An address in `deny` counts under each name that
    /// leads to it. The caller checks that the address is part of the public internet or of `allow_private`.
    pub fn check_address(
        &self,
        (host, port): (&str, u16),
        address: IpAddr,
        verdict: &WebVerdict<'_>,
    ) -> Result<(), WebDenial> {
        if let Some(outer) = &self.outer {
            outer.check_address((host, port), address, &outer.verdict_of(host))?;
        }
        let denies = |rule: &&WebRule| rule.covers(&Host::Address(address)) && rule.denies_port(port);
        if let Some(rule) = self.deny.iter().find(denies) {
            return Err(self.denied_by(&format!("{host} ({address})"), rule));
        }
        let is_network = |rule: &WebRule| matches!(&rule.pattern, WebPattern::Network(network) if network.contains(address));
        match verdict {
            WebVerdict::ByAddress if !self.allow.iter().any(is_network) => Err(self.not_listed(host, port)),
            _ => Ok(()),
        }
    }

    /// Returns how `check_host` allowed a host: by a rule that matches it, or subject to its addresses.
    fn verdict_of(&self, host: &str) -> WebVerdict<'_> {
        let named = Host::parse(host).ok().and_then(|host| self.allow.iter().find(|rule| rule.covers(&host)));
        named.map_or(WebVerdict::ByAddress, WebVerdict::Allowed)
    }

    fn not_listed(&self, host: &str, port: u16) -> WebDenial {
        // An entry without a port is about the usual ones.
        let entry = if WEB_PORTS.contains(&port) { host.to_owned() } else { format!("{host}:{port}") };
        WebDenial(format!(
            "{host} is not in `allow` of [web] ({}); to allow it, {}",
            self.allow_origin,
            allowing(&entry, self.file)
        ))
    }

    fn denied_by(&self, host: &str, rule: &WebRule) -> WebDenial {
        let denied = format!("{host} is denied by \"{rule}\" in `deny` of [web] ({})", rule.source);
        // A wider entry is a decision about more than this host.
        let entry = Some(rule.to_string());
        let entry =
            entry.filter(|entry| matches!(rule.pattern, WebPattern::Host(_)) && !entry.starts_with('*'));
        let entry = entry.filter(|_| self.file == File::Own && matches!(rule.source, Source::Line(_)));
        WebDenial(match entry.and_then(|entry| scorpiox_text::argument(&entry)) {
            Some(entry) => {
                format!("{denied}; the person can allow it: `scorpiox-code policy allow page {entry}`")
            }
            None => denied,
        })
    }
}

/// Describes how a person adds a host to `allow`, as the end of a sentence.
fn allowing(entry: &str, file: File) -> String {
    match scorpiox_text::argument(entry).filter(|_| file == File::Own) {
        Some(host) => format!("the person can run `scorpiox-code policy allow page {host}`"),
        None => format!("add {entry:?} to it in {file}"),
    }
}

fn other_port(host: &str, port: u16, rule: &WebRule, file: File) -> WebDenial {
    WebDenial(format!(
        "port {port} of {host} is not allowed by \"{rule}\" in `allow` of [web] ({}); to allow it, {}",
        rule.source,
        allowing(&format!("{host}:{port}"), file)
    ))
}

#[cfg(test)]
mod tests;
