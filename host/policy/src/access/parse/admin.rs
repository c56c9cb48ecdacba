//! Parses `[http.admin]`.

use crate::document::{Entry, Problem};

use super::words;
use crate::access::who::Who;

/// Parses the table.
pub(super) fn read(entry: &Entry<'_>) -> Result<Who, Problem> {
    let section = entry.section("[http.admin]")?;
    section.only(&["principals", "groups", "scopes"])?;
    let who = words::who(&section)?;
    if who.is_everybody() {
        let fix = "write `scopes = [\"admin\"]`, which their tokens need, or `principals = [\"NAME\"]`";
        return Err(entry.problem("[http.admin] does not say who may read the pages", fix));
    }
    Ok(who)
}
