//! Differences between two policies, key by key.

use std::collections::{BTreeMap, BTreeSet};

use crate::rule::Places;
use crate::{Policy, render};

/// A value; lists are compared without regard to order.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    Plain(String),
    List(BTreeSet<String>),
}

/// Header of a rule.
const RULE: &str = "[[rules]]";

/// Returns the values of a rendered policy by section header and key.
fn keys(page: &str) -> BTreeMap<(String, String), Value> {
    let mut header = String::new();
    let mut keys = BTreeMap::new();
    // The source comment is not part of the comparison.
    let mut lines =
        page.lines().map(|line| line.rsplit_once(" # ").map_or(line, |(line, _)| line).trim_end());
    while let Some(line) = lines.next() {
        if line == RULE {
            // Rules are told apart by their names, and equal names of both files by their order.
            let name = lines.next().and_then(|line| line.strip_prefix("name = ")).unwrap_or_default();
            header = format!("{RULE} {name}");
            while keys.contains_key(&(header.clone(), "then".to_owned())) {
                header.push('\'');
            }
        } else if line.starts_with('[') {
            line.clone_into(&mut header);
        } else if let Some((key, value)) = line.split_once(" = ") {
            let entries = if value == "[" {
                // A list whose entries have several sources is rendered with one line per entry.
                Some(lines.by_ref().take_while(|line| *line != "]").collect::<Vec<_>>().join(" "))
            } else {
                value.strip_prefix('[').and_then(|list| list.strip_suffix(']')).map(str::to_owned)
            };
            let value =
                entries.map_or_else(|| Value::Plain(value.to_owned()), |text| Value::List(split(&text)));
            keys.insert((header.clone(), key.to_owned()), value);
        }
    }
    keys
}

/// Splits a list into its entries, each a quoted TOML string.
fn split(list: &str) -> BTreeSet<String> {
    let mut entries = BTreeSet::new();
    let (mut entry, mut is_inside, mut is_escaped) = (String::new(), false, false);
    for c in list.chars() {
        is_inside ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        if c == ',' && !is_inside {
            entries.insert(std::mem::take(&mut entry).trim().to_owned());
        } else {
            entry.push(c);
        }
    }
    entries.insert(entry.trim().to_owned());
    entries.remove("");
    entries
}

