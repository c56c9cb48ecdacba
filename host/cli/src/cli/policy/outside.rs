//! Changes of `policy allow` and `policy deny` to `[web]`, `[files]` and `[workspaces]`.

use anyhow::{Result, bail};
use scorpiox_fs::Trail;
use scorpiox_policy::{Policy, Source};
use toml_edit::{Array, DocumentMut, Item, Value};

use super::edit::{Editable, push, remove, section_of};
use super::judge::Judge;

/// Changes the document. Returns `None` for other kinds of access, and `false` if there is nothing to change.
pub(super) fn change(
    document: &mut DocumentMut,
    judge: &Judge<'_>,
    (what, allows): (Editable, bool),
    subject: &str,
) -> Result<Option<bool>> {
    let policy = judge.policy();
    Ok(Some(match what {
        Editable::Host | Editable::Read | Editable::Write | Editable::Tool => return Ok(None),
        Editable::Page if allows => allow_page(document, policy, subject)?,
        Editable::Page => push(section_of(document, &["web".to_owned()])?, "deny", subject),
        Editable::File if allows => allow_file(document, judge, subject)?,
        Editable::File => deny_file(document, policy, subject)?,
        Editable::Workspace if allows => allow_workspace(document, subject)?,
        Editable::Workspace => {
            bail!(
                "`policy deny workspace` is not possible: name the folders that may be opened in `allow` of [workspaces]"
            )
        }
    }))
}

/// Removes the host from `deny`, or adds it to `allow` if there is a list.
fn allow_page(document: &mut DocumentMut, policy: &Policy, host: &str) -> Result<bool> {
    if !policy.web.enabled.value {
        let source = policy.web.enabled.source;
        bail!("all pages are switched off by `enabled = false` in [web] ({source}); remove that line first");
    }
    let table = section_of(document, &["web".to_owned()])?;
    let is_removed =
        table.get_mut("deny").and_then(Item::as_array_mut).is_some_and(|list| remove(list, host));
    // Without a list, every host is allowed.
    Ok(is_removed || table.contains_key("allow") && push(table, "allow", host))
}

/// Removes the globs that deny the file from `deny`, or adds its path to `read`.
fn allow_file(document: &mut DocumentMut, judge: &Judge<'_>, subject: &str) -> Result<bool> {
    let (policy, path) = (judge.policy(), judge.asked(subject));
    let places = judge.operator().places()?;
    let forms = Trail::follow(&path).map_or_else(|_| vec![path.clone()], |trail| trail.forms);
    let left = policy.files.deny_without(&forms, &places);
    let table = section_of(document, &["files".to_owned()])?;
    if left.len() < policy.files.deny.len() {
        let is_of_others = policy.files.deny.iter().any(|rule| {
            matches!(rule.source, Source::Managed(_) | Source::Repository(_))
                && !left.iter().any(|glob| glob == rule.glob())
        });
        if is_of_others {
            return Ok(false);
        }
        let list: Array = left.into_iter().collect();
        table.insert("deny", Item::Value(Value::Array(list)));
        return Ok(true);
    }
    if !table.contains_key("read") {
        let read: Array = policy.files.read.iter().map(|rule| rule.place.to_string()).collect();
        table.insert("read", Item::Value(Value::Array(read)));
    }
    let path = if subject.starts_with("~/") { subject.to_owned() } else { path.display().to_string() };
    Ok(push(table, "read", &path))
}

/// Adds a glob to `deny`, to those that hold now.
fn deny_file(document: &mut DocumentMut, policy: &Policy, glob: &str) -> Result<bool> {
    let table = section_of(document, &["files".to_owned()])?;
    if !table.contains_key("deny") {
        let deny: Array = policy.files.deny.iter().map(|rule| rule.glob().to_owned()).collect();
        table.insert("deny", Item::Value(Value::Array(deny)));
    }
    Ok(push(table, "deny", glob))
}

/// Adds a folder to the list of workspaces, if there is one.
fn allow_workspace(document: &mut DocumentMut, folder: &str) -> Result<bool> {
    let table = section_of(document, &["workspaces".to_owned()])?;
    Ok(table.contains_key("allow") && push(table, "allow", folder))
}
