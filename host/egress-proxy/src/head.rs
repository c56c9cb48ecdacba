//! Strict parser for the head of an HTTP request to a proxy (RFC 9112). Input that two parsers could
//! interpret differently is refused.

/// Request of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// `CONNECT`: a bidirectional tunnel.
    Tunnel { host: String, port: u16 },
    /// A single request, in the form in which it is forwarded.
    Forward { host: String, port: u16, head: Vec<u8>, body_bytes: u64 },
}

/// Refusal of a request: HTTP status code and message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub u16, pub &'static str);

const MAX_HEADERS: usize = 100;
/// Hop-by-hop headers, which are not forwarded.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the offset of the end of the head, or `None` if it is incomplete.
pub(crate) fn end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Parses a head from the request line to the empty line.
pub(crate) fn parse(head: &[u8]) -> Result<Ask, Refused> {
    let bad = |why| Refused(400, why);
    let text = std::str::from_utf8(head).map_err(|_| bad("the request has bytes that are not text"))?;
    if text.bytes().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\r' | b'\n' | b'\t')) {
        return Err(bad("the request has control characters"));
    }
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    // A line break or tab in the target would be forwarded, and some servers take it for the end of the
    // target.
    let line = lines.next().filter(|line| !line.contains(['\r', '\n', '\t'])).unwrap_or_default();
    let [method, target, version] = line.split(' ').collect::<Vec<_>>()[..] else {
        return Err(bad("the request line is not METHOD TARGET VERSION"));
    };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err(Refused(505, "only HTTP/1.1 and HTTP/1.0 are spoken here"));
    }
    let headers = headers(lines)?;
    match method {
        "CONNECT" => {
            let (host, port) = authority(target, None).ok_or(bad("CONNECT needs HOST:PORT"))?;
            Ok(Ask::Tunnel { host, port })
        }
        "TRACE" => Err(Refused(405, "TRACE would show what the proxy sends")),
        _ => forward(method, target, &headers),
    }
}

fn headers<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<(&'a str, &'a str)>, Refused> {
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(Refused(400, "a header has no colon"))?;
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) || line.contains(['\r', '\n']) {
            return Err(Refused(400, "a header's name is not one"));
        }
        headers.push((name, value.trim_matches([' ', '\t'])));
        if headers.len() > MAX_HEADERS {
            return Err(Refused(431, "there are too many headers"));
        }
    }
    Ok(headers)
}

fn forward(method: &str, target: &str, headers: &[(&str, &str)]) -> Result<Ask, Refused> {
    let bad = |why| Refused(400, why);
    if !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(bad("the method is not one"));
    }
    let rest = target
        .strip_prefix("http://")
        .ok_or(bad("this is a proxy: it takes CONNECT, and requests for whole http:// URLs"))?;
    let (named, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = authority(named, Some(80)).ok_or(bad("the URL's host is not one"))?;
    let all = |wanted| values(headers, wanted);
    if all("transfer-encoding").next().is_some() {
        return Err(Refused(411, "a body must have a Content-Length"));
    }
    let mut lengths = all("content-length");
    let body_bytes = match (lengths.next(), lengths.next()) {
        (None, _) => 0,
        (Some(length), None) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map_err(|_| bad("Content-Length is not a number"))?
        }
        _ => return Err(bad("Content-Length is not one number")),
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    // The host in the URL takes precedence over the `Host` header.
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n");
    let dropped: Vec<&str> = all("connection").flat_map(|value| value.split(',')).map(str::trim).collect();
    // Without its length, a body would be another request.
    if dropped
        .iter()
        .any(|name| name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("host"))
    {
        return Err(bad("Connection names a header that every server needs"));
    }
    for (name, value) in headers {
        let is_dropped = HOP_BY_HOP.iter().chain(&dropped).any(|other| other.eq_ignore_ascii_case(name));
        if !is_dropped && !name.eq_ignore_ascii_case("host") {
            head.extend([name, ": ", value, "\r\n"]);
        }
    }
    head.push_str("\r\n");
    Ok(Ask::Forward { host, port, head: head.into_bytes(), body_bytes })
}

/// Returns all values of a header.
fn values<'a>(headers: &'a [(&'a str, &'a str)], wanted: &'static str) -> impl Iterator<Item = &'a str> {
    headers.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value)
}

/// Parses `HOST:PORT`. An IPv6 address must be in brackets.
fn authority(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            (host, Some(port).filter(|_| is_number)?.parse().ok()?)
        }
        _ => (text, default?),
    };
    (port != 0).then_some(())?;
    name(host).map(|host| (host, port))
}

/// Returns `true` if names and addresses of hosts have such a byte.
pub(crate) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte)
}

