//! TOML, as used by Codex: one table per server.
//!
//! The text is edited in place, so everything else is preserved byte for byte.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::entry::{Member, Rule, Value};
use super::text::{column_at, line_at, spliced, with_lines_at, written};
use super::{ENTRY_NAME, Extra, Refusal};

const SERVERS: &str = "mcp_servers";
const EQUALS: &str = " = ";

/// Returns `text` with our entry in the table of servers.
pub(super) fn merge(text: &str, members: &[Member]) -> Result<String, Refusal> {
    let document = parse(text)?;
    let merged = match member(document.get_ref(), SERVERS) {
        None => appended(text, members),
        Some(servers) => match member(table(text, SERVERS, servers)?, ENTRY_NAME) {
            Some(existing) => corrected(text, existing, members)?,
            None if is_inline(text, servers) => return Err(in_one_line(text, servers)),
            None => appended(text, members),
        },
    };
    // The specification has several ways by which an earlier table can forbid ours.
    match DeTable::parse(&merged) {
        Ok(_) => Ok(merged),
        Err(error) => Err(Refusal::Unusual {
            line: line_at(text, text.len()),
            what: format!("with the entry at its end the file would not be valid: {}", error.message()),
        }),
    }
}

/// Returns `true` if `text` contains our entry.
pub(super) fn is_in(text: &str) -> Result<bool, Refusal> {
    let document = parse(text)?;
    let Some(servers) = member(document.get_ref(), SERVERS) else { return Ok(false) };
    Ok(member(table(text, SERVERS, servers)?, ENTRY_NAME).is_some())
}

/// Returns `text` without our entry, or `None` if the syntax is not supported.
pub(super) fn without(text: &str) -> Result<Option<String>, Refusal> {
    parse(text)?;
    let header = format!("[{SERVERS}.{ENTRY_NAME}");
    let mut is_ours = false;
    let kept: String = text
        .split_inclusive('\n')
        .filter(|line| {
            if line.starts_with('[') {
                is_ours = line.strip_prefix(&header).is_some_and(|rest| rest.starts_with([']', '.']));
            }
            !is_ours
        })
        .collect();
    // The result must parse to the same document, without the entry.
    let expected = text.parse::<toml::Table>().map(|mut whole| {
        if let Some(toml::Value::Table(servers)) = whole.get_mut(SERVERS) {
            servers.remove(ENTRY_NAME);
        }
        whole.retain(|name, value| name != SERVERS || value.as_table().is_none_or(|table| !table.is_empty()));
        whole
    });
    let kept = format!("{}{}", kept.trim_end_matches('\n'), if kept.trim().is_empty() { "" } else { "\n" });
    Ok((kept.parse::<toml::Table>().ok() == expected.ok()).then_some(kept))
}

/// Returns the members of our entry that are not in `members`, except empty lists.
pub(super) fn extras(text: &str, members: &[Member]) -> Result<Vec<Extra>, Refusal> {
    let document = parse(text)?;
    let Some(servers) = member(document.get_ref(), SERVERS) else { return Ok(Vec::new()) };
    let Some(entry) = member(table(text, SERVERS, servers)?, ENTRY_NAME) else { return Ok(Vec::new()) };
    let is_ours = |name: &str| members.iter().any(|own| own.name == name && own.rule != Rule::New);
    let others = table(text, ENTRY_NAME, entry)?.iter().filter_map(|(name, value)| {
        let inside: Vec<String> =
            value.get_ref().as_table().into_iter().flatten().map(|(name, _)| name.to_string()).collect();
        let is_empty = value.get_ref().as_array().is_some_and(|list| list.is_empty());
        let value = text.get(value.span()).unwrap_or_default().to_owned();
        let name = name.get_ref().to_string();
        (!is_empty && !is_ours(&name)).then_some(Extra { name, value, inside })
    });
    Ok(others.collect())
}

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Refusal> {
    DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = (line_at(text, at), column_at(text, at));
        Refusal::NotValid { line, column, format: "TOML", what: error.message().to_owned() }
    })
}

fn member<'a>(table: &'a DeTable<'_>, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}

fn table<'a>(text: &str, name: &str, value: &'a Spanned<DeValue<'_>>) -> Result<&'a DeTable<'a>, Refusal> {
    value.get_ref().as_table().ok_or_else(|| Refusal::NotA {
        line: line_at(text, value.span().start),
        what: format!("\"{name}\""),
        wanted: "a table, [mcp_servers.NAME]",
    })
}

fn is_inline(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    text[value.span()].starts_with('{')
}

fn in_one_line(text: &str, value: &Spanned<DeValue<'_>>) -> Refusal {
    let line = line_at(text, value.span().start);
    Refusal::Unusual { line, what: format!("\"{SERVERS}\" is written as {{ … }}") }
}

/// Appends the table at the end of the file, where it cannot affect other tables.
fn appended(text: &str, members: &[Member]) -> String {
    let gap = (!text.is_empty()).then(String::new);
    let header = format!("[{SERVERS}.{ENTRY_NAME}]");
    let values = members.iter().map(|member| format!("{} = {}", member.name, written(&member.value, EQUALS)));
    let lines: Vec<_> = gap.into_iter().chain([header]).chain(values).collect();
    with_lines_at(text, text.len(), &lines)
}

fn corrected(text: &str, entry: &Spanned<DeValue<'_>>, members: &[Member]) -> Result<String, Refusal> {
    let values = table(text, ENTRY_NAME, entry)?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for Member { name, value, .. } in members.iter().filter(|member| member.rule == Rule::Own) {
        let Some(existing) = member(values, name) else {
            let what = format!("\"{SERVERS}.{ENTRY_NAME}\" has no {name}");
            return Err(Refusal::Unusual { line: line_at(text, entry.span().start), what });
        };
        if !is_same(existing.get_ref(), value) {
            edits.push((existing.span(), written(value, EQUALS)));
        }
    }
    edits.sort_by_key(|(span, _)| span.start);
    Ok(edits.into_iter().rev().fold(text.to_owned(), |text, (span, new)| spliced(&text, span, &new)))
}

fn is_same(existing: &DeValue<'_>, wanted: &Value) -> bool {
    match wanted {
        Value::Text(text) => existing.as_str() == Some(text),
        Value::Arguments(arguments) => existing.as_array().is_some_and(|list| {
            list.iter()
                .map(|item| item.get_ref().as_str())
                .eq(arguments.iter().map(|text| Some(text.as_str())))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
