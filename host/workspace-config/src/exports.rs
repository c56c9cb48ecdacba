//! Checks that commands cannot write the destinations of the audit log.

use std::path::{Path, PathBuf};

use scorpiox_fs::{Writable, account_id, account_name};
use scorpiox_policy::{AuditPolicy, Files, Problem, Source};

use crate::Site;

/// Fails if an export destination or the authorities file is in a location that commands can write, or among
/// this program's own files.
pub(crate) fn check(
    site: &Site,
    files: &Files<'_>,
    audit: &AuditPolicy,
    writable: &Writable,
) -> Result<(), Problem> {
    let uid = account_id();
    let user = audit.export.iter().any(|export| export.value.path(None, uid).is_some()).then(account_name);
    let user = user.flatten();
    let exports = audit
        .export
        .iter()
        .filter_map(|export| Some(("export", export.value.path(user.as_deref(), uid)?, export.source)));
    let ca = audit.export_ca.iter().map(|ca| ("export_ca", PathBuf::from(&ca.value), ca.source));
    for (key, path, source) in exports.chain(ca) {
        let why = if writable.covers(&path) {
            "where commands can write"
        } else if key == "export" && path.starts_with(&site.own_home) {
            "among this program's own files"
        } else {
            continue;
        };
        let (file, line) = place(source, files);
        return Err(Problem {
            path: file.to_owned(),
            line,
            what: format!("`{key}` in [audit] leads to {}, {why}", path.display()),
            fix: "name a path outside".to_owned(),
            may_pass: false,
        });
    }
    Ok(())
}

/// Returns the file and the line of a source.
fn place<'a>(source: Source, files: &Files<'a>) -> (&'a Path, Option<usize>) {
    match source {
        Source::Managed(line) => (files.managed, Some(line)),
        Source::Line(line) => (files.own, Some(line)),
        // No repository can export.
        Source::Builtin | Source::Repository(_) => (files.own, None),
    }
}
