//! Changes of `policy allow` and `policy deny` to `[web]`, `[files]` and `[workspaces]`.

use anyhow::{Result, bail, ensure};
use scorpiox_fs::Trail;
use scorpiox_policy::{DenyRule, Policy, Source};
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
                "`policy deny workspace` is not possible: \
                 name the folders that may be opened in `allow` of [workspaces]"
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

/// Removes the entries that name the file from `deny`, or adds its path to `read`. Fails if an entry of `deny` covers
/// other files, too: they would be opened with it.
fn allow_file(document: &mut DocumentMut, judge: &Judge<'_>, subject: &str) -> Result<bool> {
    let (files, path) = (&judge.policy().files, judge.asked(subject));
    let places = judge.operator().places()?;
    let names = Trail::follow(&path).map_or_else(|_| vec![path.clone()], |trail| trail.forms);
    let denying = files.denying(&names, &[], &places);
    if denying.iter().any(|rule| matches!(rule.source, Source::Managed(_) | Source::Repository(_))) {
        return Ok(false);
    }
    for rule in &denying {
        ensure!(files.is_own_entry_for(rule, &names, &places), not_for_this_file_alone(rule));
    }
    let table = section_of(document, &["files".to_owned()])?;
    if let Some(list) = table.get_mut("deny").and_then(Item::as_array_mut).filter(|_| !denying.is_empty()) {
        let removed = denying.iter().filter(|rule| remove(list, rule.glob())).count();
        return Ok(removed > 0);
    }
    if !denying.is_empty() {
        return Ok(false);
    }
    if !table.contains_key("read") {
        let read: Array = files.read.iter().map(|rule| rule.place.to_string()).collect();
        table.insert("read", Item::Value(Value::Array(read)));
    }
    let path = if subject.starts_with("~/") { subject.to_owned() } else { path.display().to_string() };
    Ok(push(table, "read", &path))
}

/// Explains why an entry of `deny` is not removed for a file.
fn not_for_this_file_alone(rule: &DenyRule) -> String {
    let (glob, source) = (rule.glob(), rule.source);
    let edit = match source {
        Source::Builtin => "write a list `deny` of your own in [files], without it, to open all of them",
        _ => "edit it to open all of them",
    };
    format!("\"{glob}\" in `deny` ({source}) covers more than this file; {edit}")
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
