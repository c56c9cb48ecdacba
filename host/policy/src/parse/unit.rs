//! Enumerates the keys of a file that can be removed one by one.

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::document::Document;
use crate::rule::{Source, shorten};

/// Tables that can only be removed as a unit, because their keys depend on each other.
const WHOLE: &[&str] = &["network"];
/// Top-level keys that concern the file itself.
const OF_THE_FILE: &[&str] = &["version", "min_version"];
/// Maximum depth of a key: `shell.profile.NAME.limits.memory`.
const MAX_DEPTH: usize = 5;

/// A key, identified by its path through the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    path: Vec<String>,
    /// Byte offsets of the start of the key and the end of its value.
    begin: usize,
    end: usize,
    /// `true` if no key below this one can be removed separately.
    pub is_leaf: bool,
}

/// Returns all keys in file order.
pub(super) fn units(table: &DeTable<'_>) -> Vec<Unit> {
    let mut found = Vec::new();
    collect(table, &mut Vec::new(), &mut found);
    found.sort_by_key(|unit| unit.begin);
    found
}

fn collect(table: &DeTable<'_>, path: &mut Vec<String>, found: &mut Vec<Unit>) {
    for (key, value) in table {
        if path.is_empty() && OF_THE_FILE.contains(&key.get_ref().as_ref()) {
            continue;
        }
        path.push(key.get_ref().clone().into_owned());
        let is_one = match path.as_slice() {
            [first, second] => {
                ["grant", "access", "limits", "workspace", "approvers", "approved"].contains(&&**first)
                    || first == "http" && ["auth", "tls", "observe", "admin"].contains(&&**second)
            }
            [first, second, _, _] => first == "plugins" && second == "secrets",
            [first, second, _] => first == "plugins" && ["signers", "registries"].contains(&&**second),
            _ => false,
        };
        let below = value
            .get_ref()
            .as_table()
            .filter(|_| path.len() < MAX_DEPTH && !is_one && !WHOLE.contains(&key.get_ref().as_ref()));
        let (begin, end) = (key.span().start, end(value).max(key.span().end));
        found.push(Unit { path: path.clone(), begin, end, is_leaf: below.is_none() });
        if let Some(below) = below {
            collect(below, path, found);
        }
        path.pop();
    }
}

/// Returns the end of a value. For a table with a header, the span covers only the header, so the end of its
/// last value counts.
fn end(value: &Spanned<DeValue<'_>>) -> usize {
    let below = value.get_ref().as_table().into_iter().flat_map(|table| table.values()).map(end).max();
    below.unwrap_or(0).max(value.span().end)
}

impl Unit {
    /// Returns the number of components in the key's path.
    pub(super) fn depth(&self) -> usize {
        self.path.len()
    }

    /// Returns `true` if the key or its value spans the line.
    pub(super) fn has_line(&self, document: &Document<'_>, line: usize) -> bool {
        let last = document.line(self.end.saturating_sub(1).max(self.begin));
        (document.line(self.begin)..=last).contains(&line)
    }

    pub(super) fn source(&self, document: &Document<'_>) -> Source {
        document.source(self.begin)
    }

    /// Returns the label for messages: "`allow` in [web]".
    pub(super) fn label(&self) -> String {
        let (key, tables) =
            self.path.split_last().map_or(("", &[][..]), |(key, tables)| (key.as_str(), tables));
        if tables.is_empty() {
            return format!("[{}]", shorten(key));
        }
        let tables: Vec<_> = tables.iter().map(|table| shorten(table)).collect();
        format!("`{}` in [{}]", shorten(key), tables.join("."))
    }

    /// Returns the table without this key, and without entries that refer only to it.
    pub(super) fn left_out<'t>(&self, table: &DeTable<'t>) -> DeTable<'t> {
        let mut table = table.clone();
        if let Some((key, within)) = inner(&mut table, &self.path) {
            within.remove(key);
            if self.path == ["audit", "export"] {
                within.remove("export_ca");
            }
        }
        if let [plugins, signers, signer] = self.path.as_slice()
            && plugins == "plugins"
            && signers == "signers"
            && let Some(DeValue::Table(plugins)) = table.get_mut("plugins").map(Spanned::get_mut)
            && let Some(allow) = plugins.get_mut("allow")
        {
            let named = format!("signer:{signer}");
            keep_entries(allow, |_, item| {
                item.as_str().is_none_or(|rule| rule.split('@').all(|part| part != named))
            });
        }
        table
    }

    /// Returns the entries of the key's lists with their byte offsets; for `network`, those of the lists
    /// inside.
    pub(super) fn entries(&self, table: &DeTable<'_>) -> Vec<(Vec<String>, usize, String, usize)> {
        let mut found = Vec::new();
        let Some(value) = self.path.iter().try_fold(None::<&Spanned<DeValue<'_>>>, |at, key| {
            let table = at.map_or(Some(table), |value| value.get_ref().as_table())?;
            Some(table.get(key.as_str()))
        }) else {
            return found;
        };
        let Some(value) = value else { return found };
        let mut add = |path: Vec<String>, value: &Spanned<DeValue<'_>>| {
            let Some(list) = value.get_ref().as_array().filter(|list| list.len() > 1) else { return };
            for (index, item) in list.iter().enumerate() {
                if let Some(text) = item.get_ref().as_str() {
                    found.push((path.clone(), index, text.to_owned(), item.span().start));
                }
            }
        };
        match value.get_ref().as_table() {
            None => add(self.path.clone(), value),
            Some(below) => {
                for (key, value) in below {
                    let path = self.path.iter().cloned().chain([key.get_ref().clone().into_owned()]);
                    add(path.collect(), value);
                }
            }
        }
        found
    }
}

/// Returns the table without one entry of a list.
pub(super) fn without_entry<'t>(table: &DeTable<'t>, path: &[String], index: usize) -> DeTable<'t> {
    let mut table = table.clone();
    if let Some((key, within)) = inner(&mut table, path)
        && let Some(value) = within.get_mut(key)
    {
        keep_entries(value, |at, _| at != index);
    }
    table
}

/// Keeps only the list entries that `keeps` accepts, by index and value.
fn keep_entries(value: &mut Spanned<DeValue<'_>>, keeps: impl Fn(usize, &DeValue<'_>) -> bool) {
    let DeValue::Array(list) = value.get_ref() else { return };
    let mut rest = DeArray::new();
    for (_, item) in list.iter().enumerate().filter(|(at, item)| keeps(*at, item.get_ref())) {
        rest.push(item.clone());
    }
    *value.get_mut() = DeValue::Array(rest);
}

/// Returns the last key of a path and the table that contains it.
fn inner<'m, 't, 'p>(
    table: &'m mut DeTable<'t>,
    path: &'p [String],
) -> Option<(&'p str, &'m mut DeTable<'t>)> {
    let (key, tables) = path.split_last()?;
    let within =
        tables.iter().try_fold(table, |table, name| match table.get_mut(name.as_str())?.get_mut() {
            DeValue::Table(below) => Some(below),
            _ => None,
        })?;
    Some((key, within))
}
