//! `[http.admin]`.

use scorpiox_document::{Entry, Problem};
use scorpiox_rules::shorten;

use super::words;
use crate::http::AdminPolicy;

/// Reads the table.
pub(super) fn read(entry: &Entry<'_>) -> Result<AdminPolicy, Problem> {
    let section = entry.section("[http.admin]")?;
    section.only(&["scope", "principals"])?;
    let scope = section.get("scope").map(|entry| scope(&entry)).transpose()?;
    let principals = words::principals(&section)?;
    if scope.is_none() && principals.is_none() {
        let fix = "write `scope = \"admin\"`, which their tokens need, or `principals = [\"NAME\"]`";
        return Err(entry.problem("[http.admin] does not say who may read the pages", fix));
    }
    Ok(AdminPolicy { scope, principals })
}

fn scope(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write a scope, such as \"admin\"";
    let text = entry.text(fix)?;
    let is_scope = |c: char| c.is_ascii_graphic() && !"\"\\".contains(c);
    if !text.is_empty() && text.chars().all(is_scope) {
        return Ok(text.to_owned());
    }
    Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}
