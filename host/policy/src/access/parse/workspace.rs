//! Parses `[workspace.NAME]`.

use crate::document::{Entry, Problem};

use super::words;
use crate::access::served::{DEFAULT_WORKSPACE, ServedWorkspace};

/// Parses the table of a workspace.
pub fn read_workspace(name: &str, entry: &Entry<'_>) -> Result<ServedWorkspace, Problem> {
    words::name(entry, name, "a workspace")?;
    let section = entry.section(&format!("[workspace.{name}]"))?;
    section.only(&["path", "principals", "groups"])?;
    let path = section.get("path").map(|entry| words::path(&entry, "/srv/projects/web")).transpose()?;
    if name == DEFAULT_WORKSPACE && path.is_some() {
        let what = format!("{} has a `path`", section.name());
        return Err(entry.problem(what, "remove it: this one is where the server is started"));
    }
    if name != DEFAULT_WORKSPACE && path.is_none() {
        let what = format!("{} has no `path`", section.name());
        return Err(entry.problem(what, "write `path = \"/srv/projects/web\"`, or another folder"));
    }
    Ok(ServedWorkspace { path, who: words::who(&section)?, source: entry.key_source() })
}
