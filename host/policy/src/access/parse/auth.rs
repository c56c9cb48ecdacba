//! Parses `[http.auth]`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::document::{Entry, Problem, Section, list, number};
use crate::rule::{Invalid, Sourced, shorten, suggest};
use url::Url;

use super::words;
use crate::access::auth::{Algorithm, Auth, Issuers, Jwt, KeysFrom, Token};
use crate::access::principal::APPROVER;

const KINDS: [&str; 3] = ["token", "jwt", "none"];
/// Maximum clock skew, in seconds. Most clocks differ by less, and an expired token stays valid for this
/// long.
const MAX_SKEW: u64 = 600;
const DEFAULT_SKEW: u64 = 60;

pub(super) fn read(entry: &Entry<'_>) -> Result<Auth, Problem> {
    let section = entry.section("[http.auth]")?;
    let Some(kind) = section.get("kind") else {
        return Err(entry.problem("[http.auth] has no `kind`", suggest("", "kinds", &KINDS)));
    };
    match kind.text("write \"token\", \"jwt\" or \"none\"")? {
        "token" => tokens(&section),
        "jwt" => issuers(entry, &section).map(|issuers| Auth::Jwt(Box::new(issuers))),
        "none" => section.only(&["kind"]).map(|()| Auth::Nothing),
        other => {
            let what = format!("{} is \"{}\"", kind.label(), shorten(other));
            Err(kind.problem(what, suggest(other, "kinds", &KINDS)))
        }
    }
}

fn tokens(section: &Section<'_>) -> Result<Auth, Problem> {
    section.only(&["kind", "tokens"])?;
    match section.get("tokens") {
        Some(entry) => named_tokens(&entry).map(Auth::Tokens),
        None => Ok(Auth::OwnToken),
    }
}

fn named_tokens(entry: &Entry<'_>) -> Result<BTreeMap<String, Sourced<Token>>, Problem> {
    let mut tokens: BTreeMap<String, Sourced<Token>> = BTreeMap::new();
    for (name, entry) in entry.section("[http.auth.tokens]")?.entries() {
        words::name(&entry, name, "a token")?;
        let token = token(name, &entry)?;
        if let Some((other, _)) = tokens.iter().find(|(_, other)| other.value.sha256 == token.sha256) {
            let what = format!("[http.auth.tokens.{name}] is the same token as [http.auth.tokens.{other}]");
            return Err(entry.problem(what, "give each its own: who calls is known by it"));
        }
        tokens.insert(name.to_owned(), Sourced::new(token, entry.key_source()));
    }
    Ok(tokens)
}

fn token(name: &str, entry: &Entry<'_>) -> Result<Token, Problem> {
    let section = entry.section(&format!("[http.auth.tokens.{name}]"))?;
    section.only(&["sha256", "scopes", "groups"])?;
    let fix = "write the SHA-256 of the token in 64 hexadecimal digits; `scorpiox-code token` makes both";
    let Some(hash) = section.get("sha256") else {
        return Err(entry.problem(format!("{} has no `sha256`", section.name()), fix));
    };
    let Some(sha256) = digest(hash.text(fix)?) else {
        let what = format!("{} is no SHA-256", hash.label());
        return Err(hash.problem(what, fix));
    };
    let groups = words::groups(&section)?.unwrap_or_default().into_iter().collect();
    Ok(Token { sha256, scopes: words::scopes(&section)?, groups })
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    is_hash.then(|| (0..32).map(byte).collect::<Option<Vec<u8>>>())??.try_into().ok()
}

/// Configuration keys of an issuer.
const ISSUER: [&str; 10] = [
    "issuer",
    "audiences",
    "jwks_file",
    "jwks_url",
    "ca",
    "algorithms",
    "clock_skew",
    "scopes",
    "groups_claim",
    "name_claim",
];

/// Maximum number of issuers; the keys of each are fetched.
const MAX_ISSUERS: usize = 16;

