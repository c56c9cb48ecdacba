//! What is valid, and perhaps not what was meant: names that nobody has, workspaces that are not apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use scorpiox_rules::{NamePattern, Source};
use scorpiox_text::nearest;

use crate::auth::Auth;
use crate::http::HttpPolicy;
use crate::limits::LimitsPolicy;
use crate::rules::AccessPolicy;
use crate::served::ServedWorkspace;
use crate::who::Who;

/// A note: what is said before the line is named, the line, and what is said after.
pub type Note = (String, Source, String);

/// Who there is, where the policy alone says it.
struct Known {
    names: Vec<String>,
    groups: BTreeSet<String>,
    scopes: BTreeSet<String>,
}

impl Known {
    /// None where an issuer says who there is.
    fn of(http: &HttpPolicy) -> Option<Self> {
        let alone = |name: &str| Self {
            names: vec![name.to_owned()],
            groups: BTreeSet::new(),
            scopes: BTreeSet::new(),
        };
        match &http.auth.value {
            Auth::OwnToken => Some(alone("owner")),
            Auth::Nothing => Some(alone("anybody")),
            Auth::Jwt(_) => None,
            Auth::Tokens(tokens) => Some(Self {
                names: tokens.keys().cloned().collect(),
                groups: tokens.values().flat_map(|token| token.value.groups.clone()).collect(),
                scopes: tokens.values().flat_map(|token| token.value.scopes.clone()).collect(),
            }),
        }
    }

    fn of_table(&self, table: &str, source: Source, who: &Who) -> Vec<Note> {
        let note = |kind: &str, name: &str, known: &[&str]| {
            let near = nearest(name, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            (format!("[{table}] names the {kind} {name}"), source, format!(", and no token has it{near}"))
        };
        let names: Vec<_> = self.names.iter().map(String::as_str).collect();
        let is_unknown = |pattern: &&NamePattern| !names.iter().any(|name| pattern.covers(name));
        let mut notes: Vec<_> = who
            .principals
            .iter()
            .flatten()
            .filter(is_unknown)
            .map(|pattern| note("principal", &pattern.to_string(), &names))
            .collect();
        let mut words = |kind: &str, named: &mut dyn Iterator<Item = &String>, known: &BTreeSet<String>| {
            let listed: Vec<_> = known.iter().map(String::as_str).collect();
            let unknown = named.filter(|word| !known.contains(*word));
            notes.extend(unknown.map(|word| note(kind, word, &listed)));
        };
        words("group", &mut who.groups.iter().flatten(), &self.groups);
        words("scope", &mut who.scopes.iter(), &self.scopes);
        notes
    }
}

/// Names in rules and workspaces that no token of the policy has, and workspaces that share files.
pub fn notes(
    http: &HttpPolicy,
    access: &AccessPolicy,
    limits: &LimitsPolicy,
    served: &BTreeMap<String, ServedWorkspace>,
) -> Vec<Note> {
    let mut notes = nested(served);
    let Some(known) = Known::of(http) else { return notes };
    let rules = access.rules.iter().map(|(name, rule)| (format!("access.{name}"), rule.source, &rule.who));
    let limits = limits.rules.iter().map(|(name, rule)| (format!("limits.{name}"), rule.source, &rule.who));
    let workspaces =
        served.iter().map(|(name, served)| (format!("workspace.{name}"), served.source, &served.who));
    let admin = http.admin.iter().map(|admin| ("http.admin".to_owned(), admin.source, &admin.value));
    let all = rules.chain(limits).chain(workspaces).chain(admin);
    notes.extend(all.flat_map(|(table, source, who)| known.of_table(&table, source, who)));
    notes
}

/// Workspaces of which one lies in the other: whoever may run commands in the outer one has the files of both.
fn nested(served: &BTreeMap<String, ServedWorkspace>) -> Vec<Note> {
    let folders: Vec<_> = served
        .iter()
        .filter_map(|(name, served)| Some((name, Path::new(served.path.as_ref()?), served)))
        .collect();
    let mut notes = Vec::new();
    for (name, folder, inner) in &folders {
        for (other, outside, _) in &folders {
            // Of two for one folder it is said once.
            if name != other && folder.starts_with(outside) && (folder != outside || name > other) {
                let after =
                    format!(" lies in that of [workspace.{other}]: commands there reach what is here");
                notes.push((format!("the folder of [workspace.{name}]"), inner.source, after));
            }
        }
    }
    notes
}
