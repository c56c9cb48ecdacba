//! `[audit]`.

use super::document::Section;
use super::value::{number, size};
use crate::audit::AuditPolicy;
use crate::problem::Problem;
use crate::source::Sourced;

/// Less would be renaming more than writing.
const LEAST_SIZE: u64 = 64 << 10;
/// The current file, and one that was full.
const LEAST_FILES: usize = 2;
const MOST_FILES: usize = 1000;

/// Lays the table over the defaults.
pub(super) fn read(section: &Section<'_>, audit: &mut AuditPolicy) -> Result<(), Problem> {
    section.only(&["enabled", "arguments", "required", "max_file_size", "max_files"])?;
    let switches = [
        ("enabled", &mut audit.enabled),
        ("arguments", &mut audit.arguments),
        ("required", &mut audit.required),
    ];
    for (key, switch) in switches {
        if let Some(entry) = section.get(key) {
            *switch = Sourced::new(entry.boolean("write true or false")?, entry.source());
        }
    }
    if let Some(entry) = section.get("required")
        && audit.required.value
        && !audit.enabled.value
    {
        let what = "`required` in [audit] is true, but `enabled` is false";
        return Err(entry.problem(what, "write `enabled = true`, or remove `required`"));
    }
    if let Some(entry) = section.get("max_file_size") {
        audit.max_file_size = Sourced::new(size(&entry, LEAST_SIZE)?, entry.source());
    }
    if let Some(entry) = section.get("max_files") {
        audit.max_files = Sourced::new(number(&entry, &(LEAST_FILES..=MOST_FILES))?, entry.source());
    }
    Ok(())
}
