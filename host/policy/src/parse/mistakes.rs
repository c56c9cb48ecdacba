//! Collects all mistakes in a file: a key with a mistake is removed, and the rest is parsed again.

use std::path::Path;

use crate::document::{Document, Problem};
use crate::rule::Layer;

use super::unit::units;
use super::{tables, versions};
use crate::Policy;

/// Maximum number of reported mistakes.
const MAX_MISTAKES: usize = 50;

/// Returns the mistakes in a text in line order, at least one for each invalid key.
pub(crate) fn mistakes(text: &str, path: &Path, layer: Layer, policy: &Policy) -> Vec<Problem> {
    let document = Document::new(text, path, layer);
    let table = match document.parse() {
        Ok(table) => table,
        // Invalid TOML has no keys to remove, and another version may have other keys.
        Err(problem) => return vec![problem],
    };
    if let Err(problem) = versions(&document, table.get_ref()) {
        return vec![problem];
    }
    let mut table = table.into_inner();
    let mut found: Vec<Problem> = Vec::new();
    while let Err(problem) = tables(&document, &table, policy.clone()) {
        let line = problem.line;
        let mut at_fault = units(&table);
        at_fault.retain(|unit| line.is_some_and(|line| unit.has_line(&document, line)));
        // Innermost key first: the smallest part whose removal resolves this mistake is removed.
        at_fault.sort_by_key(|unit| std::cmp::Reverse(unit.depth()));
        let rest = at_fault
            .iter()
            .map(|unit| unit.left_out(&table))
            .find(|rest| tables(&document, rest, policy.clone()).err().is_none_or(|other| other != problem));
        if !found.contains(&problem) {
            found.push(problem);
        }
        match rest {
            Some(rest) if found.len() < MAX_MISTAKES => table = rest,
            _ => break,
        }
    }
    found.sort_by_key(|problem| problem.line);
    found
}
