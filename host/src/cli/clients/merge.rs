//! Our entry in the text of a configuration file.
//!
//! The text is JSON, with the comments and trailing commas that editors accept.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};

use super::{Client, ENTRY_NAME};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a text is not edited. Starts with the line, to follow a path and a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The text is not JSON.
    #[error("{line}:{column}: not valid JSON: {what}")]
    NotJson {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What the parser says.
        what: String,
    },
    /// Something else stands where an object must be.
    #[error("{line}: {what} must be an object, {{ … }}")]
    NotAnObject {
        /// From 1.
        line: usize,
        /// What must be an object.
        what: String,
    },
    /// Clients differ in which of the two they use.
    #[error("{line}: \"{name}\" stands here a second time; remove one of them")]
    Twice {
        /// From 1, of the second one.
        line: usize,
        /// The member's name.
        name: String,
    },
}

/// A file with our entry alone.
pub(super) fn fresh(client: Client, command: &str) -> String {
    merge("", client, command).unwrap_or_else(|refusal| unreachable!("an empty text: {refusal}"))
}

/// `text` with our entry; the same text when the entry is there.
pub(super) fn merge(text: &str, client: Client, command: &str) -> Result<String, Refusal> {
    let (mark, json) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(json) => ("\u{feff}", json),
        None => ("", text),
    };
    let root = parse(if json.trim().is_empty() { "" } else { json })?;
    let top = match root.value() {
        None => root.object_value_or_set(),
        Some(value) => value.as_object().ok_or_else(|| not_an_object("the file's content", value))?,
    };
    let Some(servers) = member_object(&top, client.servers_key())? else {
        let servers = CstInputValue::Object(vec![(ENTRY_NAME.to_owned(), entry(client, command))]);
        top.append(client.servers_key(), servers);
        return Ok(format!("{mark}{root}"));
    };
    match member_object(&servers, ENTRY_NAME)? {
        None => drop(servers.append(ENTRY_NAME, entry(client, command))),
        Some(existing) => correct(&existing, client, command)?,
    }
    Ok(format!("{mark}{root}"))
}

fn parse(json: &str) -> Result<CstRootNode, Refusal> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(json, &options).map_err(|error| Refusal::NotJson {
        line: error.line_display(),
        column: error.column_display(),
        what: error.kind().to_string(),
    })
}

/// The members of the entry, in the order in which documentation shows them.
fn entry(client: Client, command: &str) -> CstInputValue {
    let own = own_members(client, command);
    let strings = own.into_iter().map(|(name, value)| (name.to_owned(), CstInputValue::from(value)));
    let args = ("args".to_owned(), CstInputValue::Array(Vec::new()));
    CstInputValue::Object(strings.chain([args]).collect())
}

/// What an entry must say to start this server.
fn own_members(client: Client, command: &str) -> Vec<(&'static str, &str)> {
    let kind = (client == Client::VsCode).then_some(("type", "stdio"));
    kind.into_iter().chain([("command", command)]).collect()
}

fn correct(entry: &CstObject, client: Client, command: &str) -> Result<(), Refusal> {
    for (name, value) in own_members(client, command) {
        match member(entry, name)? {
            None => drop(entry.append(name, value.into())),
            Some(property) if is_string(&property, value) => {}
            Some(property) => property.set_value(value.into()),
        }
    }
    Ok(())
}

fn is_string(property: &CstObjectProp, text: &str) -> bool {
    let literal = property.value().and_then(|value| value.as_string_lit());
    literal.and_then(|literal| literal.decoded_value().ok()).is_some_and(|value| value == text)
}

fn member_object(object: &CstObject, name: &str) -> Result<Option<CstObject>, Refusal> {
    let Some(property) = member(object, name)? else { return Ok(None) };
    match property.object_value() {
        Some(object) => Ok(Some(object)),
        None => Err(not_an_object(&format!("\"{name}\""), property.into())),
    }
}

fn member(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, Refusal> {
    let properties = object.properties().into_iter();
    let mut found = properties.filter(|property| property.decoded_name().as_deref() == Some(name));
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(second) => Err(Refusal::Twice { line: line_of(second.into()), name: name.to_owned() }),
    }
}

fn not_an_object(what: &str, node: CstNode) -> Refusal {
    Refusal::NotAnObject { line: line_of(node), what: what.to_owned() }
}

/// The line on which a node starts: the tree has text, not positions.
fn line_of(node: CstNode) -> usize {
    let mut line = 1;
    let mut next = Some(node);
    while let Some(node) = next {
        line +=
            node.previous_siblings().map(|sibling| sibling.to_string().matches('\n').count()).sum::<usize>();
        next = node.parent().map(CstNode::from);
    }
    line
}

#[cfg(test)]
mod tests;
