//! Parses `[access.NAME]`.

use crate::document::{Entry, Problem, list};
use crate::rule::{NamePattern, Source, Sourced};

use super::words;
use crate::access::rules::AccessRule;

/// Parses the table of a rule.
pub fn read_access(name: &str, entry: &Entry<'_>) -> Result<AccessRule, Problem> {
    words::name(entry, name, "a rule")?;
    let section = entry.section(&format!("[access.{name}]"))?;
    section.only(&["principals", "groups", "scopes", "allow", "deny"])?;
    let fix = "write a list of tools, such as [\"ReadDocs\", \"weather.*\"]";
    let tool =
        |item: &Entry<'_>, text: &str| Ok(Sourced::new(NamePattern::parse(text, "tool")?, item.source()));
    let tools =
        |key: &str| section.get(key).map(|entry| Ok((list(&entry, fix, tool)?, entry.source()))).transpose();
    let (allow, deny) = (tools("allow")?, tools("deny")?);
    if allow.is_none() && deny.is_none() {
        let what = format!("{} has neither `allow` nor `deny`", section.name());
        return Err(entry.problem(what, "write which tools it opens or closes"));
    }
    let origin =
        |listed: &Option<(_, Source)>| listed.as_ref().map_or(Source::Builtin, |(_, source)| *source);
    Ok(AccessRule {
        who: words::who(&section)?,
        allow_origin: origin(&allow),
        deny_origin: origin(&deny),
        allow: allow.map(|(tools, _)| tools),
        deny: deny.map(|(tools, _)| tools).unwrap_or_default(),
        source: entry.key_source(),
    })
}
