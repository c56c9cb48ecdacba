//! Addresses of git remotes in one form, however they are written.
//!
//! Invariant: addresses that lead git to the same host have the same host in their form. An address whose host cannot
//! be foreseen has none, so that its remotes are unknown.
//!
//! The form is `host/path`, without scheme, user, password, port and the suffix `.git`. Servers such as GitHub ignore
//! the case of paths, so patterns ignore it everywhere.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;
use url::Host;

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
        let form = form(text, Text::Pattern)
            .map_err(|Unclear(why)| Invalid::new(format!("remote \"{}\" {why}", shorten(text)), fix))?;
        let glob = TextPattern::with(&common(form), fix, true)?;
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

/// Reason why it is unknown where an address leads, as the continuation of "an address".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclear(pub(super) &'static str);

const NO_HOST: Unclear = Unclear("has no valid host");
const ALIAS: Unclear = Unclear("has a host that may be an alias in ssh's configuration");
const COMMAND: Unclear = Unclear("is a command of a remote helper");

/// Normalizes an address that git's configuration names. Fails if its host cannot be known.
pub(super) fn normalized(address: &str) -> Result<String, Unclear> {
    Ok(common(form(address.trim(), Text::Address)?))
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

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Returns the common form of an address or of a pattern for addresses.
fn form(address: &str, text: Text) -> Result<String, Unclear> {
    // A remote helper takes the rest of `helper::address`.
    if let Some((helper, rest)) = address.split_once("::")
        && is_scheme(helper)
    {
        // Git runs the rest, or uses a descriptor of its own.
        return if text == Text::Address && ["ext", "fd"].contains(&helper) {
            Err(COMMAND)
        } else {
            form(rest, text)
        };
    }
    if let Some((scheme, rest)) = address.split_once("://") {
        return of_url(scheme, rest, text);
    }
    match address.find([':', '/']) {
        Some(at) if address[at..].starts_with(':') && !is_drive(address) => {
            let (authority, inside) = divided(address, ':').ok_or(NO_HOST)?;
            Ok(joined(&host(authority, text, Reached::BySsh)?, inside))
        }
        _ if address.starts_with('/') => Ok(format!("/{}", path(address))),
        // A relative path.
        _ if text == Text::Address => Ok(path(address)),
        // A pattern in the common form.
        _ => Ok(path(&with_ascii_host(address))),
    }
}

/// Returns the form of a URL. Users and passwords may have encoded separators: HTTP decodes each part of the URL. Git
/// decodes URLs of other schemes as a whole, and knows no queries in them.
fn of_url(scheme: &str, rest: &str, text: Text) -> Result<String, Unclear> {
    let is = |name: &str| scheme.eq_ignore_ascii_case(name);
    let in_parts = ["http", "https", "ftp", "ftps"].into_iter().any(is);
    let rest = if text == Text::Pattern || in_parts { Cow::Borrowed(rest) } else { decoded(rest) };
    if is("file") {
        return Ok(format!("/{}", path(&rest)));
    }
    if text == Text::Address && !is_scheme(scheme) {
        return Err(NO_HOST);
    }
    let reached =
        if ["ssh", "git+ssh", "ssh+git"].into_iter().any(is) { Reached::BySsh } else { Reached::Directly };
    if text == Text::Pattern || !in_parts {
        let (authority, inside) = divided(&rest, '/').unwrap_or((&rest, ""));
        return Ok(joined(&host(authority, text, reached)?, inside));
    }
    // Libcurl ignores more slashes than two.
    let rest = rest.trim_start_matches('/').split(['?', '#']).next().unwrap_or_default();
    let (authority, inside) = rest.split_once('/').unwrap_or((rest, ""));
    Ok(joined(&host(&decoded(without_user(authority)), text, reached)?, &decoded(inside)))
}

/// Returns `true` if an address begins with a drive of Windows, which git takes for a path there.
fn is_drive(address: &str) -> bool {
    cfg!(windows) && address.as_bytes().get(1) == Some(&b':')
}

fn without_user(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// Divides an address as git does: at the first separator after the brackets, which stand at the beginning or after the
/// first `@[`, wherever that is.
fn divided(address: &str, separator: char) -> Option<(&str, &str)> {
    let start = address.find("@[").map_or(0, |at| at + 1);
    let end = address[start..].strip_prefix('[').and_then(|inside| inside.find(']'));
    let end = end.map_or(start, |length| start + 1 + length);
    let at = end + address[end..].find(separator)?;
    Some((&address[..at], &address[at + separator.len_utf8()..]))
}

/// Way to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    Directly,
    /// The configuration of ssh may give the name another meaning.
    BySsh,
}

/// Returns the host of an authority in the one form of its name: without user, port and the brackets that git removes,
/// in lower case, in ASCII, and without the dot at its end.
fn host(authority: &str, text: Text, reached: Reached) -> Result<String, Unclear> {
    let start = authority.find("@[").map_or(0, |at| at + 1);
    let bracketed = authority[start..].strip_prefix('[').and_then(|inside| inside.split_once(']'));
    let named = match bracketed {
        Some((address, _)) if without_user(address).matches(':').count() > 1 => {
            format!("[{}]", without_user(address))
        }
        Some((inside, rest)) if text == Text::Address || rest.is_empty() || rest.starts_with(':') => {
            without_port(inside).to_owned()
        }
        // The brackets of a pattern may be a part of its glob.
        _ => without_port(authority).to_owned(),
    };
    if text == Text::Pattern {
        return Ok(with_ascii_host(&named.to_ascii_lowercase()).into_owned());
    }
    match parsed(&named).ok_or(NO_HOST)? {
        Host::Domain(name) if reached == Reached::BySsh && may_be_alias(&name) => Err(ALIAS),
        host => Ok(host.to_string()),
    }
}

fn without_port(authority: &str) -> &str {
    without_user(authority).split(':').next().unwrap_or_default().trim_end_matches('.')
}

/// Parses a host as libcurl and the resolver do, or returns `None` if they may see different hosts.
fn parsed(host: &str) -> Option<Host> {
    // Versions of IDNA map the letters differently. An encoded name was decoded before.
    let is_ambiguous = host.contains(['%', 'ß', 'ẞ', 'ς', '\u{200c}', '\u{200d}']);
    let parsed = Host::parse(host).ok().filter(|_| !is_ambiguous)?;
    match parsed {
        // Full stops of other scripts are dots only now.
        Host::Domain(name) => Some(Host::Domain(name.trim_end_matches('.').to_owned()))
            .filter(|host| host != &Host::Domain(String::new())),
        address => Some(address),
    }
}

/// Returns `true` if ssh's configuration may replace a name by another: no public name has such a last part. That
/// configuration is not read, so aliases in the form of a public name are taken for one.
fn may_be_alias(name: &str) -> bool {
    let last = name.rsplit_once('.').map(|(_, last)| last);
    !last.is_some_and(|last| last.starts_with("xn--") || last.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Returns a pattern whose host, if it is a name without a glob, is in ASCII.
fn with_ascii_host(pattern: &str) -> Cow<'_, str> {
    let (host, inside) = pattern.split_at(pattern.find('/').unwrap_or(pattern.len()));
    if host.is_ascii() || host.starts_with('.') || host.contains(['*', '?', '[', '{', '!', '\\']) {
        return Cow::Borrowed(pattern);
    }
    match parsed(host) {
        Some(Host::Domain(name)) if name.contains('.') => Cow::Owned(format!("{name}{inside}")),
        _ => Cow::Borrowed(pattern),
    }
}

fn joined(host: &str, inside: &str) -> String {
    let inside = path(inside);
    if inside.is_empty() { host.to_owned() } else { format!("{host}/{inside}") }
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
            "git@h.example:acme/x.git",
            "h.example:acme/x",
            "h.example:/acme/x/",
            "ssh://git@h.example/acme/x",
            "ssh://git@h.example:2222/acme/x.git",
            "git+ssh://H.EXAMPLE./acme//x.git/",
            "https://h.example/acme/x.git",
            "https://user:secret@h.example:443/acme/x.git?a#b",
            "https://user:p%40ss@h.example/%61cme/./y/../x",
            "[h.example:22]:acme/x.git",
            "git@[h.example:22]:acme/x.git",
            "git::https://h.example/acme/x",
            "https://user:p%2fw@h.example/acme/x",
            "https://user:p%3fw@h.example/acme/x",
            "https://u%23@h.example/acme/x.git",
            "https://x%2Fy%40z@h.ex%61mple/acme/x",
            "git::https://u%2f@h.example/acme/x",
            "ssh://u%3f%23@h.example/acme/x",
            "ssh://git@h.ex%61mple/%61cme/x",
            // Git removes brackets, also around a user, and finds them anywhere.
            "ssh://git@[h.example]/acme/x",
            "ssh://git@[h.example]:22/acme/x",
            "ssh://[git@h.example:22]/acme/x",
            "ssh://y/z@[h.example]/acme/x",
            "git@[h.example]:acme/x",
            "[git@h.example]:acme/x",
            "[git@h.example:22]:acme/x",
            "y:z@[h.example]:acme/x",
            "[h.example.]:acme/x",
            "git://[h.example]/acme/x",
            // Libcurl ignores slashes, and maps names to ASCII.
            "https:///h.example/acme/x",
            "https:////u@h.example/acme/x",
            "https://ｈ.example/acme/x",
            "https://h。example/acme/x",
            "https://h.example。/acme/x",
            "https://h.exa\u{ad}mple./acme/x",
            "https://%EF%BD%88.example/acme/x",
        ] {
            assert_eq!(normalized(address).as_deref(), Ok("h.example/acme/x"), "{address}");
        }
        for (address, form) in [
            ("/srv/git/x.git", "/srv/git/x"),
            ("file:///srv/git/x.git", "/srv/git/x"),
            ("../x.git", "../x"),
            ("[::1]:acme/x", "[::1]/acme/x"),
            ("git@[0:0::1]:acme/x", "[::1]/acme/x"),
            ("ssh://[::1]:22/acme/x", "[::1]/acme/x"),
            ("ssh://[git@::1]:22/acme/x", "[::1]/acme/x"),
            ("https://0x7f.1/acme/x", "127.0.0.1/acme/x"),
            ("https://host", "host"),
            ("https://host/.git", "host/.git"),
            ("./a:b", "a:b"),
            ("", ""),
            ("é.git", "é"),
            ("git@ssh.github.com:acme/x", "github.com/acme/x"),
            ("ssh://git@ssh.github.com:443/acme/x.git", "github.com/acme/x"),
            ("https://altssh.gitlab.com/", "gitlab.com"),
            ("https://bücher.example/x", "xn--bcher-kva.example/x"),
            ("git@xn--bcher-kva.example:x", "xn--bcher-kva.example/x"),
            ("https://host/acme/x%3fy", "host/acme/x?y"),
        ] {
            assert_eq!(normalized(address).as_deref(), Ok(form), "{address}");
        }
    }

    #[test]
    fn an_address_whose_host_cannot_be_foreseen_has_no_form() {
        for (address, why) in [
            ("gh:acme/x", ALIAS),
            ("git@gh:acme/x", ALIAS),
            ("ssh://git@gh:22/acme/x", ALIAS),
            ("git+ssh://gh/acme/x", ALIAS),
            ("git@github.com-work:acme/x", ALIAS),
            ("git@[gh:22]:acme/x", ALIAS),
            ("h.example:acme/x@[y]:z", ALIAS),
            ("ext::ssh git@h.example %S acme/x", COMMAND),
            ("fd::7/x", COMMAND),
            ("::", NO_HOST),
            (":acme/x", NO_HOST),
            ("ssh:///h.example/acme/x", NO_HOST),
            ("https://", NO_HOST),
            ("https://h.example\\acme/x", NO_HOST),
            ("https://h.example%2facme/x", NO_HOST),
            ("https://h.ex%2561mple/acme/x", NO_HOST),
            ("https://fa\u{df}.example/acme/x", NO_HOST),
            ("https://[fe80::1%25lo]/acme/x", NO_HOST),
            ("[ssh://h.example]:acme/x", NO_HOST),
            ("git@h .example:acme/x", NO_HOST),
        ] {
            assert_eq!(normalized(address), Err(why), "{address}");
        }
    }

    #[test]
    fn patterns_may_be_written_like_addresses() {
        let address = normalized("git@GitHub.com:Acme/Tools.git").unwrap();
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
            ("git@[github.com]:acme/*", true),
            ("[github.com:22]:acme/*", true),
            ("[fg]ithub.com:acme/*", true),
            ("ｇithub.com/acme/*", true),
            ("https://github。com/acme/*", true),
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