/// Parses a single issuer in the table itself, or several issuers in subtables. With subtables, each subject
/// is prefixed with its issuer's name, and tokens of this server are allowed as well.
fn issuers(entry: &Entry<'_>, section: &Section<'_>) -> Result<Issuers, Problem> {
    let known: Vec<_> = ["kind", "issuers", "tokens"].into_iter().chain(ISSUER).collect();
    section.only(&known)?;
    let Some(named) = section.get("issuers") else {
        if let Some(tokens) = section.get("tokens") {
            let what = "[http.auth] has an issuer without a name, and tokens beside it";
            let fix = "move the issuer's keys into [http.auth.issuers.NAME]: rules know its subjects as \"NAME:subject\" then, \
                       so that no subject is taken for a token";
            return Err(tokens.problem(what, fix));
        }
        let jwt = Sourced::new(jwt(entry, section, None)?, entry.key_source());
        return Ok(Issuers { all: vec![jwt], tokens: BTreeMap::new() });
    };
    if let Some(own) = ISSUER.iter().find_map(|key| section.get(key)) {
        let what = format!("{} stands beside [http.auth.issuers]", own.label());
        return Err(own.problem(what, "write it into the table of its issuer, [http.auth.issuers.NAME]"));
    }
    let mut all: Vec<Sourced<Jwt>> = Vec::new();
    for (name, entry) in named.section("[http.auth.issuers]")?.entries() {
        words::name(&entry, name, "an issuer")?;
        if name.eq_ignore_ascii_case(APPROVER) {
            let what = format!("an issuer has the name \"{name}\", with which the names of approvers begin");
            return Err(entry.problem(what, "give it another"));
        }
        let read = jwt(&entry, &entry.section(&format!("[http.auth.issuers.{name}]"))?, Some(name))?;
        for other in &all {
            check_apart(&entry, name, &read, &other.value)?;
        }
        all.push(Sourced::new(read, entry.key_source()));
    }
    if all.is_empty() || all.len() > MAX_ISSUERS {
        let what = format!("[http.auth.issuers] has {} issuers", all.len());
        return Err(named.problem(what, format!("write 1 to {MAX_ISSUERS} tables, [http.auth.issuers.NAME]")));
    }
    let tokens = section.get("tokens").map(|entry| named_tokens(&entry)).transpose()?;
    Ok(Issuers { all, tokens: tokens.unwrap_or_default() })
}

/// Checks that two issuers share neither address nor keys. A key of one issuer must not sign for another.
fn check_apart(entry: &Entry<'_>, name: &str, one: &Jwt, other: &Jwt) -> Result<(), Problem> {
    let [own, others] = [name, other.name.as_deref().unwrap_or_default()]
        .map(|name| format!("[http.auth.issuers.{}]", shorten(name)));
    if is_same_address(&one.issuer, &other.issuer) {
        let what = format!("{own} and {others} have the same `issuer`, {}", shorten(&one.issuer));
        return Err(entry
            .problem(what, "keep one of them: `iss` of a token has to say whose keys it is checked with"));
    }
    let shared = match (&one.keys, &other.keys) {
        (KeysFrom::Url(one), KeysFrom::Url(other)) if is_same_address(one, other) => Some(("jwks_url", one)),
        (KeysFrom::File(one), KeysFrom::File(other)) if Path::new(one) == Path::new(other) => {
            Some(("jwks_file", one))
        }
        _ => None,
    };
    let Some((key, place)) = shared else { return Ok(()) };
    let what = format!("{own} and {others} have the same `{key}`, {}", shorten(place));
    Err(entry.problem(
        what,
        "write the place where each issuer has keys of its own: a key of one would sign for the other",
    ))
}

/// Returns `true` if two addresses are equal after normalization. A trailing slash makes no difference.
fn is_same_address(one: &str, other: &str) -> bool {
    let read = |text: &str| Url::parse(text).map(|url| url.as_str().trim_end_matches('/').to_owned());
    one == other || read(one).is_ok_and(|one| read(other).is_ok_and(|other| one == other))
}

