//! Parses `[store]`.

use crate::document::{Entry, Problem, Section, number};
use crate::rule::{Sourced, shorten, shorten_address};

use crate::store::{DatabasePolicy, StorePolicy};

/// Maximum number of connections of one process. PostgreSQL's default limit for all processes together is
/// 100.
const MOST_CONNECTIONS: usize = 1000;
const EXAMPLE: &str = "postgres://scorpiox@db.example.com/scorpiox";

/// Applies the table to the existing settings.
pub(super) fn read(entry: &Entry<'_>, store: &mut StorePolicy) -> Result<(), Problem> {
    let section = entry.section("[store]")?;
    section.only(&["kind", "address", "password_file", "connections", "migrate"])?;
    let fix = "write `kind = \"postgres\"`, or `kind = \"sqlite\"` for files of this machine";
    let Some(kind) = section.get("kind") else {
        return Err(entry.problem("[store] has no `kind`", fix));
    };
    store.source = Some(entry.key_source());
    match kind.text(fix)? {
        "sqlite" => {
            if let Some((name, entry)) = section.entries().find(|(name, _)| *name != "kind") {
                let what = format!("`{name}` in [store] is for a database, and `kind` is \"sqlite\"");
                return Err(entry.problem(what, "write `kind = \"postgres\"`, or remove it"));
            }
            store.database = None;
        }
        "postgres" => store.database = Some(database(&section, entry)?),
        other => {
            return Err(kind.problem(format!("{} is \"{}\"", kind.label(), shorten(other)), fix));
        }
    }
    Ok(())
}

fn database(section: &Section<'_>, entry: &Entry<'_>) -> Result<DatabasePolicy, Problem> {
    let Some(address) = section.get("address") else {
        return Err(entry.problem("[store] has no `address`", format!("write `address = \"{EXAMPLE}\"`")));
    };
    let password_file = match section.get("password_file") {
        None => None,
        Some(entry) => Some(Sourced::new(path(&entry)?, entry.source())),
    };
    let connections = match section.get("connections") {
        None => Sourced::builtin(DatabasePolicy::CONNECTIONS),
        Some(entry) => Sourced::new(number(&entry, &(2..=MOST_CONNECTIONS))?, entry.source()),
    };
    let migrate = match section.get("migrate") {
        None => Sourced::builtin(true),
        Some(entry) => Sourced::new(entry.boolean("write true or false")?, entry.source()),
    };
    Ok(DatabasePolicy {
        address: Sourced::new(checked_address(&address)?, address.source()),
        password_file,
        connections,
        migrate,
    })
}

/// Checks an address as far as possible without its context. A password in the address would appear in the
/// output of `policy show` and in every copy of the file, so it is rejected.
fn checked_address(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = format!("write the address of a PostgreSQL database, such as \"{EXAMPLE}\"");
    let text = entry.text(&fix)?;
    let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !text.contains(char::is_control)) else {
        return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten_address(text)), fix));
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let has_password = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    if has_password || rest.contains("password=") {
        return Err(entry.problem(
            format!("{} has a password in it", entry.label()),
            "write it into a file that only you can read, and name that in `password_file`; or give it to the server in the \
             variable SCORPIOX_STORE_PASSWORD",
        ));
    }
    Ok(text.to_owned())
}

fn path(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write a path that begins with / or ~/, such as \"/etc/scorpiox/store-password\"";
    let text = entry.text(fix)?;
    let is_path = text.starts_with('/') || text.starts_with("~/") || std::path::Path::new(text).is_absolute();
    if is_path && !text.contains(char::is_control) {
        return Ok(text.to_owned());
    }
    Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}
