//! Parses `[plugins.secrets.NAME]`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::document::{Entry, Problem, Section};
use crate::rule::{Sourced, shorten};

use crate::plugins::SecretFrom;

const FIX: &str = "write `{ file = \"/run/secrets/NAME\" }` or `{ variable = \"NAME\" }`";

/// Adds the tables to the existing ones.
pub(super) fn read(
    section: &Section<'_>,
    secrets: &mut BTreeMap<(String, String), Sourced<SecretFrom>>,
) -> Result<(), Problem> {
    for (plugin, entry) in section.entries() {
        let of_plugin = entry.section(&section.child(&shorten(plugin)))?;
        for (name, entry) in of_plugin.entries() {
            let from = from(&entry.section(&of_plugin.child(&shorten(name)))?, &entry)?;
            secrets.insert((plugin.to_owned(), name.to_owned()), Sourced::new(from, entry.key_source()));
        }
    }
    Ok(())
}

fn from(section: &Section<'_>, entry: &Entry<'_>) -> Result<SecretFrom, Problem> {
    section.only(&["file", "variable"])?;
    match (section.get("file"), section.get("variable")) {
        (Some(file), None) => path(&file).map(SecretFrom::File),
        (None, Some(variable)) => name(&variable).map(SecretFrom::Variable),
        (None, None) => Err(entry.problem(format!("{} says nothing of where it is", section.name()), FIX)),
        _ => Err(entry.problem(format!("{} is in two places", section.name()), FIX)),
    }
}

fn path(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write a path that begins with / or ~/, such as \"/run/secrets/weather-key\"";
    let text = entry.text(fix)?;
    let is_path = text.starts_with('/') || text.starts_with("~/") || Path::new(text).is_absolute();
    if is_path && !text.contains(char::is_control) {
        return Ok(text.to_owned());
    }
    Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}

fn name(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write the name of a variable, such as \"WEATHER_KEY\"";
    let text = entry.text(fix)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}
