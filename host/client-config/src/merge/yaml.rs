//! YAML, as used by Continue: a list of servers, each with its name.
//!
//! YAML can express the same content in many ways. The text is therefore edited only if it uses the common
//! syntax. The result is parsed again, and must have the same meaning plus our entry.

mod tree;

use super::super::entry::{Member, Rule, Value};
use super::text::{column_at, line_at, quoted, spliced, with_lines_at, written};
use super::{ENTRY_NAME, Extra, Refusal};
use tree::{Meaning, Node, Style};

const SERVERS: &str = "mcpServers";
const ROOM: &str = "  ";

/// Returns `text` with our entry in the list of servers.
pub(super) fn merge(text: &str, members: &[Member]) -> Result<String, Refusal> {
    let Some(root) = tree::read(text)? else { return Ok(appended(text, members)) };
    let Meaning::Map(pairs) = &root.meaning else {
        return Err(not_a(text, &root, "the file's content", "a mapping, key: value"));
    };
    // Parsers disagree whether such a block scalar ends with a line break.
    if root.last_leaf().style == Style::Block && !text.ends_with('\n') {
        return Err(unusual(text, root.last_leaf(), "the text at the end lacks the end of its line"));
    }
    let (merged, expected) = match member(text, pairs, SERVERS)? {
        None => (appended(text, members), root.with(SERVERS, Node::list(vec![entry(members)]))),
        Some(servers) => {
            let (merged, list) = in_list(text, servers, members)?;
            (merged, root.with(SERVERS, list))
        }
    };
    match tree::read(&merged) {
        Ok(Some(now)) if now.means(&expected) => Ok(merged),
        _ => Err(unusual(text, &root, "the list of servers cannot be found with certainty")),
    }
}

