//! Connections to the host's proxy and to services of the machine. The host tells the commands of a cell apart by their source addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, bind, getsockname};
use scorpiox_sandbox::PROXY_PORT;

/// Number of bits that the source addresses of all commands have in common.
const COMMON_BITS: u32 = 10;
/// Offset of the port in the address of an internet socket.
const PORT: usize = 2;
/// Offsets of the IP address.
const V4: usize = 4;
const V6: usize = 8;

/// Returns `true` if a connection to an address in the kernel's format leads to the proxy, or to a service at one of
/// these ports.
pub(super) fn is_at(address: &[u8], ports: &[u16]) -> bool {
    let bytes = |at: usize, count: usize| address.get(at..at + count).unwrap_or_default();
    let family =
        |family: i32| u16::try_from(family).is_ok_and(|family| bytes(0, PORT) == family.to_ne_bytes());
    // The kernel would take a source address for the unspecified destination.
    let is_local = |ip: Ipv4Addr| ip == Ipv4Addr::LOCALHOST;
    let v4 = || <[u8; 4]>::try_from(bytes(V4, 4)).is_ok_and(|ip| is_local(ip.into()));
    let v6 = || {
        let ip = <[u8; 16]>::try_from(bytes(V6, 16)).ok();
        ip.and_then(|ip| std::net::Ipv6Addr::from(ip).to_ipv4_mapped()).is_some_and(is_local)
    };
    [PROXY_PORT].iter().chain(ports).any(|port| bytes(PORT, 2) == port.to_be_bytes())
        && ((family(libc::AF_INET) && v4()) || (family(libc::AF_INET6) && v6()))
}

/// Sets the source address of a socket, unless the program has chosen another. Then the proxy cannot tell the
/// command.
pub(super) fn come_from(source: Ipv4Addr, socket: &OwnedFd, family: AddressFamily) -> io::Result<()> {
    let bound = match family {
        AddressFamily::INET => bind(socket, &SocketAddrV4::new(source, 0)),
        AddressFamily::INET6 => bind(socket, &SocketAddrV6::new(source.to_ipv6_mapped(), 0, 0, 0)),
        _ => Ok(()),
    };
    if bound.is_err() { check(source, socket) } else { Ok(()) }
}

/// Fails if a socket has an address that tells another command.
pub(super) fn check(source: Ipv4Addr, socket: &OwnedFd) -> io::Result<()> {
    let own = SocketAddr::try_from(getsockname(socket)?)?.ip().to_canonical();
    match own {
        IpAddr::V4(own) if own != source && network(own) == network(source) => {
            Err(Errno::ADDRNOTAVAIL.into())
        }
        _ => Ok(()),
    }
}

fn network(address: Ipv4Addr) -> u32 {
    u32::from(address) >> (u32::BITS - COMMON_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(ip: [u8; 4], port: u16) -> Vec<u8> {
        [&2_u16.to_ne_bytes()[..], &port.to_be_bytes(), &ip, &[0; 8]].concat()
    }

    fn v6(ip: &str, port: u16) -> Vec<u8> {
        let ip = ip.parse::<std::net::Ipv6Addr>().expect("an address").octets();
        [&10_u16.to_ne_bytes()[..], &port.to_be_bytes(), &[0; 4], &ip, &[0; 4]].concat()
    }

    #[test]
    fn a_socket_has_the_address_of_its_command_or_of_none() {
        use rustix::net::{SocketType, socket};
        let source = Ipv4Addr::new(127, 64, 0, 7);
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            let new = || socket(family, SocketType::STREAM, None).expect("a socket");
            let own = new();
            come_from(source, &own, family).expect("free");
            let name = SocketAddr::try_from(getsockname(&own).expect("a name")).expect("an address");
            assert_eq!(name.ip().to_canonical(), IpAddr::V4(source));
            come_from(source, &own, family).expect("a second time");
            for (other, is_good) in
                [([127, 64, 0, 8], false), ([127, 80, 0, 0], false), ([127, 0, 0, 1], true)]
            {
                let other = Ipv4Addr::from(other);
                let bound = new();
                let to = if family == AddressFamily::INET {
                    other.into()
                } else {
                    IpAddr::V6(other.to_ipv6_mapped())
                };
                bind(&bound, &SocketAddr::new(to, 0)).expect("an address of this machine");
                assert_eq!(come_from(source, &bound, family).is_ok(), is_good, "{other}");
            }
        }
    }

    #[test]
    fn every_address_of_the_proxy_is_known() {
        for address in [v4([127, 0, 0, 1], 3128), v6("::ffff:127.0.0.1", 3128)] {
            assert!(is_at(&address, &[]), "{address:?}");
        }
        for address in [
            v4([0; 4], 3128),
            v4([127, 0, 0, 1], 80),
            v4([127, 0, 0, 2], 3128),
            v6("::1", 3128),
            vec![2, 0],
            vec![],
        ] {
            assert!(!is_at(&address, &[]), "{address:?}");
        }
        assert!(is_at(&v4([127, 0, 0, 1], 5432), &[8080, 5432]));
        assert!(!is_at(&v4([127, 0, 0, 1], 5433), &[8080, 5432]));
    }
}
