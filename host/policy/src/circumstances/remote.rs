//! Addresses of git remotes in one form, however they are written.
//!
//! The form is `host/path`, without scheme, user, password, port and the suffix `.git`. Servers such as GitHub ignore
//! the case of paths, so patterns ignore it everywhere.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;

use super::glob::TextPattern;
use crate::rule::{Invalid, shorten};

/// Ending of a repository's folder, which servers accept with and without.
const SUFFIX: &str = ".git";
/// Other names of hosts, for networks that close the usual ports.
const ALIASES: [(&str, &str); 4] = [
    ("ssh.github.com", "github.com"),
    ("www.github.com", "github.com"),
    ("altssh.gitlab.com", "gitlab.com"),
    ("altssh.bitbucket.org", "bitbucket.org"),
];

/// A pattern for addresses of remotes. It may be written in each form that git accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemotePattern {
    glob: TextPattern,
}

impl fmt::Display for RemotePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.glob.fmt(f)
    }
}

impl RemotePattern {
    /// Parses a pattern, such as `github.com/acme/*` or `git@github.com:acme/*`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fix = "write a glob such as \"github.com/acme/*\"";
        if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(Invalid::new(format!("remote \"{}\" has a blank", shorten(text)), fix));
        }
        if has_password(text) {
            let what = "a remote has a password".to_owned();
            return Err(Invalid::new(
                what,
                "leave it out: addresses are compared without users and passwords",
            ));
        }
        let glob = TextPattern::with(&common(form(text, Text::Pattern)), fix, true)?;
        Ok(Self { glob })
    }

    /// Returns `true` if the pattern matches a normalized address.
    pub(super) fn matches(&self, address: &str) -> bool {
        self.glob.matches(address)
    }
}

fn has_password(text: &str) -> bool {
    let authority = text.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// Kind of a text to normalize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Address,
    /// Nothing in it is encoded, and `?` is a part of a glob.
    Pattern,
}

/// Normalizes an address that git's configuration names.
pub(super) fn normalized(address: &str) -> String {
    common(form(address.trim(), Text::Address))
}

/// Returns a form with the usual name of its host.
fn common(form: String) -> String {
    let host = form.split('/').next().unwrap_or_default();
    match ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(host)) {
        Some((_, name)) => format!("{name}{}", &form[host.len()..]),
        None => form,
    }
}

fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// Returns the common form of an address or of a pattern for addresses.
fn form(address: &str, text: Text) -> String {
    // A remote helper takes the rest of `helper::address`.
    if let Some((helper, rest)) = address.split_once("::")
        && !helper.is_empty()
        && helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    {
        return form(rest, text);
    }
    if let Some((scheme, rest)) = address.split_once("://") {
        return of_url(scheme, rest, text);
    }
    match address.find([':', '/']) {
        // `[host:port]:path` or `[address]:path`
        _ if without_user(address).starts_with('[') && address.contains("]:") => {
            let (authority, inside) = address.split_once("]:").unwrap_or((address, ""));
            let authority = without_user(authority).trim_start_matches('[');
            let host = if authority.matches(':').count() > 1 {
                format!("[{authority}]")
            } else {
                authority.to_owned()
            };
            joined(&host, inside)
        }
        Some(at) if address[at..].starts_with(':') && !is_drive(address) => {
            joined(&address[..at], &address[at + 1..])
        }
        _ if address.starts_with('/') => format!("/{}", path(address)),
        // A pattern in the common form, or a relative path.
        _ => path(address),
    }
}

/// Returns the form of a URL. Users and passwords may have encoded separators: HTTP decodes each part of the URL. Git
/// decodes URLs of other schemes as a whole, and knows no queries in them.
fn of_url(scheme: &str, rest: &str, text: Text) -> String {
    let is = |name: &str| scheme.eq_ignore_ascii_case(name);
    let in_parts = ["http", "https", "ftp", "ftps"].into_iter().any(is);
    let rest = if text == Text::Pattern || in_parts { Cow::Borrowed(rest) } else { decoded(rest) };
    if is("file") {
        return format!("/{}", path(&rest));
    }
    if text == Text::Pattern || !in_parts {
        let (authority, inside) = rest.split_once('/').unwrap_or((&rest, ""));
        return joined(authority, inside);
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, inside) = rest.split_once('/').unwrap_or((rest, ""));
    joined(&decoded(without_user(authority)), &decoded(inside))
}

