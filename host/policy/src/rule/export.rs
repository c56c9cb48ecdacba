//! `export` of `[audit]`: additional destinations of audit records.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::rule::invalid::{Invalid, shorten, shorten_address};

/// Syntax of destinations, for messages.
const FIX: &str = "write an absolute path, \"journald\", \"tcp://HOST:PORT\", \"tls://HOST:PORT\", or the address of a \
                   collector such as \"https://HOST:4318/v1/logs\"";
/// Placeholder for the user's name in a path; replaced by the user ID if the name is unknown.
const USER: &str = "{user}";
/// Placeholder for the user ID.
const UID: &str = "{uid}";
/// Maximum length of a path and of a host name, in bytes.
const MAX_PATH_BYTES: usize = 4096;
const MAX_HOST_BYTES: usize = 253;
/// Default ports of log servers. TLS: RFC 5425. TCP: 601 as in RFC 3195, because RFC 6587 assigns none.
const TCP_PORT: u16 = 601;
const TLS_PORT: u16 = 6514;

/// Destination of a copy of each record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Export {
    /// A file, with its path as written.
    File(String),
    /// The systemd journal.
    Journald,
    /// A syslog server.
    Syslog(LogServer),
    /// An OpenTelemetry collector, with the address that accepts logs over OTLP/HTTP.
    Collector(String),
}

/// A server that accepts syslog messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogServer {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// `true` if the connection uses TLS and the server has to authenticate.
    pub is_tls: bool,
}

impl Export {
    /// Parses a destination.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let shown = if text.contains("://") { shorten_address(text) } else { shorten(text) };
        if text == "journald" {
            return Ok(Self::Journald);
        }
        if let Some(rest) = text.strip_prefix("tcp://") {
            return server(rest, TCP_PORT, false).ok_or_else(|| no_server(&shown));
        }
        if let Some(rest) = text.strip_prefix("tls://") {
            return server(rest, TLS_PORT, true).ok_or_else(|| no_server(&shown));
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return collector(text).map(Self::Collector).ok_or_else(|| {
                let fix = "write where it takes logs, such as \"https://collector.example.com:4318/v1/logs\"";
                Invalid::new(format!("\"{shown}\" is not the address of a collector"), fix)
            });
        }
        let Some(inside) = text.strip_prefix('/') else {
            return Err(Invalid::new(format!("\"{shown}\" is not a place for lines"), FIX));
        };
        if text.len() > MAX_PATH_BYTES || text.contains(char::is_control) {
            let what = format!("path \"{shown}\" is too long, or has a control character");
            return Err(Invalid::new(what, "write it shorter, or without"));
        }
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if inside.is_empty() || text.ends_with('/') || !Path::new(inside).components().all(is_plain) {
            let what = format!("path \"{shown}\" names no file, or has a part `..`");
            return Err(Invalid::new(what, "write the absolute path of a file"));
        }
        if text.replace(USER, "").replace(UID, "").contains(['{', '}']) {
            let what = format!("path \"{shown}\" has braces that stand for nothing");
            return Err(Invalid::new(what, "write {user} or {uid}"));
        }
        Ok(Self::File(text.to_owned()))
    }

    /// Returns the path of the file for a user. The user ID replaces a name that is unknown or not usable as
    /// a file name. `None` if the destination is not a file.
    pub fn path(&self, user: Option<&str>, uid: u32) -> Option<PathBuf> {
        let Self::File(path) = self else { return None };
        let uid = uid.to_string();
        let is_plain = |user: &&str| !user.is_empty() && !user.starts_with('.') && !user.contains('/');
        let user = user.filter(is_plain).unwrap_or(&uid);
        Some(PathBuf::from(path.replace(USER, user).replace(UID, &uid)))
    }
}

/// Parses the address of a collector. The address needs a path, which selects the signal, and must not have a
/// query, a fragment or credentials.
pub fn collector(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let has_more = url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
    let fits = !has_more && url.password().is_none() && url.has_host() && url.path() != "/";
    fits.then(|| url.into())
}

fn no_server(shown: &str) -> Invalid {
    Invalid::new(
        format!("\"{shown}\" names no log server"),
        "write a host and a port, such as \"tls://logs.example.com:6514\"",
    )
}

/// Parses a host, which may be an address in brackets, with or without a port.
fn server(text: &str, usual_port: u16, is_tls: bool) -> Option<Export> {
    let (host, rest) = if let Some(text) = text.strip_prefix('[') {
        let (host, rest) = text.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        (host, rest)
    } else {
        let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        host.bytes().all(fits).then_some((host, rest))?
    };
    let port = match rest {
        "" => usual_port,
        rest => rest.strip_prefix(':')?.parse().ok().filter(|port| *port > 0)?,
    };
    let fits = (1..=MAX_HOST_BYTES).contains(&host.len());
    fits.then(|| Export::Syslog(LogServer { host: host.to_owned(), port, is_tls }))
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Journald => f.write_str("journald"),
            Self::Collector(url) => f.write_str(url),
            Self::Syslog(LogServer { host, port, is_tls }) => {
                let scheme = if *is_tls { "tls" } else { "tcp" };
                if host.contains(':') {
                    write!(f, "{scheme}://[{host}]:{port}")
                } else {
                    write!(f, "{scheme}://{host}:{port}")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_shown() {
        for text in [
            "journald",
            "/var/log/scorpiox/{user}.jsonl",
            "tcp://logs.example.com:601",
            "tls://logs.example.com:6514",
            "tls://[2001:db8::1]:6514",
            "tcp://192.0.2.1:10514",
            "http://127.0.0.1:4318/v1/logs",
            "https://collector.example.com/otlp/v1/logs",
        ] {
            assert_eq!(Export::parse(text).unwrap().to_string(), text);
        }
        for (text, shown) in [
            ("tcp://logs.example.com", "tcp://logs.example.com:601"),
            ("tls://logs.example.com", "tls://logs.example.com:6514"),
        ] {
            assert_eq!(Export::parse(text).unwrap().to_string(), shown);
        }
        for text in [
            "",
            "journal",
            "log.jsonl",
            "~/log.jsonl",
            "/",
            "/var/log/",
            "/var/../log",
            "/var/{home}/log",
            "/var/{user",
            "/a\nb",
            "udp://logs.example.com",
            "https://collector.example.com",
            "https://ana@collector.example.com/v1/logs",
            "https://ana:x@collector.example.com/v1/logs",
            "https://collector.example.com/v1/logs?key=x",
            "https://",
            "tcp://",
            "tcp://:601",
            "tcp://a b",
            "tcp://ana@logs.example.com",
            "tcp://logs.example.com:0",
            "tcp://logs.example.com:70000",
            "tcp://logs.example.com/x",
            "tls://[::1",
            "tls://[x]:1",
        ] {
            assert!(Export::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_is_that_of_one_user() {
        let export = Export::parse("/var/log/{uid}/{user}.jsonl").unwrap();
        let path = |user| export.path(user, 7).unwrap().display().to_string();
        assert_eq!(path(Some("ana")), "/var/log/7/ana.jsonl");
        for other in [None, Some(""), Some("../x"), Some("a/b")] {
            assert_eq!(path(other), "/var/log/7/7.jsonl");
        }
        assert_eq!(Export::Journald.path(Some("ana"), 7), None);
    }
}
