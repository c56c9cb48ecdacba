//! All mistakes of a file, for a person who mends it: what has one is left out, and the rest is read again.

use std::path::Path;

use scorpiox_document::{Document, Problem};
use scorpiox_rules::Layer;

use super::unit::units;
use super::{tables, versions};
use crate::Policy;

/// Mistakes that are told of at once.
const MAX_MISTAKES: usize = 50;

/// What is wrong with a text, in the order of its lines: of each key one mistake at least.
pub(crate) fn mistakes(text: &str, path: &Path, layer: Layer, policy: &Policy) -> Vec<Problem> {
    let document = Document::new(text, path, layer);
    let table = match document.parse() {
        Ok(table) => table,
        // What is no TOML has no keys, and another version may have others.
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
        // The smallest one without which this mistake is gone.
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