/// Normalizes a host for the policy, or returns `None` if it is not a valid host.
pub(crate) fn name(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_name = !host.is_empty() && host.len() <= 253 && host.bytes().all(is_plain);
    let is_address = host.starts_with('[') && host.ends_with(']');
    let has_brackets = host.contains(['[', ']', ':']);
    let has_empty_part = host.split('.').any(str::is_empty);
    (is_name && (is_address || !has_brackets && !has_empty_part)).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(head: &str) -> u16 {
        parse(head.as_bytes()).expect_err("refused").0
    }

    #[test]
    fn tunnels_name_a_host_and_a_port() {
        let ask = parse(b"CONNECT Example.COM.:443 HTTP/1.1\r\nHost: other\r\n\r\n");
        assert_eq!(ask, Ok(Ask::Tunnel { host: "example.com".to_owned(), port: 443 }));
        let ask = parse(b"CONNECT [2001:db8::1]:8443 HTTP/1.1\r\n\r\n");
        assert_eq!(ask, Ok(Ask::Tunnel { host: "[2001:db8::1]".to_owned(), port: 8443 }));
        for target in [
            "example.com",
            "example.com:",
            "example.com:0",
            "example.com:99999",
            "a b:1",
            "a\0b:1",
            ":1",
            "a..b:1",
            "a@b:1",
            "é:1",
            "2001:db8::1:1",
        ] {
            assert_eq!(refused(&format!("CONNECT {target} HTTP/1.1\r\n\r\n")), 400, "{target}");
        }
    }

    #[test]
    fn requests_are_sent_on_with_the_urls_host() {
        let head = "POST http://Example.com:8080/a?b HTTP/1.1\r\nHost: evil.org\r\nProxy-Connection: x\r\nConnection: X-Secret\r\n\
                    X-Secret: 1\r\nContent-Length: 3\r\nAccept: */*\r\n\r\n";
        let Ok(Ask::Forward { host, port, head, body_bytes }) = parse(head.as_bytes()) else {
            panic!("refused")
        };
        assert_eq!((host.as_str(), port, body_bytes), ("example.com", 8080, 3));
        let expected = "POST /a?b HTTP/1.1\r\nHost: Example.com:8080\r\nConnection: close\r\nContent-Length: 3\r\nAccept: */*\r\n\r\n";
        assert_eq!(String::from_utf8(head).expect("text"), expected);
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
        assert_eq!(refused("GET https://a/ HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused("GET http://u:p@a/ HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused("TRACE http://a/ HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(refused("GET http://a/ HTTP/2.0\r\n\r\n"), 505);
        assert_eq!(refused("POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411);
        assert_eq!(refused("POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
        assert_eq!(refused("POST http://a/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n"), 400);
        for connection in
            ["content-length", "close, Content-Length", "HOST", "x\r\nConnection: Content-Length"]
        {
            let head =
                format!("POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nConnection: {connection}\r\n\r\n");
            assert_eq!(refused(&head), 400, "{connection}");
        }
        assert_eq!(refused("GET http://a/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n"), 400);
        assert_eq!(refused("GET http://a/ HTTP/1.1\r\nA : b\r\n\r\n"), 400);
        assert_eq!(refused("GET http://a/ HTTP/1.1\nA: b\n\r\n\r\n"), 400);
    }

    #[test]
    fn what_lenient_readers_take_is_refused() {
        for (head, status) in [
            ("GET http://a/b\nHost:evil HTTP/1.1\r\n\r\n", 400),
            ("GET http://a/b\rHost:evil HTTP/1.1\r\n\r\n", 400),
            ("GET http://a/b\tc HTTP/1.1\r\n\r\n", 400),
            ("GET http://a/b?c\nd HTTP/1.1\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\nA: b\nC: d\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\nA: b\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\nA: b\rc\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\n A: b\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\nA\t: b\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\n: b\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\nA\r\n\r\n", 400),
            ("\r\nGET http://a/ HTTP/1.1\r\n\r\n", 400),
            ("\nGET http://a/ HTTP/1.1\r\n\r\n", 400),
            (" GET http://a/ HTTP/1.1\r\n\r\n", 400),
            ("GET  http://a/ HTTP/1.1\r\n\r\n", 400),
            ("GET http://a/  HTTP/1.1\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1 \r\n\r\n", 400),
            ("GET\thttp://a/\tHTTP/1.1\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.2\r\n\r\n", 505),
            ("GET http://a/ HTTP/1.10\r\n\r\n", 505),
            ("GET http://a/ http/1.1\r\n\r\n", 505),
            ("GET http://a/\r\n\r\n", 400),
            ("get http://a/ HTTP/1.1\r\n\r\n", 400),
        ] {
            assert_eq!(refused(head), status, "{head:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }
    }
}
