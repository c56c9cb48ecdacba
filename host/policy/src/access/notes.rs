//! Reports valid settings that may be unintended, such as names that no token has, or workspaces that share files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::rule::{NamePattern, Source, Sourced};
use scorpiox_text::nearest;

use crate::access::auth::{Auth, Jwt};
use crate::access::http::HttpPolicy;
use crate::access::limits::LimitsPolicy;
use crate::access::principal::Principal;
use crate::access::rules::AccessPolicy;
use crate::access::served::{DEFAULT_WORKSPACE, ServedWorkspace};
use crate::access::who::Who;

/// A note: the text before the reference to the line, the source, and the text after it.
pub type Note = (String, Source, String);

/// Principals that can exist, as far as the policy tells: from its tokens and the names of its issuers.
struct Known {
    names: Vec<String>,
    groups: BTreeSet<String>,
    scopes: BTreeSet<String>,
    /// Name prefix of each issuer, and `true` if the issuer provides groups.
    issuers: Vec<(String, bool)>,
}

impl Known {
    /// Returns `None` if an issuer without a name decides which principals exist.
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

/// Returns notes about names in rules and workspaces that no token has, and about rules for nobody.
pub fn notes(
    http: &HttpPolicy,
    access: &AccessPolicy,
    limits: &LimitsPolicy,
    served: &BTreeMap<String, ServedWorkspace>,
) -> Vec<Note> {
    let mut notes = groups_of_nobody(http, access);
    notes.extend(for_nobody(access, limits));
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

/// Returns a note if others may reach the address for monitoring, which requires no token. In a container they have to.
pub fn observed_by_others(http: &HttpPolicy) -> Option<Note> {
    let listen = http.observe.listen.as_ref()?;
    let address = listen.value.iter().find(|address| !address.ip().to_canonical().is_loopback())?;
    let after = ", where no token is needed to read the names of tools, workspaces and principals";
    Some((format!("[http.observe] listens on {address}"), listen.source, after.to_owned()))
}

/// Returns a note for each of these tools, which run commands, that every valid token may call. A strict
/// operator wants to know.
pub fn open_to_all(http: &HttpPolicy, access: &AccessPolicy, tools: &[&str]) -> Vec<Note> {
    if !http.is_set() {
        return Vec::new();
    }
    Everybody::of(http).iter().flat_map(|everybody| everybody.open(http, access, tools)).collect()
}

/// Properties shared by every accepted token, or by every token of one issuer.
struct Everybody {
    /// Description of the tokens' issuer, for messages.
    whose: String,
    /// All tokens, if the policy lists all of them.
    tokens: Option<Vec<Principal>>,
    /// Possible names of the issuer's subjects.
    names: NamePattern,
    /// Scopes that every token has.
    scopes: BTreeSet<String>,
}

impl Everybody {
    /// Returns one group for the policy's tokens, and one for each issuer. Each is checked alone, because a
    /// single group that may run commands is worth a note.
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

    /// Returns a note for each tool that a rule allows for all of these tokens.
    fn open(&self, http: &HttpPolicy, access: &AccessPolicy, tools: &[&str]) -> Vec<Note> {
        let mut notes: Vec<Note> = Vec::new();
        for tool in tools {
            let mut deciding = Some(access);
            let mut opened = None;
            // The managed rules and the rules that narrow them both have to allow a tool.
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

    /// Returns `true` if a rule applies to all of these tokens. A rule that names the owner of a single token
    /// is intended for that owner only.
    fn are_meant(&self, who: &Who) -> bool {
        if who.is_everybody() {
            return true;
        }
        if let Some(tokens) = &self.tokens {
            // A rule that names the only token is meant for its owner.
            return tokens.len() > 1 && tokens.iter().all(|token| who.admits(token));
        }
        let are_all = |names: &Vec<NamePattern>| {
            names.iter().any(|name| name.meet(&self.names).as_ref() == Some(&self.names))
        };
        who.principals.as_ref().is_none_or(are_all)
            && who.groups.is_none()
            && who.scopes.is_subset(&self.scopes)
    }

    /// Returns the description and the source of the rule that allows a tool for all of these tokens.
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

/// Returns notes about rules for groups when tokens have no groups. Such a rule matches no principal. `Known`
/// covers the groups of named issuers.
/// Returns notes about rules with an empty list of principals or groups.
fn for_nobody(access: &AccessPolicy, limits: &LimitsPolicy) -> Vec<Note> {
    let rules = access.rules.iter().map(|(name, rule)| (format!("access.{name}"), rule.source, &rule.who));
    let limits = limits.rules.iter().map(|(name, rule)| (format!("limits.{name}"), rule.source, &rule.who));
    let is_empty = |who: &Who| {
        who.principals.as_ref().is_some_and(Vec::is_empty) || who.groups.as_ref().is_some_and(Vec::is_empty)
    };
    let note = |(table, source, _)| {
        let after = ", so it is for nobody; name some, or leave the list out for everybody".to_owned();
        (format!("[{table}] has an empty list of principals or groups"), source, after)
    };
    rules.chain(limits).filter(|(_, _, who)| is_empty(who)).map(note).collect()
}

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

/// Returns notes about workspaces that share files. Commands in a folder reach all files below it, whoever may use the
/// workspaces there. `folders` are the resolved folders by workspace, with that of the server itself, if it is known.
pub fn shared_folders(folders: &[(&str, PathBuf)], served: &BTreeMap<String, ServedWorkspace>) -> Vec<Note> {
    let everybody = Who::default();
    let who = |name: &str| served.get(name).map_or(&everybody, |served| &served.who);
    let of = |name: &str| match name {
        DEFAULT_WORKSPACE => format!("[workspace.{name}], which the server is started for"),
        _ => format!("[workspace.{name}]"),
    };
    let mut notes = Vec::new();
    for (name, folder) in folders {
        let Some(source) = served.get(*name).map(|served| served.source) else { continue };
        for (other, outside) in folders.iter().filter(|(other, _)| other != name) {
            let is_inside = folder.starts_with(outside);
            let is_apart = !is_inside && !outside.starts_with(folder);
            let is_for_others = who(name) != who(other);
            let after = if is_apart {
                continue;
            } else if !who(name).is_everybody() && is_for_others {
                format!(" shares files with that of {}: whoever may use that reaches what is here", of(other))
            } else if is_inside && folder != outside && !is_for_others && *other != DEFAULT_WORKSPACE {
                format!(" lies in that of {}: commands there reach what is here", of(other))
            } else {
                continue;
            };
            notes.push((format!("the folder of [workspace.{name}]"), source, after));
        }
    }
    notes
}
