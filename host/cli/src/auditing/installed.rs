//! Determines the installed plugins from the records of audits, for administrators of several machines.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use scorpiox_audit::{Hash, Record};

use super::audits::Audits;

/// Maximum number of rows. Records for further rows are counted.
const MAX_ROWS: usize = 10_000;
/// Maximum number of workspaces in a row.
const MAX_WORKSPACES: usize = 100;
/// Number of digits of a SHA-256 hash.
const DIGITS: usize = 64;

/// Status of a plugin, according to the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Standing {
    /// The plugin was called; the records contain no decision about it.
    Used,
    /// The last decision is an approval.
    Installed,
    /// The plugin was added, but may not run.
    Waiting,
    /// A different version was approved later.
    Replaced,
    /// The plugin was denied.
    Denied,
    /// The plugin was removed.
    Removed,
}

/// A plugin of a user on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub(super) struct InstalledRow {
    pub plugin: String,
    pub version: String,
    /// Hash that policies list. For old records without it, the hash of the component's bytes. A policy can
    /// block either.
    pub hash: String,
    pub user: String,
    pub machine: String,
    /// Hash of the oldest line of its audit in the files, which tells machines of the same name and several homes of a
    /// user apart. Empty for lines that are not chained.
    pub audit: String,
    pub standing: Standing,
    pub workspaces: BTreeSet<String>,
    pub calls: u64,
    /// Time of the first call. Empty if there is none.
    pub first_use: String,
    pub last_use: String,
    /// Time of the last decision. Empty if there is none.
    pub decided: String,
}

/// Plugin, user, machine, and the piece of an audit.
type Owned = (String, String, String, Option<usize>);

/// Plugins found in records.
#[derive(Debug, Default)]
pub(super) struct Installed {
    rows: BTreeMap<(Owned, String), InstalledRow>,
    /// Last decision about a user's plugin on a machine.
    decided: BTreeMap<Owned, Decided>,
    audits: Audits,
    more: u64,
}

/// A decision about a plugin.
#[derive(Debug, Clone)]
struct Decided {
    time: String,
    standing: Standing,
    hash: String,
}

impl Installed {
    /// Adds the record of a line. `is_wanted` is `false` if no row is to come of it: later decisions count all the same.
    pub(super) fn add(&mut self, record: &Record, line: &str, is_wanted: bool) {
        let piece = self.audits.add(line.as_bytes());
        let Some((plugin, hash)) = plugin(record) else { return };
        let user = match (&*record.user, record.uid) {
            ("", Some(uid)) => uid.to_string(),
            (name, _) => name.to_owned(),
        };
        let decision = decision(record);
        let owned = (plugin.clone(), user.clone(), record.machine.clone(), piece);
        if let Some(standing) = decision {
            let decided = Decided { time: record.time.clone(), standing, hash: hash.clone() };
            keep_newer(&mut self.decided, owned.clone(), decided);
        }
        // Other plugin commands, such as those for secrets, are not uses.
        let is_call =
            decision.is_none() && record.outcome != "refused" && !record.tool.starts_with("plugin ");
        if !is_wanted || hash.is_empty() || (decision.is_none() && !is_call) {
            return;
        }
        let key = (owned, hash.clone());
        if self.rows.len() >= MAX_ROWS && !self.rows.contains_key(&key) {
            self.more += 1;
            return;
        }
        let row = self.rows.entry(key).or_insert_with(|| InstalledRow {
            plugin,
            version: String::new(),
            hash,
            user,
            machine: record.machine.clone(),
            audit: String::new(),
            standing: Standing::Used,
            workspaces: BTreeSet::new(),
            calls: 0,
            first_use: String::new(),
            last_use: String::new(),
            decided: String::new(),
        });
        if let Some(known) = record.plugin.as_ref().filter(|known| !known.version.is_empty()) {
            row.version.clone_from(&known.version);
        }
        if is_call {
            row.take_call(record);
        }
    }

    /// Returns all rows in alphabetical order, and the number of records that exceeded the limit.
    pub(super) fn finish(self) -> (Vec<InstalledRow>, u64) {
        let Self { rows, decided, audits, more } = self;
        let oldest = audits.finish();
        let audit = |piece: Option<usize>| {
            piece.and_then(|at| oldest.get(at)).map(Hash::to_string).unwrap_or_default()
        };
        let mut of_audits = BTreeMap::new();
        for ((plugin, user, machine, piece), decision) in decided {
            keep_newer(&mut of_audits, (plugin, user, machine, audit(piece)), decision);
        }
        let mut joined: BTreeMap<_, InstalledRow> = BTreeMap::new();
        for (((.., piece), _), mut row) in rows {
            row.audit = audit(piece);
            let key = (
                row.plugin.clone(),
                row.hash.clone(),
                row.user.clone(),
                row.machine.clone(),
                row.audit.clone(),
            );
            match joined.entry(key) {
                Entry::Vacant(entry) => drop(entry.insert(row)),
                Entry::Occupied(mut entry) => entry.get_mut().join(row),
            }
        }
        let rows = joined.into_values().map(|mut row| {
            let key = (row.plugin.clone(), row.user.clone(), row.machine.clone(), row.audit.clone());
            if let Some(Decided { time, standing, hash }) = of_audits.get(&key) {
                let is_other = *hash != row.hash && !hash.is_empty();
                // A call after a decision about another hash shows that this version was in use then.
                if *time >= row.last_use || !is_other {
                    row.standing = if is_other && *standing == Standing::Installed {
                        Standing::Replaced
                    } else {
                        *standing
                    };
                    row.decided.clone_from(time);
                }
            }
            row
        });
        (rows.collect(), more)
    }
}

