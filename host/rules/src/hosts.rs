//! Hosts that a command may reach.
//!
//! A rule is written by the operator, the host that is asked for by whoever. What is not
//! spelled in the one plain way is denied, since two programs may read it differently.
//! Which addresses a name resolves to is checked by the proxy, not here.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::invalid::{Invalid, shorten};
use crate::network::NetworkRule;
use crate::source::{File, Source};

/// Longest name in DNS, in bytes, without the final dot.
const MAX_NAME_BYTES: usize = 253;
/// Longest part of a name between dots.
const MAX_LABEL_BYTES: usize = 63;
/// The ports of a rule that names none: plain and encrypted HTTP.
const WEB_PORTS: [u16; 2] = [80, 443];

/// What part of a rule is about the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// This name alone; lower case, no final dot.
    Exact(String),
    /// All names below this one, at any depth, without itself.
    Below(String),
    /// This address.
    Address(IpAddr),
}

/// One entry of `hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// The host.
    pub pattern: HostPattern,
    /// The port; `None` for 80 and 443.
    pub port: Option<u16>,
    /// Who wrote it.
    pub source: Source,
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            HostPattern::Exact(name) => f.write_str(name)?,
            HostPattern::Below(name) => write!(f, "*.{name}")?,
            HostPattern::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            HostPattern::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl HostRule {
    /// Reads `example.com`, `*.example.com`, `192.0.2.7` or `[2001:db8::1]`, each with
    /// or without `:port`.
    pub fn parse(text: &str, source: Source) -> Result<Self, Invalid> {
        let (host, port) = split_port(text)?;
        let pattern = parse_pattern(text, host)?;
        Ok(Self { pattern, port, source })
    }

    /// Whether the rule is for this port.
    pub fn covers_port(&self, port: u16) -> bool {
        self.port.map_or(WEB_PORTS.contains(&port), |own| own == port)
    }

    /// Whether the rule is about this host.
    pub fn covers_host(&self, host: &Host) -> bool {
        match (&self.pattern, host) {
            (HostPattern::Exact(own), Host::Name(name)) => own == name,
            (HostPattern::Below(own), Host::Name(name)) => is_below(name, own),
            (HostPattern::Address(own), Host::Address(address)) => own == address,
            _ => false,
        }
    }

    /// Whether all that it is about lies in a network.
    pub fn is_in(&self, network: &NetworkRule) -> bool {
        matches!(self.pattern, HostPattern::Address(address) if network.contains(address))
    }

    /// What both rules allow, if anything.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let (pattern, source) = match (&self.pattern, &other.pattern) {
            (own, its) if own == its => (own, self.source),
            (HostPattern::Exact(name) | HostPattern::Below(name), HostPattern::Below(top))
                if is_below(name, top) =>
            {
                (&self.pattern, self.source)
            }
            (HostPattern::Below(top), HostPattern::Exact(name) | HostPattern::Below(name))
                if is_below(name, top) =>
            {
                (&other.pattern, other.source)
            }
            _ => return None,
        };
        let port = match (self.port, other.port) {
            (own, its) if own == its => own,
            (Some(port), None) | (None, Some(port)) if WEB_PORTS.contains(&port) => Some(port),
            _ => return None,
        };
        Some(Self { pattern: pattern.clone(), port, source })
    }
}

/// Whether one of the rules is about this host, an IPv6 address in brackets, and the port.
pub fn covers(rules: &[HostRule], host: &str, port: u16) -> bool {
    let Ok(host) = Host::parse(host) else { return false };
    rules.iter().any(|rule| rule.covers_host(&host) && rule.covers_port(port))
}

