//! What is valid, and perhaps not what was meant: names that nobody has, workspaces that are not apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use scorpiox_rules::{NamePattern, Source, Sourced};
use scorpiox_text::nearest;

use crate::auth::{Auth, Jwt};
use crate::http::HttpPolicy;
use crate::limits::LimitsPolicy;
use crate::principal::Principal;
use crate::rules::AccessPolicy;
use crate::served::ServedWorkspace;
use crate::who::Who;

/// A note: what is said before the line is named, the line, and what is said after.
pub type Note = (String, Source, String);

/// The principals that exist, as far as the policy alone or the names of its issuers say.
struct Known {
    names: Vec<String>,
    groups: BTreeSet<String>,
    scopes: BTreeSet<String>,
    /// The prefix of all that an issuer vouches for, and whether it says groups.
    issuers: Vec<(String, bool)>,
}

impl Known {
    /// None where an issuer without a name says who there is.
    fn of(http: &HttpPolicy) -> Option<Self> {
        let alone = |name: &str| Self {
            names: vec![name.to_owned()],
            groups: BTreeSet::new(),
            scopes: BTreeSet::new(),
            issuers: Vec::new(),
        };
        let auth = &http.auth.value;
        match auth {
            Auth::OwnToken => return Some(alone("owner")),
            Auth::Nothing => return Some(alone("anybody")),
            Auth::Jwt(_) | Auth::Tokens(_) => (),
        }
        if auth.issuers().iter().any(|jwt| jwt.value.name.is_none()) {
            return None;
        }
        let of_issuer = |jwt: &Sourced<Jwt>| (jwt.value.qualified(""), jwt.value.groups_claim.is_some());
        let tokens = || auth.tokens().into_iter().flatten();
        Some(Self {
            names: tokens().map(|(name, _)| name.clone()).collect(),
            groups: tokens().flat_map(|(_, token)| token.value.groups.clone()).collect(),
            scopes: tokens().flat_map(|(_, token)| token.value.scopes.clone()).collect(),
            issuers: auth.issuers().iter().map(of_issuer).collect(),
        })
    }

    fn of_table(&self, table: &str, source: Source, who: &Who) -> Vec<Note> {
        let note = |kind: &str, name: &str, known: &[&str]| {
            let near = nearest(name, known.iter().copied()).map(|near| format!("; did you mean {near}?"));
            let of_issuer = || {
                let (prefix, _) = self.issuers.first()?;
                Some(format!(
                    "; that of an issuer stands after the issuer's name, such as \"{prefix}{name}\""
                ))
            };
            let more = near.or_else(of_issuer).unwrap_or_default();
            (format!("[{table}] names the {kind} {name}"), source, format!(", and no token has it{more}"))
        };
        let names: Vec<_> = self.names.iter().map(String::as_str).collect();
        let is_issued = |pattern: &NamePattern| {
            self.issuers.iter().any(|(prefix, _)| pattern.meet(&NamePattern::beginning(prefix)).is_some())
        };
        let is_unknown =
            |pattern: &&NamePattern| !is_issued(pattern) && !names.iter().any(|name| pattern.covers(name));
        let mut notes: Vec<_> = who
            .principals
            .iter()
            .flatten()
            .filter(is_unknown)
            .map(|pattern| note("principal", &pattern.to_string(), &names))
            .collect();
        let mut words = |kind: &str, named: &mut dyn Iterator<Item = &String>, known: &BTreeSet<String>| {
            let listed: Vec<_> = known.iter().map(String::as_str).collect();
            let is_issued = |word: &str| {
                let mut issuers =
                    self.issuers.iter().filter(|(_, has_groups)| kind != "group" || *has_groups);
                issuers.any(|(prefix, _)| word.starts_with(prefix.as_str()))
            };
            let unknown = named.filter(|word| !known.contains(*word) && !is_issued(word));
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
    Everybody::of(http).iter().flat_map(|everybody| everybody.open(http, access, tools)).collect()
}

/// The facts that hold for each token that is let in, or for each of an issuer.
struct Everybody {
    /// The owner of these tokens, in a message.
    whose: String,
    /// Each token of the policy, where it alone says who there is.
    tokens: Option<Vec<Principal>>,
    /// The names that subjects of the issuer can have.
    names: NamePattern,
    /// Scopes that every token needs.
    scopes: BTreeSet<String>,
}

impl Everybody {
    /// Tokens, and those of each issuer: one alone may run commands as well as all of them.
    fn of(http: &HttpPolicy) -> Vec<Self> {
        let auth = &http.auth.value;
        let issued = auth.issuers().iter().map(|jwt| Self {
            whose: jwt.value.name.as_ref().map_or_else(String::new, |name| format!(" of the issuer {name}")),
            tokens: None,
            names: NamePattern::beginning(&jwt.value.qualified("")),
            scopes: jwt.value.scopes.iter().map(|scope| jwt.value.qualified(scope)).collect(),
        });
        let names = match auth {
            Auth::Jwt(issuers) if issuers.tokens.is_empty() => None,
            Auth::Jwt(issuers) => Some(issuers.tokens.keys().cloned().collect()),
            Auth::OwnToken | Auth::Tokens(_) | Auth::Nothing => Known::of(http).map(|known| known.names),
        };
        let tokens = names.map(|names| Self {
            whose: if auth.issuers().is_empty() { "" } else { " of [http.auth.tokens]" }.to_owned(),
            tokens: Some(names.iter().map(|name| http.principal(name)).collect()),
            names: NamePattern::any(),
            scopes: BTreeSet::new(),
        });
        issued.chain(tokens).collect()
    }

    /// Returns the rule that lets all of them use one of these tools.
    fn open(&self, http: &HttpPolicy, access: &AccessPolicy, tools: &[&str]) -> Vec<Note> {
        let mut notes: Vec<Note> = Vec::new();
        for tool in tools {
            let mut deciding = Some(access);
            let mut opened = None;
            // What holds for all users of the machine, and what narrows it: both have to open a tool.
            while let Some(rules) = deciding {
                let Some(by) = self.opening(http, rules, tool) else {
                    opened = None;
                    break;
                };
                opened = Some(by);
                deciding = rules.outer.as_deref();
            }
            let Some((before, source)) = opened else { continue };
            let known = notes.iter_mut().find(|(known, at, _)| *known == before && *at == source);
            if let Some((_, _, after)) = known {
                *after = format!("{after}, and {tool}");
            } else {
                let after = format!(": every valid token{} may use {tool}", self.whose);
                notes.push((before, source, after));
            }
        }
        for (_, _, after) in &mut notes {
            after.push_str("; write a rule of [access] that allows it to a group alone");
        }
        notes
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
        let are_all = |names: &Vec<NamePattern>| {
            names.iter().any(|name| name.meet(&self.names).as_ref() == Some(&self.names))
        };
        who.principals.as_ref().is_none_or(are_all)
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
        opening.map(|(name, rule)| {
            let whom =
                if self.whose.is_empty() { "everybody".to_owned() } else { format!("all{}", self.whose) };
            (format!("[access.{name}] is for {whom}"), rule.allow_origin)
        })
    }
}

/// Groups that rules name while no token can have any: such a rule is for nobody. Those of issuers with names are known by that.
fn groups_of_nobody(http: &HttpPolicy, access: &AccessPolicy) -> Vec<Note> {
    let is_without = |jwt: &Sourced<Jwt>| jwt.value.name.is_none() && jwt.value.groups_claim.is_none();
    let has_none = http.auth.value.issuers().iter().any(is_without);
    let named = access.rules.iter().filter(|(_, rule)| has_none && rule.who.groups.is_some());
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