/// Returns the values that differ between two policies, key by key. Empty if there are none.
pub fn differences(before: &Policy, after: &Policy) -> String {
    let (before, after) = (keys(&render(before)), keys(&render(after)));
    let mut text = String::new();
    let mut under = String::new();
    let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for at in all {
        let (old, new) = (before.get(at), after.get(at));
        if old == new {
            continue;
        }
        let (header, key) = at;
        if *header != under {
            text.push_str(if under.is_empty() { "" } else { "\n" });
            text.push_str(header);
            text.push('\n');
            under.clone_from(header);
        }
        for line in changed(key, old, new) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// Returns the headers of the sections whose values differ between two policies, such as `[web]`.
pub fn changed_sections(before: &Policy, after: &Policy) -> BTreeSet<String> {
    let (before, after) = (keys(&render(before)), keys(&render(after)));
    let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    all.into_iter().filter(|at| before.get(at) != after.get(at)).map(|(header, _)| header.clone()).collect()
}

impl Policy {
    /// Returns the headers of the sections in which `after` may forbid something that this policy allows.
    pub fn lost_sections(&self, after: &Self, places: &Places) -> BTreeSet<String> {
        changed_sections(self, &self.narrowed_by(after, places))
    }
}

/// Returns the removed and the added values of a key.
fn changed(key: &str, old: Option<&Value>, new: Option<&Value>) -> Vec<String> {
    if let (Some(Value::List(old)), Some(Value::List(new))) = (old, new) {
        let gone = old.difference(new).map(|entry| format!("- {key}: {entry}"));
        return gone.chain(new.difference(old).map(|entry| format!("+ {key}: {entry}"))).collect();
    }
    let shown = |value: &Value| match value {
        Value::Plain(value) => value.clone(),
        Value::List(entries) => format!("[{}]", entries.iter().cloned().collect::<Vec<_>>().join(", ")),
    };
    let marked = [('-', old), ('+', new)].into_iter();
    marked.filter_map(|(mark, value)| Some(format!("{mark} {key} = {}", shown(value?)))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_values_that_differ_are_shown_under_their_headers() {
        let other =
            Policy::parse("version = 1\n[web]\nenabled = false\n[audit]\nrequired = true\n", Path::new("p"));
        let text = differences(&Policy::builtin(), &other.expect("it works"));
        assert_eq!(
            text,
            "[audit]\n- required = false\n+ required = true\n\n[web]\n- enabled = true\n+ enabled = false\n"
        );
        assert_eq!(differences(&Policy::builtin(), &Policy::builtin()), "");
    }

    #[test]
    fn each_entry_of_a_list_is_told_however_the_list_is_laid_out() {
        let read =
            |text: &str| Policy::parse(&format!("version = 1\n{text}"), Path::new("p")).expect("it works");
        let hosts: Vec<_> = (0..30).map(|number| format!("\"host{number}.example.com\"")).collect();
        let one = read(&format!("[web]\nallow = [{}]", hosts.join(", ")));
        let other = read(&format!("[web]\nallow = [\n{}]", hosts.join(",\n").replace("host7.", "evil.")));
        let expected = "[web]\n- allow: \"host7.example.com\"\n+ allow: \"evil.example.com\"\n";
        assert_eq!(differences(&one, &other), expected);
        let again = read(&format!(
            "[web]\nallow = [\n{}]",
            hosts.iter().rev().cloned().collect::<Vec<_>>().join(",\n")
        ));
        assert_eq!(differences(&one, &again), "", "in another order it is the same");
    }

    fn policy(text: &str) -> Policy {
        Policy::parse(&format!("version = 1\n{text}"), Path::new("p")).expect("it works")
    }

    fn loses(before: &str, after: &str) -> bool {
        let places =
            Places::standard("/work".into(), Some("/home/ann".into()), Path::new("/home/ann/.scorpiox"));
        !policy(before).lost_sections(&policy(after), &places).is_empty()
    }

    #[test]
    fn a_policy_that_adds_something_loses_nothing() {
        for (before, after) in [
            ("", ""),
            ("", "[tools]\nallow = [\"*\"]\n"),
            ("[tools]\ndeny = [\"Bash\"]\n", ""),
            ("[web]\nenabled = false\n", "[web]\nenabled = true\n"),
            (
                "[web]\nallow = [\"a.example.com\"]\n",
                "# text\n[web]\nallow = [\"b.example.com\", \"a.example.com\"]\n",
            ),
            (
                "[shell.profile.default.network]\nmode = \"off\"\n",
                "[shell.profile.default.network]\nmode = \"allowlist\"\nhosts = [\"a.example.com\"]\n",
            ),
            (
                "[shell.profile.default]\ndeny = [\"**/a.key\", \"**/b.key\"]\n",
                "[shell.profile.default]\ndeny = [\"**/b.key\"]\n",
            ),
        ] {
            assert!(!loses(before, after), "{before:?} to {after:?}");
        }
    }

    #[test]
    fn a_policy_that_takes_something_away_loses_it() {
        for (before, after) in [
            ("", "[tools]\ndeny = [\"Bash\"]\n"),
            ("", "[tools]\nallow = [\"TaskManager\"]\n"),
            ("", "[web]\nenabled = false\n"),
            ("[web]\nallow = [\"a.example.com\"]\n", "[web]\nallow = [\"b.example.com\"]\n"),
            ("", "[files]\ndeny = [\"**/x\"]\n"),
            ("", "[plugins]\ndeny = [\"x\"]\n"),
            ("", "[shell]\nmax_timeout_ms = 1000\ndefault_timeout_ms = 1000\n"),
            ("", "[shell.profile.default]\ndeny = [\"**/b.key\"]\n"),
            ("", "[shell.profile.default]\nwrite = [\"@tmp\"]\n"),
            (
                "[shell.profile.default.network]\nmode = \"allowlist\"\nhosts = [\"a.example.com\"]\n",
                "[shell.profile.default.network]\nmode = \"off\"\n",
            ),
            ("[access.a]\nallow = [\"*\"]\n", "[access.a]\nallow = [\"*\"]\ndeny = [\"Bash\"]\n"),
        ] {
            assert!(loses(before, after), "{before:?} to {after:?}");
        }
    }
}
