//! Verdicts about hosts that a profile lists, equal to those of the proxy for a connection.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use scorpiox_egress_proxy::{AddressPolicy, Resolve as _, SystemResolver};
use scorpiox_policy::{NetworkRule, Verdict};

use crate::plan::PRIVATE_KEY;

/// Timeout of a name lookup.
const LOOKUP_TIME: Duration = Duration::from_secs(5);

/// Checks the addresses of a host and port that the policy lists; `listed` says so. Without `looks_up`, a name is
/// judged as it is written.
pub fn at_its_addresses(
    (name, port): (&str, u16),
    private: &[NetworkRule],
    listed: &str,
    looks_up: bool,
) -> Verdict {
    let literal = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let found: Vec<IpAddr> = match literal {
        Ok(address) => vec![address],
        Err(_) if !looks_up => Vec::new(),
        Err(_) => match SystemResolver::default().resolve(name, port, LOOKUP_TIME) {
            Ok(found) => found.iter().map(SocketAddr::ip).collect(),
            Err(error) => {
                return Verdict::allowed(format!("{listed}; it cannot be looked up at present: {error}"));
            }
        },
    };
    let addresses = AddressPolicy::new(private.iter().map(|rule| rule.network).collect(), PRIVATE_KEY);
    for address in &found {
        if let Err(kind) = addresses.check(*address) {
            return Verdict::denied(format!(
                "{listed}, but its address {address} is {kind}{}",
                addresses.remedy(*address)
            ));
        }
    }
    let rule = private.iter().find(|rule| found.iter().any(|address| rule.contains(*address)));
    Verdict::allowed(match rule {
        Some(rule) => format!("{listed}; `allow_private` has {rule} ({})", rule.source),
        None => format!("{listed}; private addresses are refused even so"),
    })
}
