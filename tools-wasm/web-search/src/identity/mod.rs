//! Identity of URLs: determines which URLs refer to the same page.
//!
//! URLs with the same [`certain`] identity refer to the same page: they differ only in RFC 3986
//! normalization, in tracking parameters, or in `www.`. URLs with the same [`likely`] identity do if they
//! have the same title too. URLs with the same [`without_session`] identity do if the title and the snippet
//! are the same. Identities are not URLs.

pub(crate) mod groups;
mod host;
mod path;
mod query;

use std::fmt::Write as _;

use url::Url;

use crate::url::{escape_at, push_byte};

/// Returns the identity that all spellings of a URL share.
pub(crate) fn certain(address: &str) -> String {
    identity(address, Care::Certain)
}

/// Returns the identity that also ignores mobile and AMP variants.
pub(crate) fn likely(address: &str) -> String {
    identity(address, Care::Likely)
}

/// Returns the identity that also ignores likely session IDs.
pub(crate) fn without_session(address: &str) -> String {
    identity(address, Care::WithoutSession)
}

/// Returns the URL for display: unchanged except for tracking parameters.
pub(crate) fn shown(address: &str) -> String {
    let (rest, fragment) = address.split_once('#').map_or((address, None), |(rest, part)| (rest, Some(part)));
    let mut out = query::shown(rest);
    // The fragment may contain a text directive and session IDs.
    let fragment = fragment.map(|part| part.split(":~:").next().unwrap_or_default());
    if let Some(fragment) = fragment.filter(|part| !part.is_empty() && !query::is_all_tracking(part)) {
        out.push('#');
        out.push_str(fragment);
    }
    out
}

/// Returns `true` if a URL is a mobile or AMP variant.
pub(crate) fn is_variant(address: &str) -> bool {
    certain(address) != likely(address)
}

/// Degree of normalization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Care {
    Certain,
    Likely,
    WithoutSession,
}

fn identity(address: &str, care: Care) -> String {
    let Ok(url) = Url::parse(address) else { return address.to_owned() };
    let mut out = host::identity(url.host_str().unwrap_or_default(), care);
    // The scheme is left out, and so is its default port.
    if let Some(port) = url.port() {
        let _ = write!(out, ":{port}");
    }
    out.push_str(&path::identity(url.path(), care));
    let query = query::identity(url.query().unwrap_or_default(), care);
    if !query.is_empty() {
        out.push('?');
        out.push_str(&query);
    }
    if let Some(route) = url.fragment().filter(|fragment| is_route(fragment)) {
        out.push('#');
        out.push_str(&normalised(route.trim_end_matches('/')));
    }
    out
}

/// Returns `true` for a fragment that a script uses as a route: `#!/guide`, `#/guide`.
fn is_route(fragment: &str) -> bool {
    let route = fragment.strip_prefix('!').or_else(|| fragment.strip_prefix('/'));
    route.is_some_and(|route| !route.trim_matches('/').is_empty())
}

/// Normalizes escapes: in upper case, and only if necessary.
fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = if byte == b'%' { escape_at(bytes, at) } else { None };
        at += if escaped.is_some() { 3 } else { 1 };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!'()*,;:@$".contains(&byte);
        // Characters that are valid in a URL without an escape, but have another meaning then.
        let is_mark = |byte: u8| b"/?&=+#".contains(&byte);
        match escaped {
            Some(value) if plain(value) => out.push(char::from(value)),
            Some(value) => push_byte(&mut out, value),
            None if plain(byte) || is_mark(byte) => out.push(char::from(byte)),
            None => push_byte(&mut out, byte),
        }
    }
    out
}
