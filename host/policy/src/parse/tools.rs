//! Parses `[tools]`, `[workspaces]` and `min_version`.

use crate::document::{Entry, Problem, Section, list};
use crate::rule::{Invalid, NamePattern, Place, Sourced, shorten};

use super::profile::paths;
use crate::rules::Rules;
use crate::tools::ToolsPolicy;
use crate::workspaces::WorkspacesPolicy;

/// Version of this program; all crates share it.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Applies `[tools]` to the defaults.
pub(super) fn read(section: &Section<'_>, tools: &mut ToolsPolicy) -> Result<(), Problem> {
    section.only(&["allow", "deny"])?;
    let fix = "write a list of tools, such as [\"Bash\", \"weather.*\"]";
    rules(section, tools, fix, |text| NamePattern::parse(text, "tool"))
}

/// Parses `allow` and `deny`.
pub(super) fn rules<T>(
    section: &Section<'_>,
    rules: &mut Rules<T>,
    fix: &str,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<(), Problem> {
    let rule = |item: &Entry<'_>, text: &str| Ok(Sourced::new(parse(text)?, item.source()));
    if let Some(entry) = section.get("allow") {
        (rules.allow, rules.allow_origin) = (list(&entry, fix, rule)?, entry.source());
    }
    if let Some(entry) = section.get("deny") {
        (rules.deny, rules.deny_origin) = (list(&entry, fix, rule)?, entry.source());
    }
    Ok(())
}

/// Applies `[workspaces]` to the defaults.
pub(super) fn read_workspaces(
    section: &Section<'_>,
    workspaces: &mut WorkspacesPolicy,
) -> Result<(), Problem> {
    section.only(&["allow"])?;
    if let Some(entry) = section.get("allow") {
        let folder = |text: &str| match Place::parse(text)? {
            place @ Place::Path(_) => Ok(place),
            place => Err(Invalid::new(
                format!("{place} is not a folder that holds workspaces"),
                "write an absolute path, or one that begins with ~/",
            )),
        };
        workspaces.allow = Some(paths(&entry, folder)?);
        workspaces.origin = entry.source();
    }
    Ok(())
}

/// Rejects a file written for a newer version of this program.
pub(super) fn min_version(entry: &Entry<'_>) -> Result<(), Problem> {
    let fix = "write a version such as \"0.1.0\"";
    let text = entry.text(fix)?;
    let Some(wanted) = numbers(text) else {
        return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix));
    };
    if numbers(OWN_VERSION).is_some_and(|own| own >= wanted) {
        return Ok(());
    }
    let what = format!("{} is {text}, and this program is {OWN_VERSION}", entry.label());
    Err(entry.problem(what, "install the newer one"))
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let parts: Vec<u64> = version.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}
