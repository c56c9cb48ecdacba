//! Addresses that the proxy never connects to.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Port to ask the kernel about routes with, to which nothing is sent.
const DISCARD: u16 = 9;

/// Refuses local, private and reserved addresses, except those in permitted networks.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    /// Networks that are permitted nevertheless.
    pub allow: Vec<IpNet>,
    /// Policy table in which the operator lists these networks, for messages.
    pub key: &'static str,
}

impl AddressPolicy {
    /// Creates a policy that permits only the public internet and these networks.
    pub fn new(allow: Vec<IpNet>, key: &'static str) -> Self {
        Self { allow, key }
    }

    /// Returns a hint how the operator can permit the address. Empty if the policy has no key for it.
    pub fn remedy(&self, address: IpAddr) -> String {
        let Self { key, .. } = self;
        if key.is_empty() {
            return String::new();
        }
        format!(
            "; the operator can allow it with `allow_private = [\"{}\"]` in {key} of policy.toml",
            IpNet::from(address)
        )
    }

    /// Checks an address. The error describes the kind of address, with an article.
    pub fn check(&self, address: IpAddr) -> Result<(), &'static str> {
        if self.allow.iter().any(|network| network.contains(&address)) {
            return Ok(());
        }
        let kind = match address {
            IpAddr::V4(address) => kind_v4(address),
            IpAddr::V6(address) => kind_v6(address),
        };
        match kind {
            Some(kind) => Err(kind),
            None => is_own(address).map_or(Err("an address that cannot be checked"), |is_own| {
                if is_own { Err("an address of this machine") } else { Ok(()) }
            }),
        }
    }
}

/// Returns `true` for an address of one of the machine's interfaces: packets to it never leave the machine, and pass no
/// firewall. The kernel chooses it as the source of packets to itself.
fn is_own(address: IpAddr) -> io::Result<bool> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = match UdpSocket::bind((any, 0)) {
        // The system has no addresses of this family.
        Err(error) if is_without_family(&error) => return Ok(false),
        socket => socket?,
    };
    // Sends nothing. Without a route, the address is not the machine's.
    let is_reached = socket.connect((address, DISCARD)).is_ok();
    Ok(is_reached && socket.local_addr()?.ip() == address)
}

fn is_without_family(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
}

/// Addresses that the IANA special-purpose registry lists as not globally reachable. Azure's host agent has a
/// public address that leads to the machine's own host, with its certificates and settings. Metadata services
/// of other clouds use addresses in the registry.
const SPECIAL_V4: [(Ipv4Net, &str); 17] = [
    (v4([0, 0, 0, 0], 8), "an address of this machine"),
    (v4([10, 0, 0, 0], 8), "a private address"),
    (v4([100, 64, 0, 0], 10), "an address of a provider's own network"),
    (v4([127, 0, 0, 0], 8), "an address of this machine"),
    (v4([168, 63, 129, 16], 32), "the address of a cloud's host agent"),
    (v4([169, 254, 0, 0], 16), "a link-local address, as metadata services have"),
    (v4([172, 16, 0, 0], 12), "a private address"),
    (v4([192, 0, 0, 0], 24), "a reserved address"),
    (v4([192, 0, 2, 0], 24), "an address for documentation"),
    (v4([192, 31, 196, 0], 24), "a reserved address"),
    (v4([192, 88, 99, 0], 24), "a reserved address"),
    (v4([192, 168, 0, 0], 16), "a private address"),
    (v4([198, 18, 0, 0], 15), "an address for benchmarks"),
    (v4([198, 51, 100, 0], 24), "an address for documentation"),
    (v4([203, 0, 113, 0], 24), "an address for documentation"),
    (v4([224, 0, 0, 0], 4), "a multicast address"),
    (v4([240, 0, 0, 0], 4), "a reserved address"),
];

fn kind_v4(address: Ipv4Addr) -> Option<&'static str> {
    SPECIAL_V4.iter().find(|(network, _)| network.contains(&address)).map(|(_, kind)| *kind)
}

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

fn kind_v6(address: Ipv6Addr) -> Option<&'static str> {
    let inside = |network: &str| network.parse().is_ok_and(|network: Ipv6Net| network.contains(&address));
    let [.., c, d] = address.segments();
    let last_v4 = Ipv4Addr::from_bits((u32::from(c) << 16) | u32::from(d));
    // Other notations of IPv4 addresses are classified by the embedded address.
    for network in ["::ffff:0:0/96", "64:ff9b::/96", "::ffff:0:0:0/96"] {
        if inside(network) {
            return kind_v4(last_v4).or(Some("an IPv4 address in an unusual form"));
        }
    }
    // Global unicast is 2000::/3. Everything else is local, reserved or multicast.
    if !inside("2000::/3") {
        return Some("a local or reserved address");
    }
    // Tunnels (6to4, Teredo) contain IPv4 addresses that are not checked.
    let special = [
        ("2001::/23", "a reserved address"),
        ("2001:db8::/32", "an address for documentation"),
        ("2002::/16", "a tunnel address"),
        ("3fff::/20", "an address for documentation"),
    ];
    special.into_iter().find(|(network, _)| inside(network)).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_open(address: &str) -> bool {
        AddressPolicy::default().check(address.parse().expect("an address")).is_ok()
    }

    /// Loopback stands for all interfaces.
    #[test]
    fn the_kernel_knows_the_addresses_of_the_machine() {
        for (address, expected) in [("127.0.0.1", true), ("1.1.1.1", false)] {
            let address = address.parse().expect("an address");
            assert_eq!(is_own(address).expect("a socket"), expected, "{address}");
        }
    }

    #[test]
    fn addresses_of_the_world_are_open() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "168.63.129.15",
            "93.184.215.14",
            "2606:4700:4700::1111",
            "2a00:1450:4001:81b::200e",
        ] {
            assert!(is_open(address), "{address}");
        }
    }

    #[test]
    fn addresses_of_the_machine_and_its_networks_are_not() {
        for address in [
            "0.0.0.0",
            "127.0.0.1",
            "127.255.255.254",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "168.63.129.16",
            "::ffff:168.63.129.16",
            "64:ff9b::a83f:8110",
            "100.100.100.200",
            "192.0.0.192",
            "fd20:ce::254",
            "fd00:42::42",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.19.0.1",
            "192.0.2.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:1::1",
            "2001:db8::1",
            "100::1",
            "fec0::1",
        ] {
            assert!(!is_open(address), "{address}");
        }
    }

    #[test]
    fn the_operator_may_except_a_network() {
        let policy = AddressPolicy::new(vec!["10.1.0.0/16".parse().expect("a network")], "");
        assert!(policy.check("10.1.2.3".parse().expect("an address")).is_ok());
        assert!(policy.check("10.2.2.3".parse().expect("an address")).is_err());
        assert!(policy.check("::ffff:10.1.2.3".parse().expect("an address")).is_err());
    }
}
