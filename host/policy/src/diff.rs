//! Differences between two policies, key by key.

use std::collections::{BTreeMap, BTreeSet};

use crate::rule::{PathRule, Place, Places};
use crate::{Policy, render};

/// A value; lists are compared without regard to order.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    Plain(String),
    List(BTreeSet<String>),
}

/// Headers of tables that are told apart by their names.
const NAMED: [&str; 2] = ["[[rules]]", "[[narrow]]"];

/// Returns the values of a rendered policy by section header and key.
fn keys(page: &str) -> BTreeMap<(String, String), Value> {
    let mut header = String::new();
    let mut keys = BTreeMap::new();
    // The source comment is not part of the comparison.
    let mut lines =
        page.lines().map(|line| line.rsplit_once(" # ").map_or(line, |(line, _)| line).trim_end());
    while let Some(line) = lines.next() {
        if NAMED.contains(&line) {
            // Equal names of both files are told apart by their order.
            let name = lines.next().and_then(|line| line.strip_prefix("name = ")).unwrap_or_default();
            header = format!("{line} {name}");
            while keys.keys().any(|(known, _)| *known == header) {
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
    /// Returns the headers of the sections in which `after` may forbid something that this policy allows, or
    /// takes a value away that running calls and commands have, such as a secret.
    pub fn lost_sections(&self, after: &Self, places: &Places) -> BTreeSet<String> {
        // Rules that only report forbid nothing.
        let after = &Self { calls: after.calls.enforced(), ..after.clone() };
        let narrowed = without_doubles(self.narrowed_by(after, places), places);
        let mut lost = changed_sections(&without_doubles(self.clone(), places), &narrowed);
        lost.extend(self.lost_values(after));
        // The intersection has the rules of both policies, so equal names in it are no sections of their own.
        lost.into_iter()
            .map(|header| {
                if NAMED.iter().any(|named| header.starts_with(named)) {
                    header.trim_end_matches('\'').to_owned()
                } else {
                    header
                }
            })
            .collect()
    }

    /// Returns the headers of the sections in which `after` has another value, or none. An intersection would
    /// not show that: in it, the value of the policy that is narrowed wins.
    fn lost_values(&self, after: &Self) -> BTreeSet<String> {
        let (old, new) = (keys(&render(self)), keys(&render(after)));
        let is_lost = |at: &&(String, String)| is_value(&at.0, &at.1) && old.get(*at) != new.get(*at);
        let mut lost: BTreeSet<_> = old.keys().filter(is_lost).map(|(header, _)| header.clone()).collect();
        // The page does not show these keys.
        let key = |policy: &Self, name: &str| {
            let engine = policy.search.engines.get(name);
            engine.and_then(|engine| engine.key.as_ref()).map(|key| key.value.clone())
        };
        let engines = self.search.engines.keys();
        let changed = engines.filter(|name| key(self, name).is_some() && key(self, name) != key(after, name));
        lost.extend(changed.map(|name| format!("[search.engine.{name}]")));
        lost
    }
}

/// Leaves out paths of profiles that are the folder of another entry of the same list: an intersection names the
/// workspace by its path, too, if the new policy opens a folder around it.
fn without_doubles(mut policy: Policy, places: &Places) -> Policy {
    for profile in policy.shell.profiles.values_mut() {
        for list in [&mut profile.read, &mut profile.write] {
            let all = list.clone();
            let is_there = |rule: &PathRule, other: &PathRule| {
                let (folders, others) = (places.folders(&rule.place), places.folders(&other.place));
                !matches!(other.place, Place::Path(_) | Place::Tmp)
                    && !folders.is_empty()
                    && folders.iter().all(|folder| others.contains(folder))
            };
            list.retain(|rule| {
                !matches!(rule.place, Place::Path(_)) || !all.iter().any(|other| is_there(rule, other))
            });
        }
    }
    policy
}

/// Returns `true` if a key has a value that calls and commands use as it is.
fn is_value(header: &str, key: &str) -> bool {
    match header {
        "[web]" => key == "browser_path",
        "[plugins]" => key == "index",
        _ if header.starts_with("[shell.profile.") => key.starts_with("env.set."),
        _ if header.starts_with("[search.engine.") => key == "base_url",
        _ => ["[plugins.secrets.", "[plugins.registries.", "[plugins.signers.", "[approvers."]
            .iter()
            .any(|section| header.starts_with(section) && key != "names" && key != "approve"),
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
    fn a_wider_folder_takes_nothing_away() {
        let policy = |lists: &str| {
            let text = format!("version = 1\n[shell.profile.workspace]\n{lists}\n");
            Policy::parse(&text, Path::new("p")).expect("it works")
        };
        let places = Places::standard("/h/code/w".into(), Some("/h".into()), Path::new("/h/.scorpiox"));
        let lost = |before: &str, after: &str| policy(before).lost_sections(&policy(after), &places).len();
        let wide = r#"write = ["@workspace", "@tmp", "~/code"]"#;
        let double = r#"write = ["@workspace", "@tmp", "~/code/w"]"#;
        for (before, after) in [("", wide), ("", double), (double, wide), (double, double)] {
            assert_eq!(lost(before, after), 0, "{before} {after}");
        }
        let inside = r#"write = ["~/code/w", "@tmp"]"#;
        for (before, after) in [(wide, ""), (wide, double), ("", r#"write = ["@tmp"]"#), (wide, inside)] {
            assert_eq!(lost(before, after), 1, "{before} {after}");
        }
    }

    #[test]
    fn an_approver_who_is_added_takes_nothing_away() {
        let policy =
            |more: &str| Policy::parse(&format!("version = 1\n{more}"), Path::new("p")).expect("it works");
        let key = "RWTCF1j5TF+pmO92a9YVjktSWzXPfzT3ugK0UQkS8m9fBeN0IdALk1ev";
        let (none, ann) = (policy(""), policy(&format!("[approvers.ann]\nkey = \"{key}\"\n")));
        let places = Places::standard("/w".into(), None, Path::new("/own"));
        assert!(none.lost_sections(&ann, &places).is_empty());
        assert!(ann.lost_sections(&none, &places).contains("[approvers.ann]"));
    }

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

    #[test]
    fn a_value_that_is_removed_or_replaced_is_lost() {
        let set =
            |value: &str| format!("[shell.profile.workspace]\nenv = {{ set = {{ TOKEN = '{value}' }} }}\n");
        let engine = |key: &str| format!("[search.engine.kagi]\n{key}\n");
        let browser = |path: &str| format!("[web]\nbrowser_path = '{path}'\n");
        let secret = |file: &str| format!("[plugins.secrets.a]\ntoken = {{ file = '{file}' }}\n");
        for (before, other) in [
            (set("old"), set("new")),
            (engine("key = 'aaaaaaaaaaaa'"), engine("key = 'bbbbbbbbbbbb'")),
            (engine("base_url = 'https://a.example.com/'"), engine("base_url = 'https://b.example.com/'")),
            (browser("/opt/a"), browser("/opt/b")),
            (secret("/run/a"), secret("/run/b")),
        ] {
            assert!(loses(&before, &other), "{before:?} to {other:?}");
            assert!(loses(&before, ""), "{before:?} to nothing");
            assert!(!loses(&before, &before), "{before:?}");
        }
    }

    #[test]
    fn a_changed_rule_is_named_as_it_is_written() {
        let rule =
            |then: &str| policy(&format!("[[rules]]\nname = \"r\"\ntools = [\"Bash\"]\nthen = \"{then}\"\n"));
        let places = Places::standard("/work".into(), None, Path::new("/home/ann/.scorpiox"));
        let lost = rule("ask").lost_sections(&rule("deny"), &places);
        assert_eq!(lost.into_iter().collect::<Vec<_>>(), ["[[rules]] \"r\""]);
    }
}
