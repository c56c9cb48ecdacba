//! `[http.auth]`.

use std::collections::BTreeMap;

use scorpiox_document::{Entry, Problem, Section, list, number};
use scorpiox_rules::{Invalid, Sourced, shorten, suggest};
use url::Url;

use super::words;
use crate::auth::{Algorithm, Auth, Jwt, KeysFrom, Token};

const KINDS: [&str; 3] = ["token", "jwt", "none"];
/// Most clocks differ by less, and a token that ended stays good for this long.
const MAX_SKEW: u64 = 600;
const DEFAULT_SKEW: u64 = 60;

pub(super) fn read(entry: &Entry<'_>) -> Result<Auth, Problem> {
    let section = entry.section("[http.auth]")?;
    let Some(kind) = section.get("kind") else {
        return Err(entry.problem("[http.auth] has no `kind`", suggest("", "kinds", &KINDS)));
    };
    match kind.text("write \"token\", \"jwt\" or \"none\"")? {
        "token" => tokens(&section),
        "jwt" => jwt(entry, &section).map(|jwt| Auth::Jwt(Box::new(jwt))),
        "none" => section.only(&["kind"]).map(|()| Auth::Nothing),
        other => {
            let what = format!("{} is \"{}\"", kind.label(), shorten(other));
            Err(kind.problem(what, suggest(other, "kinds", &KINDS)))
        }
    }
}

fn tokens(section: &Section<'_>) -> Result<Auth, Problem> {
    section.only(&["kind", "tokens"])?;
    let Some(entry) = section.get("tokens") else { return Ok(Auth::OwnToken) };
    let mut tokens: BTreeMap<String, Sourced<Token>> = BTreeMap::new();
    for (name, entry) in entry.section("[http.auth.tokens]")?.entries() {
        words::name(&entry, name, "token")?;
        let token = token(name, &entry)?;
        if let Some((other, _)) = tokens.iter().find(|(_, other)| other.value.sha256 == token.sha256) {
            let what = format!("[http.auth.tokens.{name}] is the same token as [http.auth.tokens.{other}]");
            return Err(entry.problem(what, "give each its own: who calls is known by it"));
        }
        tokens.insert(name.to_owned(), Sourced::new(token, entry.key_source()));
    }
    Ok(Auth::Tokens(tokens))
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

fn jwt(entry: &Entry<'_>, section: &Section<'_>) -> Result<Jwt, Problem> {
    section.only(&[
        "kind",
        "issuer",
        "audiences",
        "jwks_file",
        "jwks_url",
        "algorithms",
        "clock_skew",
        "scopes",
        "groups_claim",
    ])?;
    let missing = |key: &str, example: &str| {
        entry.problem(format!("[http.auth] has no `{key}`"), format!("write `{key} = {example}`"))
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
    let keys = match (section.get("jwks_file"), section.get("jwks_url")) {
        (Some(file), None) => KeysFrom::File(words::path(&file, "/etc/scorpiox/jwks.json")?),
        (None, Some(url)) => KeysFrom::Url(address(&url, "https://login.example.com/realms/team/certs")?),
        (None, None) => {
            return Err(missing("jwks_url", "\"https://login.example.com/realms/team/certs\", or jwks_file"));
        }
        (Some(file), Some(_)) => {
            let what = "[http.auth] has both `jwks_file` and `jwks_url`";
            return Err(file.problem(what, "keep one of them"));
        }
    };
    let clock_skew = section.get("clock_skew").map(|entry| number(&entry, &(0..=MAX_SKEW))).transpose()?;
    let groups_claim = match section.get("groups_claim") {
        Some(entry) => Some(entry.text("write the name of a claim, such as \"groups\"")?.to_owned()),
        None => None,
    };
    Ok(Jwt {
        issuer,
        audiences,
        keys,
        algorithms: algorithms(section)?,
        clock_skew: clock_skew.unwrap_or(DEFAULT_SKEW),
        scopes: words::scopes(section)?,
        groups_claim,
    })
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

/// An address of the issuer's: what is read there decides who is let in.
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
