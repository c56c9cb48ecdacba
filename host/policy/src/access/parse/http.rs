//! Parses `[http]`.

use crate::document::{Entry, Problem, Section, list};
use crate::rule::{Invalid, NetworkRule, Source, Sourced, shorten};
use url::Url;

use super::{admin, auth, observe, words};
use crate::access::auth::Auth;
use crate::access::http::{HttpPolicy, Tls};

/// Applies the table to the existing settings.
pub fn read_http(entry: &Entry<'_>, http: &mut HttpPolicy) -> Result<(), Problem> {
    let section = entry.section("[http]")?;
    section.only(&["url", "hosts", "origins", "proxies", "tls", "auth", "observe", "admin"])?;
    http.source = entry.key_source();
    if let Some(entry) = section.get("url") {
        http.url = Some(Sourced::new(endpoint(&entry)?, entry.source()));
    }
    if let Some(entry) = section.get("hosts") {
        let fix = "write a list of names without ports, such as [\"mcp.example.com\"]";
        let name = |item: &Entry<'_>, text: &str| Ok(Sourced::new(host(text)?, item.source()));
        (http.hosts, http.hosts_origin) = (list(&entry, fix, name)?, entry.source());
    }
    if let Some(entry) = section.get("origins") {
        let fix = "write a list of origins, such as [\"https://chat.example.com\"]";
        let read = |item: &Entry<'_>, text: &str| Ok(Sourced::new(origin(text)?, item.source()));
        (http.origins, http.origins_origin) = (list(&entry, fix, read)?, entry.source());
    }
    if let Some(entry) = section.get("proxies") {
        let fix = "write a list of addresses or networks, such as [\"127.0.0.1\", \"10.0.0.0/8\"]";
        let read = |item: &Entry<'_>, text: &str| NetworkRule::parse(text, item.source());
        (http.proxies, http.proxies_origin) = (list(&entry, fix, read)?, entry.source());
    }
    if let Some(entry) = section.get("tls") {
        http.tls = Some(Sourced::new(tls(&entry)?, entry.key_source()));
    }
    if let Some(entry) = section.get("auth") {
        http.auth = Sourced::new(auth::read(&entry)?, entry.key_source());
    }
    if let Some(entry) = section.get("observe") {
        http.observe = observe::read(&entry)?;
    }
    if let Some(entry) = section.get("admin") {
        http.admin = Some(Sourced::new(admin::read(&entry)?, entry.key_source()));
    }
    check(&section, http)
}

/// Checks settings that depend on each other.
fn check(section: &Section<'_>, http: &HttpPolicy) -> Result<(), Problem> {
    check_admin(section, http)?;
    let auth_entry = section.get("auth");
    if matches!(http.auth.value, Auth::Jwt(_))
        && http.url.is_none()
        && let Some(entry) = &auth_entry
    {
        let what = "[http.auth] is for JWT, and [http] has no `url`, which clients have to know";
        return Err(entry.problem(what, "write `url = \"https://mcp.example.com/mcp\"` into [http]"));
    }
    if matches!(http.auth.value, Auth::Nothing)
        && let Some(entry) = &auth_entry
        && let Some(open) = opened_by(http)
    {
        let by = open.beside(entry.key_source());
        let what = format!("[http.auth] lets everybody call, and [http] has `url`, `proxies` or `tls`{by}");
        return Err(
            entry.problem(what, "write another `kind`: this one is for clients on this machine alone")
        );
    }
    Ok(())
}

/// Returns the source of a key that makes the server known to other machines.
fn opened_by(http: &HttpPolicy) -> Option<Source> {
    let proxies = || (!http.proxies.is_empty()).then_some(http.proxies_origin);
    let tls = || http.tls.as_ref().map(|tls| tls.source);
    http.url.as_ref().map(|url| url.source).or_else(proxies).or_else(tls)
}

/// Checks that clients authenticate if some of them may read the operator's pages.
fn check_admin(section: &Section<'_>, http: &HttpPolicy) -> Result<(), Problem> {
    match section.get("admin") {
        Some(entry) if matches!(http.auth.value, Auth::Nothing) => {
            let by = http.auth.source.beside(entry.key_source());
            let what = format!(
                "[http.admin] says who may read the pages, and [http.auth] asks nobody who they are{by}"
            );
            Err(entry.problem(what, "write another `kind` into [http.auth]"))
        }
        _ => Ok(()),
    }
}

fn tls(entry: &Entry<'_>) -> Result<Tls, Problem> {
    let section = entry.section("[http.tls]")?;
    section.only(&["certificate", "key"])?;
    let file = |key: &str, example: &str| match section.get(key) {
        Some(entry) => words::path(&entry, example),
        None => {
            Err(entry.problem(format!("[http.tls] has no `{key}`"), format!("write `{key} = \"{example}\"`")))
        }
    };
    Ok(Tls {
        certificate: file("certificate", "/etc/scorpiox/tls/certificate.pem")?,
        key: file("key", "/etc/scorpiox/tls/key.pem")?,
    })
}

/// Parses the URL of the endpoint. It has to be in normalized form, because many clients compare it byte for
/// byte.
fn endpoint(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write the address that clients use, such as \"https://mcp.example.com/mcp\"";
    let text = entry.text(fix)?;
    let is_plain = Url::parse(text).is_ok_and(|url| {
        let is_web = url.scheme() == "https" || url.scheme() == "http" && is_this_machine(&url);
        let has_more = url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
        is_web && !has_more && url.as_str() == text && url.path().ends_with("/mcp")
    });
    if is_plain {
        return Ok(text.to_owned());
    }
    let why = "has to begin with https:// (http:// on this machine alone), and to end with /mcp";
    Err(entry.problem(format!("{} is \"{}\", and {why}", entry.label(), shorten(text)), fix))
}

fn is_this_machine(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

fn host(text: &str) -> Result<String, Invalid> {
    let fix = "write a name without a port, such as \"mcp.example.com\"";
    let is_one = url::Host::parse(text).is_ok_and(|host| host.to_string() == text.to_ascii_lowercase());
    if is_one && !text.contains('*') {
        return Ok(text.to_ascii_lowercase());
    }
    Err(Invalid::new(format!("\"{}\" is not the name of a host", shorten(text)), fix))
}

fn origin(text: &str) -> Result<String, Invalid> {
    let fix = "write an origin as a browser sends it, such as \"https://chat.example.com\"";
    let is_one = Url::parse(text).is_ok_and(|url| {
        let origin = url.origin();
        origin.is_tuple() && origin.ascii_serialization() == text
    });
    if is_one {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(format!("\"{}\" is not an origin", shorten(text)), fix))
}
