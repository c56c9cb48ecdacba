//! Which addresses name the same page.
//!
//! Two that have the same [`certain`] identity do, whatever they show: they differ in what RFC
//! 3986 calls normalisation, in a tracking parameter, or in `www.`. Two that have the same
//! [`likely`] one do if they have the same title too; and with the same [`without_session`] one if
//! title and snippet are the same. Neither is an address.

pub(crate) mod groups;
mod host;
mod path;
mod query;

use std::fmt::Write as _;

use url::Url;

use crate::url::{escape_at, push_byte};

/// What is the same for two spellings of one address.
pub(crate) fn certain(address: &str) -> String {
    identity(address, Care::Certain)
}

/// The same for a page for phones, for AMP, and for others.
pub(crate) fn likely(address: &str) -> String {
    identity(address, Care::Likely)
}

/// The same for all visits to a page that counts visits in its address.
pub(crate) fn without_session(address: &str) -> String {
    identity(address, Care::WithoutSession)
}

/// The address as it is shown: without what tracks, else as it was given.
pub(crate) fn shown(address: &str) -> String {
    let (rest, fragment) = address.split_once('#').map_or((address, None), |(rest, part)| (rest, Some(part)));
    let mut out = query::shown(rest);
    // What a browser is to mark in the page, and names of visits.
    let fragment = fragment.map(|part| part.split(":~:").next().unwrap_or_default());
    if let Some(fragment) = fragment.filter(|part| !part.is_empty() && !query::is_all_tracking(part)) {
        out.push('#');
        out.push_str(fragment);
    }
    out
}

/// Whether an address is for phones or AMP only.
pub(crate) fn is_variant(address: &str) -> bool {
    certain(address) != likely(address)
}

/// How much is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Care {
    Certain,
    Likely,
    WithoutSession,
}

fn identity(address: &str, care: Care) -> String {
    let Ok(url) = Url::parse(address) else { return address.to_owned() };
    let mut out = host::identity(url.host_str().unwrap_or_default(), care);
    // The scheme is left out, and with it the port that it stands for.
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

/// A fragment that a script reads as an address: `#!/guide`, `#/guide`.
fn is_route(fragment: &str) -> bool {
    let route = fragment.strip_prefix('!').or_else(|| fragment.strip_prefix('/'));
    route.is_some_and(|route| !route.trim_matches('/').is_empty())
}

/// Escapes in upper case, only where an address needs them.
fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = if byte == b'%' { escape_at(bytes, at) } else { None };
        at += if escaped.is_some() { 3 } else { 1 };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!'()*,;:@$".contains(&byte);
        // What may stand in an address without an escape, and means something else with one.
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
