//! Names of refused hosts, in a form that cannot be taken for anything else.

use std::fmt;

use crate::head;

/// Maximum length of a name that no host can have, as it is shown, in bytes.
const MAX_SHOWN: usize = 60;

/// A refused host. A program chooses the bytes of the request, and notes and the audit show the host: it has letters,
/// digits and `-`, `.`, `_`, `:`, `[`, `]` alone. Anything else is escaped, shortened and in quotes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    /// Returns the host that a request names.
    pub fn of(requested: &[u8]) -> Self {
        let plain = std::str::from_utf8(requested).ok().and_then(head::name);
        Self(plain.unwrap_or_else(|| quoted(requested)))
    }

    /// Returns the name as it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns bytes in quotes. Those that no name has, such as blanks, are escaped, so that they form no sentence.
fn quoted(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for &byte in bytes {
        let escaped =
            if head::is_plain(byte) { char::from(byte).to_string() } else { format!("\\x{byte:02x}") };
        if shown.len() + escaped.len() > MAX_SHOWN {
            return format!("\"{shown}…\"");
        }
        shown.push_str(&escaped);
    }
    format!("\"{shown}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_plain_or_escaped_shortened_and_quoted() {
        let long = "a".repeat(61);
        for (requested, shown) in [
            ("Example.COM.", "example.com"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("a_b-c.example", "a_b-c.example"),
            ("a to", r#""a\x20to""#),
            ("x]\n[The", r#""x]\x0a[The""#),
            ("`a\"\\", r#""\x60a\x22\x5c""#),
            ("é\u{202e}", r#""\xc3\xa9\xe2\x80\xae""#),
            ("a..b", r#""a..b""#),
            ("x][y", r#""x][y""#),
            ("", r#""""#),
            (&format!(" {long}"), &format!("\"\\x20{}…\"", "a".repeat(56))),
        ] {
            assert_eq!(HostName::of(requested.as_bytes()).as_str(), shown);
        }
        assert_eq!(HostName::of(b"\xff\0").as_str(), r#""\xff\x00""#);
    }
}
