//! Pretty-prints JSON. It works on the text directly, so that numbers, member order and duplicate members
//! stay unchanged, and a large document needs no tree in memory.

use serde::de::IgnoredAny;

/// Spaces per level.
const INDENT: usize = 2;
/// Maximum growth factor due to indentation. A document that would grow more stays unchanged.
const MAX_GROWTH: usize = 4;
/// Size up to which the growth factor does not matter, in bytes.
const SMALL: usize = 64 * 1024;

/// Returns the document with one member or element per line, or `None` if it is not JSON.
pub(super) fn pretty(text: &str) -> Option<String> {
    let text = text.trim();
    // This also refuses documents that are nested more than 128 levels deep.
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let limit = text.len().saturating_mul(MAX_GROWTH).max(SMALL);
    Some(spread(text, limit).unwrap_or_else(|| text.to_owned()))
}

/// Indents `text`, which must be valid JSON.
fn spread(text: &str, limit: usize) -> Option<String> {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if out.len() > limit {
            return None;
        }
        match c {
            '"' => {
                let end = end_of_string(rest);
                out.push_str(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
            '{' | '[' => {
                out.push(c);
                let inside = rest[1..].trim_start();
                if inside.starts_with(['}', ']']) {
                    out.push_str(&inside[..1]);
                    rest = &inside[1..];
                    continue;
                }
                depth += 1;
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                depth -= 1;
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    Some(out)
}

fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth * INDENT));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_get_lines_and_values_stay() {
        let given = r#" {"b":[1.0,2e9,{}],"a":"x,\"{y","a":[ ],"n":{ "k" :null}} "#;
        let wanted = "{\n  \"b\": [\n    1.0,\n    2e9,\n    {}\n  ],\n  \"a\": \"x,\\\"{y\",\n  \"a\": [],\n  \"n\": {\n    \"k\": null\n  }\n}";
        assert_eq!(pretty(given).as_deref(), Some(wanted));
    }

    #[test]
    fn what_is_no_json_is_left_to_others() {
        for text in ["", "{", "{} {}", "<p>", &"[".repeat(100_000)] {
            assert_eq!(pretty(text), None);
        }
    }

    #[test]
    fn indentation_cannot_make_a_document_many_times_as_long() {
        let deep = format!("{}{}{}", "[".repeat(120), vec!["1"; 200_000].join(","), "]".repeat(120));
        assert_eq!(pretty(&deep), Some(deep));
    }
}
