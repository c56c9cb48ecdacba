//! Sums of records by tool, by rule, and by host and folder.

use std::collections::BTreeMap;

use scorpiox_audit::{Record, Use};

/// Maximum number of names in each list. Further names are summed up in a common row.
const MAX_NAMES: usize = 10_000;
/// Name of the row for further names.
const OTHERS: &str = "(others)";

/// Numbers of calls by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) struct Ended {
    pub calls: u64,
    pub ok: u64,
    pub error: u64,
    pub cancelled: u64,
    /// Calls that did not run.
    pub refused: u64,
    /// Calls that were stopped or that failed in the host.
    pub fault: u64,
    /// Number of denied uses.
    pub denied: u64,
}

/// Numbers of uses by decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) struct Decided {
    pub allowed: u64,
    pub denied: u64,
}

/// Subject of a use: the name of a capability, and a host, a folder or a sandbox.
pub(super) type Used = (String, String);

/// Sums of all records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Times of the first and the last call.
    pub times: Option<(String, String)>,
    /// Calls by tool.
    pub tools: BTreeMap<String, Ended>,
    /// Calls over HTTP by principal.
    pub principals: BTreeMap<String, Ended>,
    /// Uses by the rule that decided them.
    pub rules: BTreeMap<String, Decided>,
    /// Uses by host and folder.
    pub used: BTreeMap<Used, Decided>,
    /// Denied uses by subject and rule.
    pub denied: BTreeMap<(Used, String), u64>,
    /// Calls by user and machine.
    pub users: BTreeMap<(String, String), u64>,
    /// Calls by workspace.
    pub workspaces: BTreeMap<String, u64>,
    /// Number of calls that could not be recorded.
    pub lost: u64,
    /// Number of files with refused names. It is unknown whether their content was read in another way.
    pub hidden: u64,
    /// Number of outcomes of rules that only report.
    pub reported: u64,
    /// Number of uses that exceeded the limit of a record, and of those that were denied.
    pub left_out: (u64, u64),
}

impl Report {
    /// Adds a record.
    pub(super) fn add(&mut self, record: &Record) {
        if record.lost > 0 {
            self.lost += record.lost;
            return;
        }
        let time = &record.time;
        match &mut self.times {
            Some((first, last)) => {
                // A long call is recorded after shorter calls that started later.
                if time < first {
                    first.clone_from(time);
                } else if time > last {
                    last.clone_from(time);
                }
            }
            None => self.times = Some((time.clone(), time.clone())),
        }
        // If a record stands for several calls, its denials apply to each of them.
        let calls = 1 + record.more_calls;
        let denied: u64 = record.denied().map(times).sum();
        let denied = (denied + record.more_denied) * calls;
        entry(&mut self.tools, record.tool.clone(), OTHERS.to_owned()).add(&record.outcome, calls, denied);
        if !record.principal.is_empty() {
            let who = match &*record.issuer {
                "" => record.principal.clone(),
                issuer => format!("{} ({issuer})", record.principal),
            };
            entry(&mut self.principals, who, OTHERS.to_owned()).add(&record.outcome, calls, denied);
        }
        self.left_out.0 += record.more_uses * calls;
        self.left_out.1 += record.more_denied * calls;
        let user = match (&*record.user, record.uid) {
            ("", Some(uid)) => uid.to_string(),
            (name, _) => name.to_owned(),
        };
        *entry(&mut self.users, (user, record.machine.clone()), (OTHERS.to_owned(), String::new())) += calls;
        *entry(&mut self.workspaces, record.workspace.clone(), OTHERS.to_owned()) += calls;
        record.uses.iter().for_each(|used| self.add_use(used, calls));
    }

