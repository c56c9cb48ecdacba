//! What differs between two policies, key by key.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Policy, render};

/// A value: of a list its entries, in no order.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    Plain(String),
    List(BTreeSet<String>),
}

/// Keys with their values, by the header that they stand under.
fn keys(page: &str) -> BTreeMap<(String, String), Value> {
    let mut header = String::new();
    let mut keys = BTreeMap::new();
    // Who gave a value is no difference.
    let mut lines =
        page.lines().map(|line| line.rsplit_once(" # ").map_or(line, |(line, _)| line).trim_end());
    while let Some(line) = lines.next() {
        if line.starts_with('[') {
            line.clone_into(&mut header);
        } else if let Some((key, value)) = line.split_once(" = ") {
            let entries = if value == "[" {
                // A list whose entries have several sources has a line for each.
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

/// The entries of a list, each a string as TOML quotes it.
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

/// Which values differ between two policies, key by key; empty where none does.
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

/// What is gone of a key, and what is new.
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
}
