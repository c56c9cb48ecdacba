//! Repairs common mistakes in front matter: `description: Use when: a colon comes`, `argument-hint: [file]
//! [line]`, `note: 'it's here'`.
//!
//! Only values that are invalid YAML are changed: they become quoted text.

use crate::yaml::{self, MAX_DEPTH, YamlError};

/// Text after the repair. It may still be invalid YAML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// The repaired YAML.
    pub text: String,
    /// Keys of the quoted values.
    pub keys: Vec<String>,
}

/// Quotes the values of `key: value` lines that are invalid YAML.
pub(crate) fn repair(text: &str) -> Repaired {
    let mut repaired = Repaired { text: String::with_capacity(text.len()), keys: Vec::new() };
    for entry in entries(text) {
        match split(entry[0]) {
            Some(pair) if !is_yaml(&entry.join("\n")) => repair_entry(&mut repaired, &pair, &entry),
            _ => entry.iter().for_each(|line| push_line(&mut repaired.text, line)),
        }
    }
    repaired
}

/// A line of the form `key: value`.
struct Pair<'a> {
    /// Whitespace, and the `- ` of a list.
    indent: &'a str,
    key: &'a str,
    value: &'a str,
}

/// Groups the lines by top-level member.
fn entries(text: &str) -> Vec<Vec<&str>> {
    let mut entries: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        let starts = split(line).is_some_and(|pair| pair.indent.is_empty());
        match entries.last_mut() {
            Some(entry) if !starts => entry.push(line),
            _ => entries.push(vec![line]),
        }
    }
    entries
}

fn split(line: &str) -> Option<Pair<'_>> {
    let content = line.trim_start_matches([' ', '-']);
    let (indent, content) = line.split_at(line.len() - content.len());
    let (key, value) = content.split_once(':')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let separated = value.is_empty() || value.starts_with([' ', '\t']);
    (separated && !key.is_empty() && key.chars().all(is_key)).then(|| Pair {
        indent,
        key,
        value: value.trim(),
    })
}

fn is_yaml(text: &str) -> bool {
    !matches!(yaml::read(text), Err(YamlError::Syntax(_)))
}

fn repair_entry(repaired: &mut Repaired, pair: &Pair<'_>, lines: &[&str]) {
    let rest = || lines[1..].iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    if pair.value.is_empty() {
        push_line(&mut repaired.text, lines[0]);
        lines[1..].iter().for_each(|line| repair_line(repaired, line));
    } else if is_block_header(pair.value) && rest().next().is_some() {
        push_quoted(repaired, pair, &rest().collect::<Vec<_>>().join(" "));
    } else {
        let words: Vec<&str> = std::iter::once(pair.value).chain(rest()).collect();
        push_quoted(repaired, pair, &words.join(" "));
    }
}

/// Repairs a line inside a nested mapping or list.
fn repair_line(repaired: &mut Repaired, line: &str) {
    match split(line) {
        Some(pair) if !is_yaml(line.trim_start_matches([' ', '-'])) => {
            push_quoted(repaired, &pair, pair.value);
        }
        _ => push_line(&mut repaired.text, line),
    }
}

fn push_quoted(repaired: &mut Repaired, pair: &Pair<'_>, value: &str) {
    let text = without_outer_quotes(value);
    // This many brackets are not a typing mistake, so the original error stays.
    let simple = text.matches(['[', '{']).count() <= MAX_DEPTH;
    let quoted = if simple { serde_json::to_string(text).unwrap_or_default() } else { value.to_owned() };
    push_line(&mut repaired.text, &format!("{}{}: {quoted}", pair.indent, pair.key));
    repaired.keys.push(pair.key.to_owned());
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn is_block_header(value: &str) -> bool {
    value.starts_with(['|', '>']) && value[1..].chars().all(|c| matches!(c, '+' | '-' | '1'..='9'))
}

/// Removes outer quotes: `'it's'` means `it's`. In `"a" or "b"` the quotes belong to the text.
fn without_outer_quotes(value: &str) -> &str {
    for quote in ['\'', '"'] {
        let inner = value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
        if let Some(inner) = inner.filter(|inner| inner.matches(quote).count() % 2 == 1) {
            return inner;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(text: &str) -> String {
        let repaired = repair(text);
        let document = yaml::read(&repaired.text).expect("YAML after the repair");
        let members: Vec<String> = document
            .members
            .iter()
            .map(|(key, value)| format!("{key}={}", serde_json::to_string(value).expect("serialises")))
            .collect();
        members.join(" ")
    }

    #[test]
    fn common_slips_become_text() {
        for (text, expected) in [
            ("description: Use when: foo", r#"description="Use when: foo""#),
            ("a: Use: x\nb: true\nc: [1]", r#"a="Use: x" b=true c=[1]"#),
            ("argument-hint: [file] [line]", r#"argument-hint="[file] [line]""#),
            ("d: 'it's here'", r#"d="it's here""#),
            (r#"d: "foo" or "bar""#, r#"d="\"foo\" or \"bar\"""#),
            ("d: *important* text", r#"d="*important* text""#),
            ("d: @user does `x`", r#"d="@user does `x`""#),
            ("d: Use: a\n  and: b\n\n  c", r#"d="Use: a and: b c""#),
            ("d: one\ntwo: three four: five", r#"d="one" two="three four: five""#),
            ("d: first line\nsecond line", r#"d="first line second line""#),
            ("d: >\n\ttabbed: text\n\tmore", r#"d="tabbed: text more""#),
            ("m:\n  a: b: c\n  d: 1\ne: f", r#"m={"a":"b: c","d":1} e="f""#),
            ("m:\n  - a: b: c\n    d: 1", r#"m=[{"a":"b: c","d":1}]"#),
            ("d: 100% sure: \\ \"x\"", r#"d="100% sure: \\ \"x\"""#),
        ] {
            assert_eq!(repaired(text), expected, "{text}");
        }
    }

    #[test]
    fn the_quoted_keys_are_named() {
        assert_eq!(repair("a: b: c\nd: e").keys, ["a"]);
    }

    #[test]
    fn piles_of_brackets_are_not_repaired() {
        let pile = format!("a: {}", "[".repeat(300));
        assert!(yaml::read(&repair(&pile).text).is_err());
    }
}
