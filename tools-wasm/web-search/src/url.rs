//! URLs: validates them, and extracts the target of a redirect.

use std::fmt::Write as _;

use crate::clean;

/// Maximum length of a URL, in bytes.
const MAX_BYTES: usize = 2048;

/// Cleans an `http` or `https` URL. Returns `None` for anything else.
pub(crate) fn usable(raw: &str) -> Option<String> {
    let raw = raw.trim();
    if raw.len() > MAX_BYTES {
        return None;
    }
    let (scheme, rest) = split_scheme(raw)?;
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if !is_authority(authority) {
        return None;
    }
    let mut url = format!("{scheme}://{}", authority.to_lowercase());
    if tail.is_empty() || !tail.starts_with('/') {
        url.push('/');
    }
    for c in tail.chars() {
        if c.is_whitespace() || clean::is_hidden(c) || matches!(c, '<' | '>' | '"' | '`' | '\\') {
            push_encoded(&mut url, c);
        } else {
            url.push(c);
        }
    }
    Some(url)
}

/// Splits a URL into `http` or `https`, and the text after `://`.
fn split_scheme(url: &str) -> Option<(&'static str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let known = ["https", "http"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
    Some((known, rest))
}

/// Returns `true` for a host with an optional port. User names and passwords before a host are only
/// deceptive.
fn is_authority(authority: &str) -> bool {
    let host = authority.trim_start_matches('[');
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    host.starts_with(|c: char| c.is_alphanumeric() || c == ':') && authority.chars().all(fits)
}

/// Decodes the percent escape at this position.
pub(crate) fn escape_at(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()
}

/// Appends a byte as a percent escape.
pub(crate) fn push_byte(out: &mut String, byte: u8) {
    // Writing to a `String` cannot fail.
    let _ = write!(out, "%{byte:02X}");
}

fn push_encoded(out: &mut String, c: char) {
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        push_byte(out, byte);
    }
}

/// Encodes text for a URL or a form.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "-._~".contains(c) {
            out.push(c);
        } else {
            push_encoded(&mut out, c);
        }
    }
    out
}

/// Decodes text from a URL.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = if byte == b'%' { escape_at(bytes, at) } else { None };
        at += if escaped.is_some() { 3 } else { 1 };
        out.push(escaped.unwrap_or(byte));
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the decoded value of a URL parameter.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split('#').next()?.split_once('?')?;
    let value = |part: &str| part.strip_prefix(name)?.strip_prefix('=').map(decode);
    query.split('&').find_map(value)
}

/// Decodes URL-safe base64, with or without padding.
pub(crate) fn base64url(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    String::from_utf8(out).ok()
}

/// Returns the absolute URL of an `href`. A URL without a scheme uses the page's scheme, `https`.
pub(crate) fn absolute(href: &str) -> Option<String> {
    if href.starts_with("//") {
        return Some(format!("https:{href}"));
    }
    href.contains("://").then(|| href.to_owned())
}
