//! Determines the permitted target of a request: maps a URL to checked addresses.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use scorpiox_egress_proxy::{AddressPolicy, Resolve, SystemResolver};
use scorpiox_policy::{HostRule, WebPolicy, WebVerdict};
use url::{Host, Url};

use crate::error::{WebError, without_proxy};

/// Maximum number of hosts whose addresses are stored.
const MAX_HOSTS: usize = 1024;
/// Ports of a host that is approved without a port.
const WEB_PORTS: [u16; 2] = [80, 443];
/// Maximum time to resolve a name.
const LOOKUP_TIME: Duration = Duration::from_secs(10);

/// Decides about the targets of requests.
pub struct Router {
    policy: WebPolicy,
    addresses: AddressPolicy,
    resolver: Arc<dyn Resolve>,
    checked: Mutex<HashMap<String, Vec<SocketAddr>>>,
}

/// Callback for each decision: the host, its port, and the reason if it is denied.
pub type Watch = Arc<dyn Fn(&str, u16, Result<(), &str>) + Send + Sync>;

/// Reports the decision about a URL. An invalid URL is not a decision.
pub fn tell<T>(watch: Option<&Watch>, url: &Url, decided: &Result<T, WebError>) {
    let (Some(watch), Some(host), Some(port)) = (watch, url.host_str(), url.port_or_known_default()) else {
        return;
    };
    match decided {
        Err(WebError::Invalid(_)) => {}
        Err(WebError::Denied(why)) => watch(host, port, Err(why)),
        // Other errors do not mean that the host was denied.
        _ => watch(host, port, Ok(())),
    }
}

/// Target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Host as written in the URL.
    pub host: String,
    /// Port of the host.
    pub port: u16,
    /// Checked addresses of the host.
    pub addresses: Vec<SocketAddr>,
}

impl Router {
    /// Creates a router under this policy.
    pub fn new(policy: WebPolicy, resolver: Arc<dyn Resolve>) -> Self {
        let allow = policy.allow_private.iter().map(|rule| rule.network).collect();
        Self { policy, addresses: AddressPolicy::new(allow, "[web]"), resolver, checked: Mutex::default() }
    }

    /// Creates a router under this policy that resolves names through the system.
    pub fn of_system(policy: WebPolicy) -> Self {
        Self::new(policy, Arc::new(SystemResolver::default()))
    }

    /// Returns the policy.
    pub fn policy(&self) -> &WebPolicy {
        &self.policy
    }

    /// Parses a URL strictly.
    pub fn parse(text: &str) -> Result<Url, WebError> {
        let invalid = |why: &str| {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
            WebError::Invalid(format!(
                "url {shown:?} {why}; write an absolute one, such as https://example.com/page"
            ))
        };
        let url = Url::parse(text.trim()).map_err(|error| invalid(&format!("is not usable ({error})")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("is not of http or https"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(invalid("has no host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("has a user name in it, which is not sent"));
        }
        Ok(url)
    }

    /// Returns `true` if the host of a URL is an IP address, which is not resolved.
    pub fn is_address(url: &Url) -> bool {
        matches!(url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)))
    }

    /// Checks a URL's host by its name; `only` restricts the hosts that the policy allows.
    pub fn check_host(&self, url: &Url, only: Option<&[HostRule]>) -> Result<WebVerdict<'_>, WebError> {
        let (name, port) = (plain_host(url)?, port(url)?);
        if let Some(only) = only
            && !scorpiox_policy::covers(only, name, port)
        {
            let hosts: Vec<String> = only.iter().map(ToString::to_string).collect();
            let hosts = if hosts.is_empty() { "none".to_owned() } else { hosts.join(", ") };
            let is_named = WEB_PORTS.iter().any(|port| scorpiox_policy::covers(only, name, *port));
            let hint = is_named.then(|| {
                format!(
                    "; a host without a port is approved for {} and {} alone: write \"{name}:{port}\" in plugin.toml",
                    WEB_PORTS[0], WEB_PORTS[1]
                )
            });
            return Err(WebError::Denied(format!(
                "{name}:{port} is none of the hosts that were approved for this plugin ({hosts}){}",
                hint.unwrap_or_default()
            )));
        }
        self.policy.check_host(name, port).map_err(|denial| WebError::Denied(denial.to_string()))
    }

    /// Returns the target of a request, if it is permitted. Blocks while the name is resolved.
    pub fn route(&self, url: &Url, only: Option<&[HostRule]>) -> Result<Route, WebError> {
        let invalid = || WebError::Invalid(format!("{url} has no host"));
        let host = url.host().ok_or_else(invalid)?;
        let port = port(url)?;
        let written = url.host_str().ok_or_else(invalid)?.to_owned();
        let name = plain_host(url)?;
        let verdict = self.check_host(url, only)?;
        let addresses = match host {
            Host::Ipv4(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Ipv6(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Domain(_) => self.look_up(name, port)?,
        };
        for address in &addresses {
            self.check(name, *address, &verdict)?;
        }
        let mut checked = self.checked.lock();
        if checked.len() >= MAX_HOSTS {
            checked.clear();
        }
        // The client adds the port of the URL when it connects.
        let of_no_port = addresses.iter().map(|address| SocketAddr::new(address.ip(), 0)).collect();
        checked.insert(written.clone(), of_no_port);
        Ok(Route { host: written, port, addresses })
    }

    fn look_up(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, WebError> {
        let found = self.resolver.resolve(name, port, LOOKUP_TIME).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => {
                let time = LOOKUP_TIME.as_secs();
                WebError::TimedOut(format!("{name} was not found within {time} s{}", without_proxy()))
            }
            _ => WebError::Failed(format!("{name} is not found: {error}{}", without_proxy())),
        })?;
        if found.is_empty() {
            return Err(WebError::Failed(format!("{name} has no address")));
        }
        Ok(found)
    }

    /// Checks one address of a host. A single denied address is sufficient for a refusal, because the client
    /// chooses among the addresses.
    fn check(&self, host: &str, address: SocketAddr, verdict: &WebVerdict<'_>) -> Result<(), WebError> {
        let (address, port) = (address.ip(), address.port());
        let denied = |denial: scorpiox_policy::WebDenial| WebError::Denied(denial.to_string());
        self.policy.check_address((host, port), address, verdict).map_err(denied)?;
        self.addresses.check(address).map_err(|kind| {
            let of = if host.trim_matches(['[', ']']) == address.to_string() {
                String::new()
            } else {
                format!(" ({address})")
            };
            WebError::Denied(format!(
                "{host}{of} is {kind}, which is refused{}",
                self.addresses.remedy(address)
            ))
        })
    }

    /// Returns the checked addresses of a host.
    pub(crate) fn checked(&self, host: &str) -> Option<Vec<SocketAddr>> {
        self.checked.lock().get(host).cloned()
    }
}

/// Returns the host without a final dot, which changes the name in a URL but not for the resolver.
fn plain_host(url: &Url) -> Result<&str, WebError> {
    let written = url.host_str().ok_or_else(|| WebError::Invalid(format!("{url} has no host")))?;
    Ok(written.strip_suffix('.').unwrap_or(written))
}

fn port(url: &Url) -> Result<u16, WebError> {
    url.port_or_known_default().ok_or_else(|| WebError::Invalid(format!("{url} has no port")))
}

#[cfg(test)]
mod tests;