/// Returns `true` if an address begins with a drive of Windows, which git takes for a path there.
fn is_drive(address: &str) -> bool {
    cfg!(windows) && address.as_bytes().get(1) == Some(&b':')
}

fn without_user(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

fn joined(authority: &str, inside: &str) -> String {
    let authority = without_user(authority);
    let host = match authority.split_once(']') {
        Some((host, _)) if authority.starts_with('[') => format!("{host}]"),
        _ => authority.split(':').next().unwrap_or_default().trim_end_matches('.').to_owned(),
    };
    let inside = path(inside);
    let host = host.to_ascii_lowercase();
    if inside.is_empty() { host } else { format!("{host}/{inside}") }
}

/// Returns a path without empty parts, `.`, `..`, and the usual ending.
fn path(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let is_named = |path: &str| !path.is_empty() && !path.ends_with('/');
    match path.len().checked_sub(SUFFIX.len()) {
        Some(at)
            if path.is_char_boundary(at)
                && path[at..].eq_ignore_ascii_case(SUFFIX)
                && is_named(&path[..at]) =>
        {
            path[..at].to_owned()
        }
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form_however_it_is_written() {
        for address in [
            "git@host:acme/x.git",
            "host:acme/x",
            "host:/acme/x/",
            "ssh://git@host/acme/x",
            "ssh://git@host:2222/acme/x.git",
            "git+ssh://HOST./acme//x.git/",
            "https://host/acme/x.git",
            "https://user:secret@host:443/acme/x.git?a#b",
            "https://user:p%40ss@host/%61cme/./y/../x",
            "[host:22]:acme/x.git",
            "git@[host:22]:acme/x.git",
            "git::https://host/acme/x",
            "https://user:p%2fw@host/acme/x",
            "https://user:p%3fw@host/acme/x",
            "https://u%23@host/acme/x.git",
            "https://x%2Fy%40z@h%6fst/acme/x",
            "git::https://u%2f@host/acme/x",
            "ssh://u%3f%23@host/acme/x",
            "ssh://git@h%6fst/%61cme/x",
        ] {
            assert_eq!(normalized(address), "host/acme/x", "{address}");
        }
        for (address, form) in [
            ("/srv/git/x.git", "/srv/git/x"),
            ("file:///srv/git/x.git", "/srv/git/x"),
            ("../x.git", "../x"),
            ("[::1]:acme/x", "[::1]/acme/x"),
            ("ssh://[::1]:22/acme/x", "[::1]/acme/x"),
            ("https://host", "host"),
            ("https://host/.git", "host/.git"),
            ("./a:b", "a:b"),
            ("", ""),
            ("::", "/:"),
            ("é.git", "é"),
            ("git@ssh.github.com:acme/x", "github.com/acme/x"),
            ("ssh://git@ssh.github.com:443/acme/x.git", "github.com/acme/x"),
            ("https://altssh.gitlab.com/", "gitlab.com"),
            ("https://host/acme/x%3fy", "host/acme/x?y"),
        ] {
            assert_eq!(normalized(address), form, "{address}");
        }
    }

    #[test]
    fn patterns_may_be_written_like_addresses() {
        let address = normalized("git@GitHub.com:Acme/Tools.git");
        for (pattern, matches) in [
            ("github.com/acme/*", true),
            ("https://github.com/acme/*", true),
            ("git@github.com:acme/*", true),
            ("ssh://git@github.com/acme/tools.git", true),
            ("*/acme/*", true),
            ("*", true),
            ("*.com/{acme,other}/t*", true),
            ("https://github.com/acme/tool?", true),
            ("https://github.com/?cme/tools", true),
            ("https://github.com/acme?", false),
            ("ssh.github.com/acme/*", true),
            ("SSH://git@SSH.github.com/acme/*", true),
            ("github.com/acme", false),
            ("example.com/acme/*", false),
        ] {
            assert_eq!(RemotePattern::parse(pattern).unwrap().matches(&address), matches, "{pattern}");
        }
    }

    #[test]
    fn patterns_that_match_nothing_are_refused() {
        for (pattern, why) in [
            ("", "has 0 bytes"),
            ("a b", "has a blank"),
            ("host/[", "is not valid"),
            ("https://me:secret@host/*", "has a password"),
        ] {
            let said = RemotePattern::parse(pattern).unwrap_err().to_string();
            assert!(said.contains(why) && !said.contains("secret"), "{said}");
        }
    }
}