/// Returns `true` if `text` contains our entry.
pub(super) fn is_in(text: &str) -> Result<bool, Refusal> {
    let root = tree::read(text)?;
    let Some(Meaning::Map(pairs)) = root.map(|root| root.meaning) else { return Ok(false) };
    let Some(Meaning::List(items)) = member(text, &pairs, SERVERS)?.map(|servers| &servers.meaning) else {
        return Ok(false);
    };
    for item in items {
        let Meaning::Map(pairs) = &item.meaning else { continue };
        if member(text, pairs, "name")?.is_some_and(|name| name.is_text(ENTRY_NAME)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the members of our entry that are not in `members`, except empty values.
pub(super) fn extras(text: &str, members: &[Member]) -> Result<Vec<Extra>, Refusal> {
    let root = tree::read(text)?;
    let Some(Meaning::Map(pairs)) = root.map(|root| root.meaning) else { return Ok(Vec::new()) };
    let Some(Meaning::List(items)) = member(text, &pairs, SERVERS)?.map(|servers| &servers.meaning) else {
        return Ok(Vec::new());
    };
    for item in items {
        let Meaning::Map(pairs) = &item.meaning else { continue };
        if member(text, pairs, "name")?.is_some_and(|name| name.is_text(ENTRY_NAME)) {
            return Ok(pairs.iter().filter_map(|(name, value)| extra(text, name, value, members)).collect());
        }
    }
    Ok(Vec::new())
}

fn extra(text: &str, name: &Node, value: &Node, members: &[Member]) -> Option<Extra> {
    let written = |node: &Node| text.get(node.span.clone()).unwrap_or_default().to_owned();
    let word = |node: &Node| match &node.meaning {
        Meaning::Scalar { text, .. } => text.clone(),
        _ => written(node),
    };
    let is_usual = match &value.meaning {
        Meaning::List(items) => items.is_empty(),
        Meaning::Map(pairs) => pairs.is_empty(),
        Meaning::Scalar { .. } => name.is_text("name") || name.is_text("type") && value.is_text("stdio"),
        Meaning::Alias(_) => false,
    };
    let is_ours = members.iter().any(|own| name.is_text(own.name) && own.rule != Rule::New);
    let inside = match &value.meaning {
        Meaning::Map(pairs) => pairs.iter().map(|(name, _)| word(name)).collect(),
        _ => Vec::new(),
    };
    (!is_usual && !is_ours).then(|| Extra { name: word(name), value: written(value), inside })
}

/// Returns the text with our entry in the list, and the list that it must then contain.
fn in_list(text: &str, servers: &Node, members: &[Member]) -> Result<(String, Node), Refusal> {
    let Meaning::List(items) = &servers.meaning else {
        return Err(not_a(text, servers, SERVERS, "a list, - name: …"));
    };
    for (index, item) in items.iter().enumerate() {
        let Meaning::Map(pairs) = &item.meaning else { continue };
        if member(text, pairs, "name")?.is_some_and(|name| name.is_text(ENTRY_NAME)) {
            let (merged, item) = corrected(text, item, pairs, members)?;
            let mut items = items.clone();
            items[index] = item;
            return Ok((merged, Node::list(items)));
        }
    }
    let (Style::Block, Some(first)) = (servers.style, items.first()) else {
        return Err(unusual(text, servers, "\"mcpServers\" is written as [ … ]"));
    };
    let indent = dash_indent(text, first)
        .ok_or_else(|| unusual(text, first, "the first server does not begin on a line of its own"))?;
    let at = servers.last_line_end(text);
    let merged = with_lines_at(text, at, &lines(&indent, members));
    Ok((merged, Node::list(items.iter().cloned().chain([entry(members)]).collect())))
}

fn corrected(
    text: &str,
    item: &Node,
    pairs: &[(Node, Node)],
    members: &[Member],
) -> Result<(String, Node), Refusal> {
    let (mut text_now, mut item_now) = (text.to_owned(), item.clone());
    for Member { name, value, .. } in members.iter().filter(|member| member.rule == Rule::Own) {
        let Some(existing) = member(text, pairs, name)? else {
            return Err(unusual(text, item, &format!("the server \"{ENTRY_NAME}\" has no {name}")));
        };
        if let Value::Arguments(arguments) = value {
            let is_same = matches!(&existing.meaning, Meaning::List(items)
                if items.len() == arguments.len() && items.iter().zip(arguments).all(|(item, text)| item.is_text(text)));
            if !is_same {
                return Err(unusual(
                    text,
                    existing,
                    &format!("{name} has other arguments than {}", arguments.join(" ")),
                ));
            }
        }
        let Value::Text(wanted) = value else { continue };
        if existing.is_text(wanted) {
            continue;
        }
        if !matches!(existing.meaning, Meaning::Scalar { .. }) || existing.style == Style::Block {
            return Err(unusual(text, existing, &format!("{name} is written over several lines")));
        }
        text_now = spliced(&text_now, existing.span.clone(), &quoted(wanted));
        item_now = item_now.with(name, Node::text(wanted));
    }
    Ok((text_now, item_now))
}

fn member<'a>(text: &str, pairs: &'a [(Node, Node)], name: &str) -> Result<Option<&'a Node>, Refusal> {
    let mut found = pairs.iter().filter(|(key, _)| key.is_text(name));
    let first = found.next();
    match found.next() {
        None => Ok(first.map(|(_, value)| value)),
        Some((second, _)) => {
            Err(Refusal::Twice { line: line_at(text, second.span.start), name: name.to_owned() })
        }
    }
}

/// Returns the indentation before an item's dash, or `None` if the dash is not the first text on its line.
fn dash_indent(text: &str, item: &Node) -> Option<String> {
    let start = item.span.start - (column_at(text, item.span.start) - 1);
    let indent = text.get(start..item.span.start)?.trim_end_matches(' ').strip_suffix('-')?;
    indent.chars().all(|c| c == ' ').then(|| indent.to_owned())
}

fn appended(text: &str, members: &[Member]) -> String {
    let header = [format!("{SERVERS}:")];
    let lines: Vec<_> = header.into_iter().chain(lines(ROOM, members)).collect();
    with_lines_at(text, text.len(), &lines)
}

/// Returns the lines of our list item.
fn lines(indent: &str, members: &[Member]) -> Vec<String> {
    let first = format!("{indent}- name: {ENTRY_NAME}");
    let others =
        members.iter().map(|member| format!("{indent}  {}: {}", member.name, written(&member.value, ": ")));
    [first].into_iter().chain(others).collect()
}

/// Returns the node that [`lines`] must parse to.
fn entry(members: &[Member]) -> Node {
    let named = Node::map(Vec::new()).with("name", Node::plain(ENTRY_NAME));
    members.iter().fold(named, |node, member| {
        let value = match &member.value {
            Value::Text(text) => Node::text(text),
            Value::Program(program, arguments) => {
                Node::list([program].into_iter().chain(arguments).map(|text| Node::text(text)).collect())
            }
            Value::Arguments(arguments) => {
                Node::list(arguments.iter().map(|text| Node::text(text)).collect())
            }
            Value::All => Node::list(vec![Node::text("*")]),
            Value::Flag(flag) => Node::plain(&flag.to_string()),
            Value::Seconds(seconds) => Node::plain(&seconds.to_string()),
            Value::Variable(name, value) => Node::map(Vec::new()).with(name, Node::text(value)),
        };
        node.with(member.name, value)
    })
}

fn not_a(text: &str, node: &Node, what: &str, wanted: &'static str) -> Refusal {
    Refusal::NotA { line: line_at(text, node.span.start), what: what.to_owned(), wanted }
}

fn unusual(text: &str, node: &Node, what: &str) -> Refusal {
    Refusal::Unusual { line: line_at(text, node.span.start), what: what.to_owned() }
}

#[cfg(test)]
mod tests;
