//! Parses the challenge of a server that refuses a request: `WWW-Authenticate`, as defined by RFC 9110 and
//! used by registries.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// Maximum length of a header that is parsed.
const MAX_CHALLENGE_BYTES: usize = 4096;

/// Authentication scheme required by a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// User and password.
    Basic,
    /// Token issued at another URL.
    Bearer { realm: String, service: Option<String> },
}

impl Challenge {
    /// Returns the supported challenge; prefers a token if there are several.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let written = headers.get_all(WWW_AUTHENTICATE).iter();
        let all: Vec<_> = written.filter_map(|value| Self::parse(value.to_str().ok()?)).collect();
        let bearer = all.iter().position(|one| matches!(one, Self::Bearer { .. }));
        all.into_iter().nth(bearer.unwrap_or(0))
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_CHALLENGE_BYTES {
            return None;
        }
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service) = (None, None);
        for (name, value) in parameters(rest)? {
            match &*name.to_ascii_lowercase() {
                "realm" => realm = Some(value),
                "service" => service = Some(value),
                _ => {}
            }
        }
        Some(Self::Bearer { realm: realm?, service })
    }
}

/// Parses parameters of the form `name="value"`, separated by commas.
fn parameters(mut text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    loop {
        text = text.trim_start_matches([' ', '\t', ',']);
        if text.is_empty() {
            return Some(found);
        }
        let (name, rest) = text.split_once('=')?;
        let (value, rest) = if let Some(quoted) = rest.strip_prefix('"') {
            unquoted(quoted)?
        } else {
            let end = rest.find([',', ' ']).unwrap_or(rest.len());
            (rest[..end].to_owned(), &rest[end..])
        };
        found.push((name.trim().to_owned(), value));
        text = rest;
    }
}

/// Returns the text up to the closing quote, and the rest after it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(values: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::of(&headers)
    }

    #[test]
    fn a_token_is_preferred_and_quotes_are_read() {
        let bearer = Challenge::Bearer {
            realm: "https://auth.example.com/token?a=\"b\",c".to_owned(),
            service: Some("registry".to_owned()),
        };
        let written = r#"Bearer realm="https://auth.example.com/token?a=\"b\",c",service=registry,scope="repository:a:pull""#;
        assert_eq!(challenge(&["Basic realm=\"x\"", written]), Some(bearer.clone()));
        assert_eq!(challenge(&[&written.replace("Bearer", "bearer")]), Some(bearer));
        assert_eq!(challenge(&["Basic realm=x"]), Some(Challenge::Basic));
    }

    #[test]
    fn what_cannot_be_answered_is_no_challenge() {
        for written in [
            "",
            "Negotiate",
            "Bearer",
            "Bearer service=\"x\"",
            "Bearer realm=\"x",
            "Bearer realm",
            "Digest realm=\"x\"",
        ] {
            assert_eq!(challenge(&[written]), None, "{written}");
        }
        assert_eq!(challenge(&[&format!("Bearer realm=\"{}\"", "x".repeat(5000))]), None);
        assert_eq!(challenge(&[]), None);
    }
}
