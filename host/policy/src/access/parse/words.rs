//! Parsers for values that several tables share.

use std::collections::BTreeSet;

use crate::document::{Entry, Problem, Section, list};
use crate::rule::{Invalid, NamePattern, shorten};

use crate::access::who::Who;

/// Maximum length of the name of a group or a scope, in bytes.
const MAX_WORD_BYTES: usize = 128;
/// Maximum length of the name of a token, an issuer, a rule or a workspace, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Checks a name that the file assigns: to a token, an issuer, a rule or a workspace.
pub(super) fn name(entry: &Entry<'_>, name: &str, kind: &str) -> Result<(), Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.len() <= MAX_NAME_BYTES && name.bytes().all(is_plain) {
        return Ok(());
    }
    let what = format!("\"{}\" is not the name of {kind}", shorten(name));
    Err(entry
        .problem(what, "write at most 64 letters, digits, `-`, `_`, `.` and `@`, a letter or digit first"))
}

/// Parses `principals`, `groups` and `scopes`; each is optional.
pub(super) fn who(section: &Section<'_>) -> Result<Who, Problem> {
    Ok(Who { principals: principals(section)?, groups: groups(section)?, scopes: scopes(section)? })
}

/// Parses the optional `principals`.
fn principals(section: &Section<'_>) -> Result<Option<Vec<NamePattern>>, Problem> {
    let fix = "write a list of names, such as [\"ann\", \"ci-*\"]";
    let read = |_: &Entry<'_>, text: &str| NamePattern::parse(text, "principal");
    section.get("principals").map(|entry| list(&entry, fix, read)).transpose()
}

/// Parses the optional `groups`.
pub(super) fn groups(section: &Section<'_>) -> Result<Option<Vec<String>>, Problem> {
    let fix = "write a list of groups, such as [\"developers\"]";
    let read = |_: &Entry<'_>, text: &str| read_group(text);
    section.get("groups").map(|entry| list(&entry, fix, read)).transpose()
}

/// Parses the name of a group.
pub(crate) fn read_group(text: &str) -> Result<String, Invalid> {
    word(text, "group", |c| !c.is_control())
}

/// Parses the optional `scopes`; the default is empty.
pub(super) fn scopes(section: &Section<'_>) -> Result<BTreeSet<String>, Problem> {
    let fix = "write a list of scopes, such as [\"tools:read\"]";
    // Syntax of a scope: RFC 6749, section 3.3.
    let is_scope = |c: char| c.is_ascii_graphic() && !"\"\\".contains(c);
    let read = |_: &Entry<'_>, text: &str| word(text, "scope", is_scope);
    let scopes = section.get("scopes").map(|entry| list(&entry, fix, read)).transpose()?;
    Ok(scopes.unwrap_or_default().into_iter().collect())
}

fn word(text: &str, kind: &str, may_have: impl Fn(char) -> bool) -> Result<String, Invalid> {
    if !text.is_empty() && text.len() <= MAX_WORD_BYTES && text.chars().all(may_have) {
        return Ok(text.to_owned());
    }
    let what = format!(
        "{kind} \"{}\" is empty, longer than 128 bytes, or has a character that none has",
        shorten(text)
    );
    Err(Invalid::new(what, "write it as it stands in the token"))
}

/// Parses an absolute path.
pub(super) fn path(entry: &Entry<'_>, example: &str) -> Result<String, Problem> {
    let fix = format!("write an absolute path, such as \"{example}\"");
    let text = entry.text(&fix)?;
    let is_absolute = std::path::Path::new(text).is_absolute();
    if is_absolute && !text.contains(char::is_control) {
        return Ok(text.to_owned());
    }
    Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}