    fn add_use(&mut self, used: &Use, calls: u64) {
        let what = (used.capability.clone(), used.what.clone());
        // Old records contain uses without a rule.
        let rule = if used.rule.is_empty() { "(not recorded)".to_owned() } else { used.cited() };
        let others = || (OTHERS.to_owned(), String::new());
        let count = times(used) * calls;
        if used.hidden {
            self.hidden += count;
            return;
        }
        if !used.reported.is_empty() {
            self.reported += count;
            return;
        }
        entry(&mut self.rules, rule.clone(), OTHERS.to_owned()).add(used.allowed, count);
        entry(&mut self.used, what.clone(), others()).add(used.allowed, count);
        if !used.allowed {
            *entry(&mut self.denied, (what, rule), (others(), String::new())) += count;
        }
    }

    /// Returns the number of calls.
    pub(super) fn calls(&self) -> u64 {
        self.tools.values().map(|ended| ended.calls).sum()
    }
}

impl Ended {
    fn add(&mut self, outcome: &str, calls: u64, denied: u64) {
        self.calls += calls;
        self.denied += denied;
        *match outcome {
            "error" => &mut self.error,
            "cancelled" => &mut self.cancelled,
            "refused" => &mut self.refused,
            "fault" => &mut self.fault,
            _ => &mut self.ok,
        } += calls;
    }
}

impl Decided {
    fn add(&mut self, allowed: bool, count: u64) {
        *if allowed { &mut self.allowed } else { &mut self.denied } += count;
    }
}

/// Returns the number of times that a use stands for.
fn times(used: &Use) -> u64 {
    used.count.max(1)
}

fn entry<K: Ord, V: Default>(map: &mut BTreeMap<K, V>, key: K, others: K) -> &mut V {
    let key = if map.len() < MAX_NAMES || map.contains_key(&key) { key } else { others };
    map.entry(key).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(lines: &[&str]) -> Report {
        let mut report = Report::default();
        for line in lines {
            report.add(&Record::parse(line).unwrap());
        }
        report
    }

    #[test]
    fn lines_are_summed_up() {
        let report = report(&[
            r#"{"time":"2","tool":"a","user":"ana","machine":"m","workspace":"/w","outcome":"ok","uses":[{"capability":"web","what":"x:1","allowed":true,"rule":"r1","count":3}]}"#,
            r#"{"time":"1","tool":"a","uid":7,"outcome":"refused","more_calls":9,"uses":[{"capability":"limits","what":"a","rule":"r3"}]}"#,
            r#"{"time":"3","tool":"b","user":"ana","machine":"m","workspace":"/w","outcome":"error","more_uses":5,"more_denied":2,"uses":[{"capability":"web","what":"x:1","rule":"r2"}]}"#,
            r#"{"lost":4}"#,
        ]);
        assert_eq!(report.times, Some(("1".to_owned(), "3".to_owned())));
        assert_eq!((report.calls(), report.lost, report.left_out), (12, 4, (5, 2)));
        assert_eq!(
            report.tools["a"],
            Ended { calls: 11, ok: 1, refused: 10, denied: 10, ..Ended::default() }
        );
        assert_eq!(report.tools["b"], Ended { calls: 1, error: 1, denied: 3, ..Ended::default() });
        let used = ("web".to_owned(), "x:1".to_owned());
        assert_eq!(report.used[&used], Decided { allowed: 3, denied: 1 });
        let denied = |rule: &str| report.rules[rule].denied;
        assert_eq!((report.rules["r1"].allowed, denied("r2"), denied("r3")), (3, 1, 10));
        assert_eq!(report.denied[&(used, "r2".to_owned())], 1);
        let users: Vec<_> = report.users.iter().map(|((user, _), calls)| (user.as_str(), *calls)).collect();
        assert_eq!(users, [("7", 10), ("ana", 2)]);
    }

    #[test]
    fn names_are_bounded() {
        let mut report = Report::default();
        for index in 0..MAX_NAMES + 10 {
            report.add(&Record { tool: index.to_string(), ..Record::default() });
        }
        assert_eq!((report.tools.len(), report.tools[OTHERS].calls), (MAX_NAMES + 1, 10));
    }
}
