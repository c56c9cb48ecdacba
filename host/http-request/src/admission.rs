//! What is asked of the head of a request, in this order: the address that it names, the page that sends it, and what it
//! sends and takes.

use std::net::IpAddr;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};

use scorpiox_rules::NetworkRule;

/// By which names a server may be asked, and from where.
#[derive(Debug, Clone, Default)]
pub struct Doors {
    /// The names that it may be asked as, without ports.
    pub hosts: Vec<String>,
    /// The pages that may call it from a browser.
    pub origins: Vec<String>,
    /// The proxies that stand before it: nobody else connects, if there are some.
    pub proxies: Vec<NetworkRule>,
}

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// A sentence for who sent it.
    pub why: String,
}

impl Refusal {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }
}

/// Whether a request may come in at all; the page that sends it, if one does.
pub fn admit(parts: &Parts, options: &Doors) -> Result<Option<HeaderValue>, Refusal> {
    check_coding(&parts.headers)?;
    check_host(parts, options)?;
    check_origin(&parts.headers, options)
}

/// A body that comes in chunks is in nothing else: what is coded in other ways is read in other ways by programs before
/// this one.
fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    match only(headers, &header::TRANSFER_ENCODING) {
        Some(coding) if coding.trim().eq_ignore_ascii_case("chunked") => Ok(()),
        _ => Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, "a body is sent as it is, or as chunked alone")),
    }
}

/// Where a request comes from: what proxies say who were declared, of the last one before them.
pub fn peer(headers: &HeaderMap, connected: IpAddr, options: &Doors) -> IpAddr {
    if options.proxies.is_empty() {
        return connected;
    }
    let values = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let named: Vec<_> = values.flat_map(|value| value.split(',')).map(str::trim).collect();
    let is_proxy = |peer: IpAddr| options.proxies.iter().any(|proxy| proxy.contains(peer.to_canonical()));
    let mut peer = connected;
    for name in named.iter().rev() {
        if !is_proxy(peer) {
            break;
        }
        let Some(before) = address(name) else { break };
        peer = before;
    }
    peer
}

/// An address, which some proxies write with a port.
fn address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port)
}

/// A page of the web can let a browser call any address, by a name that it makes lead there.
fn check_host(parts: &Parts, options: &Doors) -> Result<(), Refusal> {
    let refuse = |why: String| Err(Refusal::new(StatusCode::FORBIDDEN, why));
    let Some(host) = only(&parts.headers, &header::HOST) else {
        return refuse("a request has one Host header".to_owned());
    };
    let named = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
    for host in std::iter::once(host).chain(named) {
        if !options.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name_of(host))) {
            return refuse(format!(
                "this server is not asked as {host:?}; who runs it can write the name into `hosts` of [http]"
            ));
        }
    }
    Ok(())
}

/// The name, without the port.
fn name_of(host: &str) -> &str {
    match host.rfind(':') {
        Some(at)
            if host[at + 1..].bytes().all(|byte| byte.is_ascii_digit()) && !host[..at].ends_with(':') =>
        {
            &host[..at]
        }
        _ => host,
    }
}

fn check_origin(headers: &HeaderMap, options: &Doors) -> Result<Option<HeaderValue>, Refusal> {
    if !headers.contains_key(header::ORIGIN) {
        return Ok(None);
    }
    let origin = only(headers, &header::ORIGIN);
    if origin.is_some_and(|origin| options.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)))
    {
        return Ok(headers.get(header::ORIGIN).cloned());
    }
    let shown = origin.unwrap_or("what cannot be read");
    Err(Refusal::new(
        StatusCode::FORBIDDEN,
        format!(
            "pages of {shown:?} may not call this server; who runs it can write them into `origins` of [http]"
        ),
    ))
}

/// What a POST sends and takes.
pub fn check_types(headers: &HeaderMap) -> Result<(), Refusal> {
    let sent = only(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    if !sent.eq_ignore_ascii_case("application/json") {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("a message is sent as application/json, and not as {sent:?}"),
        ));
    }
    if accepts(headers, "application/json") && accepts(headers, EVENTS) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::NOT_ACCEPTABLE,
        "a client has to take both forms of an answer: Accept: application/json, text/event-stream",
    ))
}

/// The type of a stream of events.
pub const EVENTS: &str = "text/event-stream";

/// Whether the client takes a type.
pub fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = values.flat_map(|value| value.split(','));
    types.any(|taken| {
        let taken = taken.split(';').next().unwrap_or_default().trim();
        let group = taken.strip_suffix('*').unwrap_or("-");
        taken == "*/*"
            || taken.eq_ignore_ascii_case(wanted)
            || group.ends_with('/') && wanted.starts_with(group)
    })
}

/// The value of a header that comes once.
pub fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use scorpiox_rules::Source;

    use super::*;

    #[test]
    fn only_declared_proxies_say_where_a_request_comes_from() {
        let proxies =
            ["10.0.0.0/8", "::1/128"].map(|rule| NetworkRule::parse(rule, Source::Builtin).expect("a rule"));
        let mut options = Doors { hosts: Vec::new(), origins: Vec::new(), proxies: proxies.into() };
        let peer = |options: &Doors, connected: &str, said: &[&str]| {
            let mut headers = HeaderMap::new();
            for said in said {
                headers.append("x-forwarded-for", said.parse().expect("a header"));
            }
            super::peer(&headers, connected.parse().expect("an address"), options).to_string()
        };
        assert_eq!(peer(&options, "10.0.0.1", &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(peer(&options, "10.0.0.1", &["198.51.100.9, 192.0.2.7", "10.0.0.2"]), "192.0.2.7");
        assert_eq!(peer(&options, "::1", &["[2001:db8::1]:4711"]), "2001:db8::1");
        assert_eq!(peer(&options, "10.0.0.1", &["unknown"]), "10.0.0.1");
        assert_eq!(peer(&options, "192.0.2.1", &["192.0.2.7"]), "192.0.2.1", "no proxy of ours");
        options.proxies.clear();
        assert_eq!(peer(&options, "10.0.0.1", &["192.0.2.7"]), "10.0.0.1");
    }

    #[test]
    fn a_name_is_without_its_port() {
        for (host, name) in [
            ("localhost", "localhost"),
            ("localhost:80", "localhost"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("127.0.0.1:", "127.0.0.1"),
            ("evil.example.com:x", "evil.example.com:x"),
        ] {
            assert_eq!(name_of(host), name);
        }
    }

    #[test]
    fn types_are_taken_by_name_group_or_all() {
        let takes = |accept: &str, wanted| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().expect("a value"));
            accepts(&headers, wanted)
        };
        assert!(takes("application/json, text/event-stream", EVENTS));
        assert!(takes("*/*", EVENTS) && takes("text/*;q=0.5", EVENTS) && takes("Text/Event-Stream", EVENTS));
        assert!(!takes("application/json", EVENTS) && !takes("text/html, application/*", EVENTS));
        assert!(!takes("*", EVENTS) && !takes("", EVENTS));
    }
}
