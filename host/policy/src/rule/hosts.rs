//! Hosts that a command may contact.
//!
//! The operator writes the rules, but anybody may choose the host of a request. Any spelling other than the
//! canonical one is denied, because two programs could parse it differently. The proxy checks the addresses
//! that a name resolves to.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::profile::DEFAULT_PROFILE;
use crate::rule::invalid::{Invalid, shorten};
use crate::rule::local::local_entry;
use crate::rule::network::NetworkRule;
use crate::rule::source::{File, Source};

/// Maximum length of a DNS name, in bytes, without the final dot.
const MAX_NAME_BYTES: usize = 253;
/// Maximum length of a label, in bytes.
const MAX_LABEL_BYTES: usize = 63;
/// Ports of a rule that names none: HTTP and HTTPS.
pub(crate) const WEB_PORTS: [u16; 2] = [80, 443];

/// Host part of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// Exactly this name; lowercase, without a final dot.
    Exact(String),
    /// All subdomains of this name at any depth, but not the name itself.
    Below(String),
    /// Exactly this address.
    Address(IpAddr),
}

/// An entry of `hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// Host part.
    pub pattern: HostPattern,
    /// Port; `None` means 80 and 443.
    pub port: Option<u16>,
    /// Source of the rule.
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
    /// Parses `example.com`, `*.example.com`, `192.0.2.7` or `[2001:db8::1]`, each with or without `:port`.
    pub fn parse(text: &str, source: Source) -> Result<Self, Invalid> {
        let (host, port) = split_port(text)?;
        let pattern = parse_pattern(text, host)?;
        Ok(Self { pattern, port, source })
    }

    /// Returns `true` if the rule covers this port.
    pub fn covers_port(&self, port: u16) -> bool {
        self.port.map_or(WEB_PORTS.contains(&port), |own| own == port)
    }

    /// Returns `true` if the rule covers this host.
    pub fn covers_host(&self, host: &Host) -> bool {
        match (&self.pattern, host) {
            (HostPattern::Exact(own), Host::Name(name)) => own == name,
            (HostPattern::Below(own), Host::Name(name)) => is_below(name, own),
            (HostPattern::Address(own), Host::Address(address)) => own == address,
            _ => false,
        }
    }

    /// Returns `true` if every host that the rule covers lies in a network.
    pub fn is_in(&self, network: &NetworkRule) -> bool {
        matches!(self.pattern, HostPattern::Address(address) if network.contains(address))
    }

    /// Returns `true` if the rule opens a host and port that `all` covers. Without a port, `all` stands for every port.
    pub fn opens_some_of(&self, all: &Self) -> bool {
        let all = Self { port: all.port.or(self.port), ..all.clone() };
        self.meet(&all).is_some()
    }

    /// Returns the intersection of two rules, if there is one.
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

/// Returns `true` if any rule covers this host and port; an IPv6 address has to be in brackets.
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

/// URL schemes of supported requests.
const WEB_SCHEMES: [&str; 2] = ["http", "https"];

fn split_port(text: &str) -> Result<(&str, Option<u16>), Invalid> {
    let after_address = text.rfind(']').map_or(0, |end| end + 1);
    let Some(colon) = text[after_address..].rfind(':').map(|at| at + after_address) else {
        return Ok((text, None));
    };
    let (host, port) = (&text[..colon], &text[colon + 1..]);
    if let Some((scheme, _)) = text.split_once("://").filter(|(scheme, _)| !WEB_SCHEMES.contains(scheme)) {
        let fix = "requests are made by http and https alone; write the host of one, such as \"example.com\"";
        return Err(invalid(text, &format!("is no host: {scheme}:// is no way to the web"), fix));
    }
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

/// A host in canonical spelling.
pub enum Host {
    /// A name; lowercase, without a final dot.
    Name(String),
    /// An IP address.
    Address(IpAddr),
}

/// Reason why a host is not in canonical spelling.
pub enum Odd {
    /// Not a valid host name.
    Name,
    /// Some programs parse it as an address; contains the canonical spelling, if there is one.
    Address(Option<String>),
}

impl Host {
    /// Parses a requested host; an IPv6 address has to be in brackets.
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

/// Returns `true` if URL parsers read the name as an IPv4 address:
/// <https://url.spec.whatwg.org/#ends-in-a-number-checker>.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    hex || last.bytes().all(|b| b.is_ascii_digit())
}

/// Hosts of an allowlist; an empty list denies everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    rules: Vec<HostRule>,
    /// Policy file to edit to allow a denied host.
    file: File,
    /// Profile that has the list; empty for the default one.
    profile: String,
}

