//! Finds entries of a file without effect, because the files that it narrows are at least as strict.

use std::path::Path;

use toml::de::DeTable;

use crate::document::Document;
use crate::rule::{Layer, Places, Source, shorten};

use super::tables;
use super::unit::{units, without_entry};
use crate::Policy;

/// Maximum number of list entries that are checked one by one. Beyond it, only complete keys are checked.
const MAX_ENTRIES: usize = 512;

/// A key, or an entry of a list, that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Label of the entry: "`allow` in [web]", or "\"example.org\" of `allow` in [web]".
    pub what: String,
    /// Source of the entry.
    pub source: Source,
}

/// Returns the entries of the text of a layer that have no effect: removing such an entry yields the same policy.
/// `before` has the texts that it narrows, the first of them first. Empty if any text is invalid.
pub(crate) fn idle(before: &[&str], own: &str, layer: Layer, places: &Places) -> Vec<Idle> {
    let path = Path::new("policy.toml");
    let mut all = Policy::builtin();
    for (index, text) in before.iter().enumerate() {
        let Ok(next) = super::policy(text, path, Layer::Any, all.clone()) else { return Vec::new() };
        all = if index == 0 { next } else { all.narrowed_by(&next, places) };
    }
    let (told, read) = (Document::new(own, path, layer), Document::new(own, path, Layer::Any));
    let Ok(table) = read.parse().map(toml::Spanned::into_inner) else { return Vec::new() };
    let comes_to = |table: &DeTable<'_>| {
        let own = tables(&read, table, all.clone()).ok()?;
        Some(all.narrowed_by(&own, places).without_outer())
    };
    let Some(whole) = comes_to(&table) else { return Vec::new() };
    let is_same = |table: &DeTable<'_>| comes_to(table).is_some_and(|policy| policy == whole);
    let (mut found, mut entries) = (Vec::new(), 0);
    for unit in units(&table).into_iter().filter(|unit| unit.is_leaf) {
        if is_same(&unit.left_out(&table)) {
            found.push(Idle { what: unit.label(), source: unit.source(&told) });
            continue;
        }
        let listed = unit.entries(&table);
        entries += listed.len();
        if entries > MAX_ENTRIES {
            continue;
        }
        for (path, index, text, at) in listed {
            if is_same(&without_entry(&table, &path, index)) {
                let what = format!("\"{}\" of {}", shorten(&text), unit.label());
                found.push(Idle { what, source: told.source(at) });
            }
        }
    }
    found
}
