//! Connections to the host's proxy, which tells the commands of a cell apart by their source addresses.

use std::net::{Ipv4Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, bind};
use scorpiox_sandbox::PROXY_PORT;

/// Offset of the port in the address of an internet socket.
const PORT: usize = 2;
/// Offsets of the IP address.
const V4: usize = 4;
const V6: usize = 8;

/// Returns `true` if a connection to an address in the kernel's format leads to the proxy.
pub(super) fn is_at(address: &[u8]) -> bool {
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
    bytes(PORT, 2) == PROXY_PORT.to_be_bytes()
        && ((family(libc::AF_INET) && v4()) || (family(libc::AF_INET6) && v6()))
}

/// Sets the source address of a socket. If the program has chosen another, the proxy cannot tell the command.
pub(super) fn come_from(source: Ipv4Addr, socket: &OwnedFd, family: AddressFamily) {
    let _ = match family {
        AddressFamily::INET => bind(socket, &SocketAddrV4::new(source, 0)),
        AddressFamily::INET6 => bind(socket, &SocketAddrV6::new(source.to_ipv6_mapped(), 0, 0, 0)),
        _ => Ok(()),
    };
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
    fn every_address_of_the_proxy_is_known() {
        for address in [v4([127, 0, 0, 1], 3128), v6("::ffff:127.0.0.1", 3128)] {
            assert!(is_at(&address), "{address:?}");
        }
        for address in [
            v4([0; 4], 3128),
            v4([127, 0, 0, 1], 80),
            v4([127, 0, 0, 2], 3128),
            v6("::1", 3128),
            vec![2, 0],
            vec![],
        ] {
            assert!(!is_at(&address), "{address:?}");
        }
    }
}