/// Decision about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostDecision<'a> {
    /// Allowed by this rule.
    Allowed(&'a HostRule),
    /// Not allowed.
    Denied(Denial),
}

/// Describes how a person allows a host for commands.
fn allowing(line: &str, profile: &str, file: File) -> String {
    if let Some(entry) = local_entry(line) {
        let profile = if profile.is_empty() { DEFAULT_PROFILE } else { profile };
        return format!(
            "commands have a localhost of their own. To open a service of the machine, add `local = [\"{entry}\"]` to \
             [shell.profile.{profile}] in {file}"
        );
    }
    // A profile with this character is narrowed by another, so both have a list.
    if file != File::Own || profile.contains('+') {
        return format!("to allow it, add \"{line}\" to `hosts` of the profile's network in {file}");
    }
    let Some(host) = scorpiox_text::argument(line) else {
        return format!("to allow it, add {line:?} to `hosts` of the profile's network in {file}");
    };
    let option = if profile.is_empty() { "" } else { &format!(" --profile {profile}") };
    format!("to allow it, the person can run `scorpiox-code policy allow host {host}{option}`")
}

/// Reason why a host is denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Contains characters other than letters, digits, `-`, `.` and `_`, or labels that no name can have.
    #[error("\"{0}\" is not a plain host name; no line of the policy allows it")]
    OddName(String),
    /// Some programs parse the host as an address.
    #[error("\"{host}\" is an unusual spelling of an address{}", plain_form(plain.as_deref()))]
    OddAddress {
        /// Requested host, shortened.
        host: String,
        /// Canonical spelling, if there is one.
        plain: Option<String>,
    },
    /// No rule covers the host.
    #[error("{host} is not among the allowed hosts; {}", allowing(line, profile, *file))]
    NotListed {
        /// Host in lowercase.
        host: String,
        /// Entry to add.
        line: String,
        /// Profile that has the list; empty for the default one.
        profile: String,
        /// File to add it to.
        file: File,
    },
    /// The host is allowed on other ports only.
    #[error("port {port} of {host} is not allowed by \"{rule}\" ({source_line}); {}", allowing(line, profile, *file))]
    Port {
        /// Host in lowercase.
        host: String,
        /// Requested port.
        port: u16,
        /// Rule that allows other ports.
        rule: String,
        /// Source of that rule.
        source_line: Source,
        /// Entry to add.
        line: String,
        /// Profile that has the list; empty for the default one.
        profile: String,
        /// File to add it to.
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
        Self { rules, file: File::Own, profile: String::new() }
    }
}

impl HostRules {
    /// Sets the profile and the file that denials refer to.
    #[must_use]
    pub fn of(self, profile: &str, file: File) -> Self {
        let profile = if profile == DEFAULT_PROFILE { "" } else { profile };
        Self { file, profile: profile.to_owned(), ..self }
    }

    /// Returns the list entry that allows a host; `None` if no entry can.
    pub fn entry(host: &str, port: u16) -> Option<String> {
        match Self::from(Vec::new()).decide(host, port) {
            HostDecision::Denied(Denial::NotListed { line, .. }) => Some(line),
            _ => None,
        }
    }

    /// Returns the rules in order.
    pub fn rules(&self) -> &[HostRule] {
        &self.rules
    }

    /// Decides if a command may connect to `port` of `host`, which may be any text. An IPv6 address has to be
    /// in brackets. The decision names the first matching rule.
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
            None => HostDecision::Denied(denial(plain, port, first, self)),
        }
    }
}

fn denial(host: Host, port: u16, other_port: Option<&HostRule>, rules: &HostRules) -> Denial {
    let HostRules { file, ref profile, .. } = *rules;
    let profile = profile.clone();
    let pattern = match host {
        Host::Name(name) => HostPattern::Exact(name),
        Host::Address(address) => HostPattern::Address(address),
    };
    let mut rule = HostRule { pattern, port: None, source: Source::Builtin };
    let host = rule.to_string();
    // If another rule covers the host, the entry has to name the port, even 80 or 443.
    rule.port = (other_port.is_some() || !WEB_PORTS.contains(&port)).then_some(port);
    let line = rule.to_string();
    match other_port {
        Some(other) => Denial::Port {
            host,
            port,
            rule: other.to_string(),
            source_line: other.source,
            line,
            profile,
            file,
        },
        None => Denial::NotListed { host, line, profile, file },
    }
}

#[cfg(test)]
mod tests;
