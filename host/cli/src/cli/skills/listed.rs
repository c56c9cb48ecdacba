//! `skills list --json`, in the form that docs/json.md defines.

use scorpiox_server::skills::library::Library;
use scorpiox_workspace_config::Scope;
use serde_json::{Value, json};

/// Returns the skills, the folders that were skipped, and the folders that were searched.
pub(super) fn as_json(library: &Library<'_>) -> Value {
    let skills = library.catalogue.skills.iter().map(|skill| {
        let source = library.source(skill);
        let scope = source.map(|source| match (&source.plugin, source.scope) {
            (Some(_), _) => "claude-code-plugin",
            (None, Scope::User) => "user",
            (None, Scope::Additional) => "additional",
            (None, Scope::Workspace) => "workspace",
        });
        let ignored = skill.ignored.iter().map(|ignored| json!({ "key": ignored.key, "why": ignored.why }));
        json!({
            "name": skill.name,
            "description": skill.description,
            "scope": scope,
            "path": source.map(|source| source.path.display().to_string()),
            "for_models": skill.for_models,
            "for_people": skill.for_people,
            "listed": skill.listed,
            "warnings": skill.warnings,
            "ignored": ignored.collect::<Vec<_>>(),
        })
    });
    let skipped = library.catalogue.skipped.iter();
    let skipped = skipped.map(|skipped| json!({ "path": skipped.path, "why": skipped.reason }));
    let folders = library.folders().roots().map(|(path, _)| path.display().to_string());
    json!({
        "skills": skills.collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "folders": folders.collect::<Vec<_>>(),
    })
}
