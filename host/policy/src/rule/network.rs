//! Networks in rules.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::rule::invalid::{Invalid, shorten};
use crate::rule::source::Source;

/// A range of addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkRule {
    /// First address and prefix length.
    pub network: IpNet,
    /// Source of the rule.
    pub source: Source,
}

impl NetworkRule {
    /// Parses `10.0.0.0/8`, `2001:db8::/32`, or a single address.
    pub fn parse(text: &str, source: Source) -> Result<Self, Invalid> {
        let fix = "write a network such as \"10.0.0.0/8\" or \"127.0.0.1/32\"";
        let invalid = |why: &str| Invalid::new(format!("network \"{}\" {why}", shorten(text)), fix);
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| invalid("has no plain address"))?;
        let network = match prefix {
            None => Some(IpNet::from(address)),
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().ok().and_then(|bits| IpNet::new(address, bits).ok())
            }
            Some(_) => None,
        };
        let network = network.ok_or_else(|| invalid("has no valid number of bits"))?;
        if network.trunc() == network {
            Ok(Self { network, source })
        } else {
            Err(invalid("has bits behind its prefix"))
        }
    }

    /// Returns `true` if the network contains an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.network.contains(&address)
    }

    /// Returns the intersection of two networks, if there is one.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        if self.network.contains(&other.network) {
            return Some(*other);
        }
        other.network.contains(&self.network).then_some(*self)
    }
}

impl fmt::Display for NetworkRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.network.fmt(f)
    }
}