/// Parses an issuer; `name` is set if it has its own table.
fn jwt(entry: &Entry<'_>, section: &Section<'_>, name: Option<&str>) -> Result<Jwt, Problem> {
    if name.is_some() {
        section.only(&ISSUER)?;
    }
    let table = name.map_or_else(|| "[http.auth]".to_owned(), |name| format!("[http.auth.issuers.{name}]"));
    let missing = |key: &str, example: &str| {
        entry.problem(format!("{table} has no `{key}`"), format!("write `{key} = {example}`"))
    };
    let issuer = match section.get("issuer") {
        Some(entry) => address(&entry, "https://login.example.com/realms/team")?,
        None => return Err(missing("issuer", "\"https://login.example.com/realms/team\"")),
    };
    let audience = |_: &Entry<'_>, text: &str| match text {
        "" => Err(Invalid::new("an audience is empty", "write what `aud` of the tokens is")),
        text => Ok(text.to_owned()),
    };
    let audiences = match section.get("audiences") {
        Some(entry) => list(&entry, "write a list, such as [\"https://mcp.example.com/mcp\"]", audience)?,
        None => Vec::new(),
    };
    if audiences.is_empty() {
        return Err(missing("audiences", "[\"https://mcp.example.com/mcp\"]: tokens for others are refused"));
    }
    let (keys, ca) = keys(section, &table, missing)?;
    let clock_skew = section.get("clock_skew").map(|entry| number(&entry, &(0..=MAX_SKEW))).transpose()?;
    let claim = |key: &str, example: &str| {
        let named = section.get(key).map(|entry| claim(&entry, example));
        named.transpose()
    };
    Ok(Jwt {
        name: name.map(str::to_owned),
        issuer,
        audiences,
        keys,
        ca,
        algorithms: algorithms(section)?,
        clock_skew: clock_skew.unwrap_or(DEFAULT_SKEW),
        scopes: words::scopes(section)?,
        groups_claim: claim("groups_claim", "groups")?,
        name_claim: claim("name_claim", "preferred_username")?,
    })
}

fn claim(entry: &Entry<'_>, example: &str) -> Result<String, Problem> {
    let fix = format!("write the name of a claim, such as \"{example}\"");
    let text = entry.text(&fix)?;
    if text.is_empty() || text.contains(char::is_control) {
        return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix));
    }
    Ok(text.to_owned())
}

/// Parses the location of an issuer's keys, and the certificate authority for it.
fn keys(
    section: &Section<'_>,
    table: &str,
    missing: impl Fn(&str, &str) -> Problem,
) -> Result<(KeysFrom, Option<String>), Problem> {
    let keys = match (section.get("jwks_file"), section.get("jwks_url")) {
        (Some(file), None) => KeysFrom::File(words::path(&file, "/etc/scorpiox/jwks.json")?),
        (None, Some(url)) => KeysFrom::Url(address(&url, "https://login.example.com/realms/team/certs")?),
        (None, None) => {
            return Err(missing("jwks_url", "\"https://login.example.com/realms/team/certs\", or jwks_file"));
        }
        (Some(file), Some(_)) => {
            let what = format!("{table} has both `jwks_file` and `jwks_url`");
            return Err(file.problem(what, "keep one of them"));
        }
    };
    let Some(entry) = section.get("ca") else { return Ok((keys, None)) };
    let is_encrypted = |url: &str| Url::parse(url).is_ok_and(|url| url.scheme() == "https");
    if !matches!(&keys, KeysFrom::Url(url) if is_encrypted(url)) {
        let what = format!("{} vouches for nobody: the keys come from no https:// address", entry.label());
        return Err(entry.problem(what, "remove it, or write `jwks_url = \"https://…\"`"));
    }
    Ok((keys, Some(words::path(&entry, "/etc/scorpiox/login-ca.pem")?)))
}

fn algorithms(section: &Section<'_>) -> Result<Vec<Algorithm>, Problem> {
    let Some(entry) = section.get("algorithms") else { return Ok(Algorithm::ALL.to_vec()) };
    let names = Algorithm::ALL.map(Algorithm::name);
    let read = |_: &Entry<'_>, text: &str| {
        let unknown = || {
            Invalid::new(
                format!("\"{}\" is not supported", shorten(text)),
                suggest(text, "algorithms", &names),
            )
        };
        Algorithm::named(text).ok_or_else(unknown)
    };
    let listed = list(&entry, "write a list, such as [\"RS256\", \"ES256\"]", read)?;
    if listed.is_empty() {
        return Err(entry.problem(format!("{} is empty", entry.label()), "remove it, or write [\"RS256\"]"));
    }
    Ok(listed)
}

/// Parses an address of the issuer. It has to be secure, because its content decides who is admitted.
fn address(entry: &Entry<'_>, example: &str) -> Result<String, Problem> {
    let fix = format!("write an address that begins with https://, such as \"{example}\"");
    let text = entry.text(&fix)?;
    let is_safe = Url::parse(text).is_ok_and(|url| {
        let is_near = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        (url.scheme() == "https" || url.scheme() == "http" && is_near) && url.username().is_empty()
    });
    if is_safe && !text.contains(char::is_control) {
        return Ok(text.to_owned());
    }
    Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}