fn is_below(name: &str, top: &str) -> bool {
    name.strip_suffix(top).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

fn invalid(text: &str, why: &str, fix: &str) -> Invalid {
    Invalid::new(format!("host \"{}\" {why}", shorten(text)), fix)
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), Invalid> {
    let after_address = text.rfind(']').map_or(0, |end| end + 1);
    let Some(colon) = text[after_address..].rfind(':').map(|at| at + after_address) else {
        return Ok((text, None));
    };
    let (host, port) = (&text[..colon], &text[colon + 1..]);
    if text.contains("//") || port.contains('/') {
        return Err(invalid(
            text,
            "is an address of a page",
            "write the host alone, such as \"example.com\"",
        ));
    }
    if host.contains(':') && after_address == 0 {
        return Err(invalid(text, "is an IPv6 address without brackets", "write it as \"[2001:db8::1]\""));
    }
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(number @ 1..) if digits => Ok((host, Some(number))),
        _ => Err(invalid(text, "has no valid port", "write a port from 1 to 65535 after the colon, or none")),
    }
}

fn parse_pattern(text: &str, host: &str) -> Result<HostPattern, Invalid> {
    let name_fix = "write a name such as \"example.com\" or \"*.example.com\"";
    if !host.is_ascii() {
        return Err(invalid(text, "is not ASCII", "write its xn-- form (Punycode)"));
    }
    if host.contains('/') {
        return Err(invalid(text, "has a slash", "write the host alone, such as \"example.com\""));
    }
    if host == "*" {
        let fix = "to open the whole network write network = { mode = \"open\" }";
        return Err(invalid(text, "stands for every host", fix));
    }
    let (below, name) = host.strip_prefix("*.").map_or((false, host), |rest| (true, rest));
    if name.contains('*') {
        return Err(invalid(text, "has a `*` that is not the whole first part", name_fix));
    }
    match Host::parse(name) {
        Ok(Host::Name(name)) if below => Ok(HostPattern::Below(name)),
        Ok(Host::Name(name)) => Ok(HostPattern::Exact(name)),
        Ok(Host::Address(address)) if !below => Ok(HostPattern::Address(address)),
        Err(Odd::Address(Some(plain))) => {
            Err(invalid(text, "is an unusual spelling of an address", &format!("write \"{plain}\"")))
        }
        Ok(Host::Address(_)) | Err(Odd::Address(None)) => {
            let fix = "write an address as \"192.0.2.7\" or \"[2001:db8::1]\", without `*` and zone";
            Err(invalid(text, "is not a plain address", fix))
        }
        Err(Odd::Name) => Err(invalid(text, "is not a host name", name_fix)),
    }
}

/// A host in its one plain spelling.
pub enum Host {
    /// A name; lower case, no final dot.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A host that is not spelled plainly.
pub enum Odd {
    /// No name at all.
    Name,
    /// Reads like an address to some; with the plain spelling if there is one.
    Address(Option<String>),
}

impl Host {
    /// Reads what was asked for; an IPv6 address stands in brackets.
    pub fn parse(text: &str) -> Result<Self, Odd> {
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return parse_v6(inner);
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let labels_fit = name.split('.').all(is_label);
        if name.len() > MAX_NAME_BYTES || !labels_fit {
            return Err(Odd::Name);
        }
        if !ends_in_number(&name) {
            return Ok(Self::Name(name));
        }
        match name.parse() {
            Ok(address) if name.len() == text.len() => Ok(Self::Address(IpAddr::V4(address))),
            Ok(address) => Err(Odd::Address(Some(address.to_string()))),
            Err(_) => Err(Odd::Address(None)),
        }
    }
}

fn parse_v6(inner: &str) -> Result<Host, Odd> {
    let Ok(address) = inner.parse::<Ipv6Addr>() else {
        let addressish = inner.bytes().all(|b| b.is_ascii_alphanumeric() || b":.%-_".contains(&b));
        return Err(if addressish { Odd::Address(None) } else { Odd::Name });
    };
    if let Some(v4) = address.to_ipv4_mapped() {
        return Err(Odd::Address(Some(v4.to_string())));
    }
    if inner.eq_ignore_ascii_case(&address.to_string()) {
        Ok(Host::Address(IpAddr::V6(address)))
    } else {
        Err(Odd::Address(Some(format!("[{address}]"))))
    }
}

fn is_label(label: &str) -> bool {
    let fits = (1..=MAX_LABEL_BYTES).contains(&label.len());
    let plain = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    fits && plain && !label.starts_with('-') && !label.ends_with('-')
}

/// What URL parsers take for an IPv4 address: <https://url.spec.whatwg.org/#ends-in-a-number-checker>.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    hex || last.bytes().all(|b| b.is_ascii_digit())
}

