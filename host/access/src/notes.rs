//! What is valid, and perhaps not what was meant: names that nobody has, workspaces that are not apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use scorpiox_rules::{NamePattern, Source, Sourced};
use scorpiox_text::nearest;

use crate::auth::Auth;
use crate::http::HttpPolicy;
use crate::limits::LimitsPolicy;
use crate::principal::Principal;
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
    notes.extend(groups_of_nobody(http, access));
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

/// Returns a note where every valid token may use one of these tools, which run commands: a strict operator wants to know.
pub fn open_to_all(http: &HttpPolicy, access: &AccessPolicy, tools: &[&str]) -> Vec<Note> {
    if !http.is_set() {
        return Vec::new();
    }
    let everybody = Everybody::of(http);
    let mut notes: Vec<Note> = Vec::new();
    for tool in tools {
        let mut deciding = Some(access);
        let mut opened = None;
        // What holds for all users of the machine, and what narrows it: both have to open a tool.
        while let Some(rules) = deciding {
            let Some(by) = everybody.opening(http, rules, tool) else {
                opened = None;
                break;
            };
            opened = Some(by);
            deciding = rules.outer.as_deref();
        }
        let Some((before, source)) = opened else { continue };
        match notes.iter_mut().find(|(known, at, _)| *known == before && *at == source) {
            Some((_, _, after)) => *after = format!("{after}, and {tool}"),
            None => notes.push((before, source, format!(": every valid token may use {tool}"))),
        }
    }
    for (_, _, after) in &mut notes {
        after.push_str("; write a rule of [access] that allows it to a group alone");
    }
    notes
}

/// The notes that are true of each token that is let in.
struct Everybody {
    /// Each token of the policy, where it alone says who there is.
    tokens: Option<Vec<Principal>>,
    /// Scopes that every token needs.
    scopes: BTreeSet<String>,
}

impl Everybody {
    fn of(http: &HttpPolicy) -> Self {
        let scopes = match &http.auth.value {
            Auth::Jwt(jwt) => jwt.scopes.clone(),
            Auth::OwnToken | Auth::Tokens(_) | Auth::Nothing => BTreeSet::new(),
        };
        let names = Known::of(http).map(|known| known.names);
        Self { tokens: names.map(|names| names.iter().map(|name| http.principal(name)).collect()), scopes }
    }

    /// Reports whether a table is for each of them. One that names the owner of the one token is for nobody else.
    fn are_meant(&self, who: &Who) -> bool {
        if who.is_everybody() {
            return true;
        }
        if let Some(tokens) = &self.tokens {
            // A single token is its owner's: a rule that names it is meant for that.
            return tokens.len() > 1 && tokens.iter().all(|token| who.admits(token));
        }
        let is_any = |names: &Vec<NamePattern>| names.iter().any(|name| *name == NamePattern::any());
        who.principals.as_ref().is_none_or(is_any)
            && who.groups.is_none()
            && who.scopes.is_subset(&self.scopes)
    }

    /// The rule that opens a tool to all of them: its words, and its place.
    fn opening(&self, http: &HttpPolicy, access: &AccessPolicy, tool: &str) -> Option<(String, Source)> {
        let covers = |listed: &[Sourced<NamePattern>]| listed.iter().any(|rule| rule.value.covers(tool));
        let meant = || access.rules.iter().filter(|(_, rule)| self.are_meant(&rule.who));
        if meant().any(|(_, rule)| covers(&rule.deny)) {
            return None;
        }
        if access.rules.values().all(|rule| rule.allow.is_none()) {
            return Some(("no rule of [access] has `allow`".to_owned(), http.auth.source));
        }
        let opening = meant().find(|(_, rule)| rule.allow.as_deref().is_some_and(covers));
        opening.map(|(name, rule)| (format!("[access.{name}] is for everybody"), rule.allow_origin))
    }
}

/// Groups that rules name while no token can have any: such a rule is for nobody.
fn groups_of_nobody(http: &HttpPolicy, access: &AccessPolicy) -> Vec<Note> {
    let has_groups = match &http.auth.value {
        Auth::Jwt(jwt) => jwt.groups_claim.is_some(),
        Auth::OwnToken | Auth::Tokens(_) | Auth::Nothing => true,
    };
    let named = access.rules.iter().filter(|(_, rule)| !has_groups && rule.who.groups.is_some());
    named
        .map(|(name, rule)| {
            let after = ", and no token has any: [http.auth] has no `groups_claim`".to_owned();
            (format!("[access.{name}] is for groups"), rule.source, after)
        })
        .collect()
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
