//! Ports of localhost in what programs print.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Spellings of addresses of this machine, and of all its addresses.
const LOCALHOST: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const ALL: [&str; 5] = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]"];
/// Maximum number of ports in a sentence.
const MAX_PORTS: usize = 3;
/// Ports that commands of a cell cannot publish: those of the system and of the proxy.
const LEAST_PUBLISHED: u16 = 1024;
const PROXY: u16 = 3128;

/// Returns the addresses of this machine in lines about refused connections. They are none if lines name no address at
/// all, and `None` if all name other ones.
pub(super) fn refused<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Vec<SocketAddr>> {
    let (mut addresses, mut is_unnamed): (Vec<SocketAddr>, bool) = (Vec::new(), false);
    for line in lines {
        let found = address(line);
        is_unnamed |= found.is_none() && !names_address(line);
        let new = found.filter(|new| !addresses.iter().any(|known| known.port() == new.port()));
        addresses.extend(new.filter(|_| addresses.len() < MAX_PORTS));
    }
    (is_unnamed || !addresses.is_empty()).then_some(addresses)
}

/// Returns `true` if a line may name another address.
fn names_address(line: &str) -> bool {
    let is_port = |(before, after): (&str, &str)| {
        after.starts_with(|c: char| c.is_ascii_digit())
            && before.ends_with(|c: char| c.is_alphanumeric() || c == ']')
    };
    let mut colons = line.match_indices(':').map(|(at, _)| (&line[..at], &line[at + 1..]));
    line.contains("://") || line.contains(" port ") || colons.any(is_port)
}

fn address(line: &str) -> Option<SocketAddr> {
    let mut found = LOCALHOST.iter().flat_map(|host| line.match_indices(host));
    found.find_map(|(at, host)| {
        let port = port_after(&line[at + host.len()..])?;
        let is_v6 = host == "::1";
        let address = if is_v6 { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) };
        Some(SocketAddr::new(address, port))
    })
}

/// Returns the ports in lines about servers that listen.
pub(super) fn listening<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<u16> {
    let mut ports = BTreeSet::new();
    for line in lines {
        let at_host = ALL.iter().flat_map(|host| line.match_indices(host));
        let mut found: Vec<_> =
            at_host.filter_map(|(at, host)| port_after(&line[at + host.len()..])).collect();
        if let (true, Some(at)) = (found.is_empty(), line.find("istening")) {
            found.extend(port_after(&line[at..]));
        }
        ports.extend(found.into_iter().filter(|port| *port >= LEAST_PUBLISHED && *port != PROXY));
    }
    ports.into_iter().take(MAX_PORTS).collect()
}

/// Returns `true` if a text ends with a single colon: two are a part of an address.
fn is_after_colon(text: &str) -> bool {
    text.ends_with(':') && !text.ends_with("::")
}

/// Returns the first number that a text marks as a port.
fn port_after(text: &str) -> Option<u16> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut from = 0;
    while let Some(at) = text[from..].find(is_digit).map(|at| from + at) {
        let end = text[at..].find(|c| !is_digit(c)).map_or(text.len(), |end| at + end);
        let before = text[..at].trim_end_matches([' ', '=']);
        let is_marked =
            before.ends_with("port") || is_after_colon(before) || before == "'," || before == "\",";
        if let (true, Ok(port @ 1..)) = (is_marked, text[at..end].parse()) {
            return Some(port);
        }
        from = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_refused_connection_is_found() {
        for (line, address) in [
            (
                "curl: (7) Failed to connect to 127.0.0.1 port 18099 after 2 ms: Couldn't connect to server",
                "127.0.0.1:18099",
            ),
            ("Error: connect ECONNREFUSED ::1:5432", "[::1]:5432"),
            (
                "psql: error: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused",
                "127.0.0.1:5432",
            ),
            (
                "connection to server at \"localhost\" (::1), port 5432 failed: Connection refused",
                "127.0.0.1:5432",
            ),
            (
                "HTTPConnectionPool(host='localhost', port=8000): Max retries exceeded: Connection refused",
                "127.0.0.1:8000",
            ),
            ("Could not connect to Redis at 127.0.0.1:6379: Connection refused", "127.0.0.1:6379"),
            ("dial tcp [::1]:80: connect: connection refused", "[::1]:80"),
            ("could not connect ('localhost', 5433): Connection refused", "127.0.0.1:5433"),
        ] {
            let found = refused([line].into_iter()).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(found, [address.parse().expect("an address")], "{line}");
        }
        assert_eq!(
            refused(["ConnectionRefusedError: [Errno 111] Connection refused"].into_iter()),
            Some(Vec::new())
        );
        for other in [
            "dial tcp 10.0.0.5:80: connection refused",
            "http://db/: Connection refused",
            "db port 80: Connection refused",
        ] {
            assert_eq!(refused([other].into_iter()), None, "{other}");
        }
        assert_eq!(refused(std::iter::empty()), None);
        let many: Vec<_> = (1..9).map(|port| format!("localhost:{port}: Connection refused")).collect();
        assert_eq!(refused(many.iter().map(String::as_str)).map(|all| all.len()), Some(MAX_PORTS));
    }

    #[test]
    fn the_ports_of_servers_are_found() {
        for (line, ports) in [
            ("Serving HTTP on 0.0.0.0 port 3456 (http://0.0.0.0:3456/) ...", &[3456][..]),
            ("  Local:   http://localhost:5173/", &[5173]),
            ("Server listening on port 3000", &[3000]),
            ("Listening on http://[::]:8080", &[8080]),
            ("listening at :99999 and on 1", &[]),
            ("Listening on 0.0.0.0:80", &[]),
            ("proxy http://127.0.0.1:3128", &[]),
            ("listening to 3 events", &[]),
        ] {
            assert_eq!(listening([line].into_iter()), ports, "{line}");
        }
    }
}