/// The hosts of an allowlist; an empty one denies everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    rules: Vec<HostRule>,
    /// What is closed would be opened here.
    file: File,
}

/// What is said to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostDecision<'a> {
    /// Allowed by this rule.
    Allowed(&'a HostRule),
    /// Not allowed.
    Denied(Denial),
}

/// Why a host is denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Other bytes than letters, digits, `-`, `.` and `_`, or parts that no name has.
    #[error("\"{0}\" is not a plain host name; no line of the policy allows it")]
    OddName(String),
    /// Reads like an address to some programs.
    #[error("\"{host}\" is an unusual spelling of an address{}", plain_form(plain.as_deref()))]
    OddAddress {
        /// The host as asked for, shortened.
        host: String,
        /// The usual spelling, if there is one.
        plain: Option<String>,
    },
    /// A host that no rule is about.
    #[error(
        "{host} is not among the allowed hosts; to allow it, add \"{line}\" to `hosts` of the profile's network in {file}"
    )]
    NotListed {
        /// The host, in lower case.
        host: String,
        /// The entry to write.
        line: String,
        /// Where to.
        file: File,
    },
    /// A host that is allowed on other ports.
    #[error(
        "port {port} of {host} is not allowed by \"{rule}\" ({source_line}); to allow it, add \"{line}\" to `hosts` of the profile's network in {file}"
    )]
    Port {
        /// The host, in lower case.
        host: String,
        /// The port that was asked for.
        port: u16,
        /// The rule for other ports.
        rule: String,
        /// Where that rule stands.
        source_line: Source,
        /// The entry to write.
        line: String,
        /// Where to.
        file: File,
    },
}

fn plain_form(plain: Option<&str>) -> String {
    plain.map_or_else(
        || "; no line of the policy allows it".to_owned(),
        |plain| format!("; ask for {plain}, if the policy lists it"),
    )
}

impl From<Vec<HostRule>> for HostRules {
    fn from(rules: Vec<HostRule>) -> Self {
        Self { rules, file: File::Own }
    }
}

impl HostRules {
    /// The same, written in this file.
    #[must_use]
    pub fn of(self, file: File) -> Self {
        Self { file, ..self }
    }

    /// The rules in their order.
    pub fn rules(&self) -> &[HostRule] {
        &self.rules
    }

    /// Whether a command may connect to `port` of `host`, which may be any text; an
    /// IPv6 address stands in brackets. The first rule that fits is named.
    pub fn decide(&self, host: &str, port: u16) -> HostDecision<'_> {
        let plain = match Host::parse(host) {
            Ok(plain) => plain,
            Err(Odd::Name) => return HostDecision::Denied(Denial::OddName(shorten(host))),
            Err(Odd::Address(plain)) => {
                return HostDecision::Denied(Denial::OddAddress { host: shorten(host), plain });
            }
        };
        let mut about = self.rules.iter().filter(|rule| rule.covers_host(&plain)).peekable();
        let first = about.peek().copied();
        match about.find(|rule| rule.covers_port(port)) {
            Some(rule) => HostDecision::Allowed(rule),
            None => HostDecision::Denied(denial(plain, port, first, self.file)),
        }
    }
}

fn denial(host: Host, port: u16, other_port: Option<&HostRule>, file: File) -> Denial {
    let pattern = match host {
        Host::Name(name) => HostPattern::Exact(name),
        Host::Address(address) => HostPattern::Address(address),
    };
    let mut rule = HostRule { pattern, port: None, source: Source::Builtin };
    let host = rule.to_string();
    // For another rule's host the port is the point, even when it is 80 or 443.
    rule.port = (other_port.is_some() || !WEB_PORTS.contains(&port)).then_some(port);
    let line = rule.to_string();
    match other_port {
        Some(other) => {
            Denial::Port { host, port, rule: other.to_string(), source_line: other.source, line, file }
        }
        None => Denial::NotListed { host, line, file },
    }
}

#[cfg(test)]
mod tests;