/// Adds a decision, unless there is a newer one.
fn keep_newer<K: Ord>(decided: &mut BTreeMap<K, Decided>, key: K, decision: Decided) {
    match decided.entry(key) {
        Entry::Vacant(entry) => drop(entry.insert(decision)),
        Entry::Occupied(mut entry) if entry.get().time <= decision.time => drop(entry.insert(decision)),
        Entry::Occupied(_) => {}
    }
}

impl InstalledRow {
    /// Adds the calls of another row of the same audit, from lines that do not follow those of this one.
    fn join(&mut self, other: Self) {
        self.calls += other.calls;
        let room = MAX_WORKSPACES.saturating_sub(self.workspaces.len());
        self.workspaces.extend(other.workspaces.into_iter().take(room));
        if self.first_use.is_empty() || (!other.first_use.is_empty() && other.first_use < self.first_use) {
            self.first_use = other.first_use;
        }
        self.last_use = std::mem::take(&mut self.last_use).max(other.last_use);
        if self.version.is_empty() {
            self.version = other.version;
        }
    }

    fn take_call(&mut self, record: &Record) {
        self.calls += 1;
        if self.workspaces.len() < MAX_WORKSPACES {
            self.workspaces.insert(record.workspace.clone());
        }
        if self.first_use.is_empty() || record.time < self.first_use {
            self.first_use.clone_from(&record.time);
        }
        if record.time > self.last_use {
            self.last_use.clone_from(&record.time);
        }
    }
}

/// Returns the plugin of a record, and its hash. The hash is empty if the record does not contain it.
fn plugin(record: &Record) -> Option<(String, String)> {
    let hash = record.component.clone().filter(|id| id.len() == DIGITS).unwrap_or_default();
    if let Some(plugin) = &record.plugin {
        let known = Some(plugin.hash.clone()).filter(|own| !own.is_empty());
        return Some((plugin.name.clone(), known.unwrap_or(hash)));
    }
    // Records of older versions contain the name in the subject of a decision, or in the name of the tool.
    if let Some(_decision) = decision(record) {
        let what =
            record.uses.iter().find(|used| used.capability == "plugins").map(|used| used.what.clone())?;
        let (name, hash) = what.split_once("@sha256:").unwrap_or((&what, ""));
        return Some((name.to_owned(), hash.to_owned()));
    }
    let (name, _) = record.tool.split_once('.').filter(|_| !hash.is_empty())?;
    Some((name.to_owned(), hash))
}

/// Returns the decision about a plugin that a record contains.
fn decision(record: &Record) -> Option<Standing> {
    if record.outcome != "ok" {
        return None;
    }
    let approves = || if record.denied().next().is_some() { Standing::Waiting } else { Standing::Installed };
    Some(match &*record.tool {
        "plugin add" | "plugin approve" | "plugin update" => approves(),
        "plugin deny" => Standing::Denied,
        "plugin remove" => Standing::Removed,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(user: &str, hour: u32, tool: &str, hash: &str) -> Record {
        let component = if hash.is_empty() { "null".to_owned() } else { format!("\"{}\"", hash.repeat(64)) };
        let text = format!(
            r#"{{"time":"2026-11-22T{hour:02}:00:00.000Z","user":"{user}","machine":"m1","workspace":"/w","tool":"{tool}",
                "component":{component},"plugin":{{"name":"weather","version":"1.{hour}.0"}},"outcome":"ok"}}"#
        );
        Record::parse(&text).unwrap()
    }

    fn rows(lines: &[Record]) -> Vec<(String, Standing, u64, String)> {
        let mut installed = Installed::default();
        for line in lines {
            installed.add(line, "", true);
        }
        let row = |row: InstalledRow| {
            (format!("{} {}", row.user, &row.hash[..1]), row.standing, row.calls, row.last_use)
        };
        installed.finish().0.into_iter().map(row).collect()
    }

    #[test]
    fn each_user_has_what_was_decided_last_whatever_the_order_of_the_lines() {
        let mut lines = vec![
            line("ana", 1, "plugin add", "a"),
            line("ana", 2, "weather.now", "a"),
            line("ana", 3, "plugin update", "b"),
            line("ana", 4, "weather.now", "b"),
            line("bob", 1, "plugin add", "a"),
            line("bob", 2, "plugin remove", ""),
            line("eve", 5, "weather.now", "a"),
            line("eve", 5, "Bash", ""),
        ];
        for _ in 0..2 {
            let found = rows(&lines);
            let at = |hour: u32| format!("2026-11-22T{hour:02}:00:00.000Z");
            assert_eq!(
                found,
                [
                    ("ana a".to_owned(), Standing::Replaced, 1, at(2)),
                    ("bob a".to_owned(), Standing::Removed, 0, String::new()),
                    ("eve a".to_owned(), Standing::Used, 1, at(5)),
                    ("ana b".to_owned(), Standing::Installed, 1, at(4)),
                ]
            );
            lines.reverse();
        }
    }

    #[test]
    fn lines_of_older_versions_tell_by_their_tool_and_what_was_decided() {
        let hash = "c".repeat(64);
        let call = format!(r#"{{"tool":"notes.add","component":"{hash}","outcome":"ok"}}"#);
        let add = format!(
            r#"{{"tool":"plugin add","outcome":"ok","uses":[{{"capability":"plugins","what":"notes@sha256:{hash}","allowed":true}}]}}"#
        );
        for text in [&call, &add] {
            let found = plugin(&Record::parse(text).unwrap());
            assert_eq!(found, Some(("notes".to_owned(), hash.clone())), "{text}");
        }
        let other = r#"{"tool":"a.b","component":"built-in:0123","outcome":"ok"}"#;
        assert_eq!(plugin(&Record::parse(other).unwrap()), None);
    }
}
