//! JSON with comments and trailing commas, as editors accept it.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};

use super::super::entry::{Member, Rule, Value};
use super::{ENTRY_NAME, Extra, Refusal};

/// Returns `text` with our entry in the object `servers`.
pub(super) fn merge(text: &str, servers: &str, members: &[Member]) -> Result<String, Refusal> {
    let root = parse(text)?;
    let top = match root.value() {
        None => root.object_value_or_set(),
        Some(value) => value.as_object().ok_or_else(|| not_an_object("the file's content", value))?,
    };
    let Some(list) = member_object(&top, servers)? else {
        top.append(servers, CstInputValue::Object(vec![(ENTRY_NAME.to_owned(), entry(members))]));
        return Ok(root.to_string());
    };
    match member_object(&list, ENTRY_NAME)? {
        None => drop(list.append(ENTRY_NAME, entry(members))),
        Some(existing) => correct(&existing, members)?,
    }
    Ok(root.to_string())
}

/// Returns the members of our entry that are not in `members`. Empty values and the default type are ignored.
pub(super) fn extras(text: &str, servers: &str, members: &[Member]) -> Result<Vec<Extra>, Refusal> {
    let Some(entry) = found(&parse(text)?, servers)? else { return Ok(Vec::new()) };
    let is_ours = |name: &str| members.iter().any(|own| own.name == name && own.rule != Rule::New);
    let mut extras = Vec::new();
    for property in entry.properties() {
        // A name that cannot be decoded is not ours.
        let name = property.decoded_name().unwrap_or_else(|| property.to_string());
        let value = property.value();
        let inside = property.object_value().map(|object| object.properties()).unwrap_or_default();
        let inside: Vec<_> =
            inside.iter().map(|inner| inner.decoded_name().unwrap_or_else(|| inner.to_string())).collect();
        let list = value.as_ref().and_then(CstNode::as_array);
        let is_usual = match &*name {
            "type" => is_string(value.clone(), "stdio"),
            "enabled" => value.as_ref().is_some_and(|value| value.as_boolean_lit().is_some()),
            _ => {
                list.is_some_and(|list| list.elements().is_empty())
                    || property.object_value().is_some() && inside.is_empty()
                    || is_our_variable(&name, &property, members)
            }
        };
        if !is_usual && !is_ours(&name) {
            let value = value.map(|value| value.to_string()).unwrap_or_default();
            extras.push(Extra { name, value, inside });
        }
    }
    Ok(extras)
}

/// Returns `true` if a member contains only the environment variable of a new entry.
fn is_our_variable(name: &str, property: &CstObjectProp, members: &[Member]) -> bool {
    let inside = property.object_value().map(|object| object.properties()).unwrap_or_default();
    let [only] = inside.as_slice() else { return false };
    members.iter().filter(|own| own.name == name).any(|own| match &own.value {
        Value::Variable(variable, value) => {
            only.decoded_name().as_deref() == Some(variable) && is_string(only.value(), value)
        }
        _ => false,
    })
}

/// Returns `text` without our entry.
pub(super) fn without(text: &str, servers: &str) -> Result<String, Refusal> {
    let root = parse(text)?;
    if let Some(entry) = found(&root, servers)?
        && let Some(property) = entry.parent().and_then(|parent| parent.as_object_prop())
    {
        property.remove();
    }
    Ok(root.to_string())
}

/// Returns `true` if `text` contains our entry.
pub(super) fn is_in(text: &str, servers: &str) -> Result<bool, Refusal> {
    Ok(found(&parse(text)?, servers)?.is_some())
}

/// Returns our entry, if there is one.
fn found(root: &CstRootNode, servers: &str) -> Result<Option<CstObject>, Refusal> {
    let top = match root.value() {
        None => return Ok(None),
        Some(value) => value.as_object().ok_or_else(|| not_an_object("the file's content", value))?,
    };
    match member_object(&top, servers)? {
        None => Ok(None),
        Some(list) => member_object(&list, ENTRY_NAME),
    }
}

pub(crate) fn parse(json: &str) -> Result<CstRootNode, Refusal> {
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
    CstRootNode::parse(json, &options).map_err(|error| Refusal::NotValid {
        line: error.line_display(),
        column: error.column_display(),
        format: "JSON",
        what: error.kind().to_string(),
    })
}

fn entry(members: &[Member]) -> CstInputValue {
    CstInputValue::Object(
        members.iter().map(|member| (member.name.to_owned(), input(&member.value))).collect(),
    )
}

fn list<'a>(texts: impl Iterator<Item = &'a String>) -> CstInputValue {
    CstInputValue::Array(texts.map(|text| text.as_str().into()).collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Program(program, arguments) => list([program].into_iter().chain(arguments)),
        Value::Arguments(arguments) => list(arguments.iter()),
        Value::All => CstInputValue::Array(vec!["*".into()]),
        Value::Flag(flag) => CstInputValue::Bool(*flag),
        Value::Seconds(seconds) => CstInputValue::Number(seconds.to_string()),
        Value::Variable(name, value) => {
            CstInputValue::Object(vec![((*name).to_owned(), value.as_str().into())])
        }
    }
}

fn correct(entry: &CstObject, members: &[Member]) -> Result<(), Refusal> {
    for Member { name, value, rule } in members.iter().filter(|member| member.rule != Rule::New) {
        match member(entry, name)? {
            None => drop(entry.append(name, input(value))),
            Some(property) if *rule == Rule::Own => correct_value(&property, value),
            Some(_) => {}
        }
    }
    Ok(())
}

fn correct_value(property: &CstObjectProp, wanted: &Value) {
    match wanted {
        Value::Text(text) if is_string(property.value(), text) => {}
        Value::Program(program, arguments) if arguments.is_empty() => correct_program(property, program),
        Value::Program(program, arguments) if is_list(property, [program].into_iter().chain(arguments)) => {}
        Value::Arguments(arguments) if is_list(property, arguments.iter()) => {}
        _ => property.set_value(input(wanted)),
    }
}

/// List items after the program are arguments that the user added, so they are preserved.
fn correct_program(property: &CstObjectProp, program: &str) {
    let list = property.value().and_then(|value| value.as_array());
    match list.map(|list| list.elements()).as_deref() {
        Some([first, ..]) if is_string(Some(first.clone()), program) => {}
        Some([first, ..]) if first.as_string_lit().is_some() => {
            let first = first.as_string_lit().unwrap_or_else(|| unreachable!("it was a string"));
            first.replace_with(program.into());
        }
        _ => property.set_value(CstInputValue::Array(vec![program.into()])),
    }
}

/// Returns `true` if a member is a list of exactly these strings.
fn is_list<'a>(property: &CstObjectProp, texts: impl Iterator<Item = &'a String>) -> bool {
    let texts: Vec<_> = texts.collect();
    let elements = property.value().and_then(|value| value.as_array()).map(|list| list.elements());
    elements.is_some_and(|elements| {
        elements.len() == texts.len()
            && elements.into_iter().zip(texts).all(|(node, text)| is_string(Some(node), text))
    })
}

fn is_string(node: Option<CstNode>, text: &str) -> bool {
    let literal = node.and_then(|value| value.as_string_lit());
    literal.and_then(|literal| literal.decoded_value().ok()).is_some_and(|value| value == text)
}

pub(crate) fn member_object(object: &CstObject, name: &str) -> Result<Option<CstObject>, Refusal> {
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

pub(crate) fn not_an_object(what: &str, node: CstNode) -> Refusal {
    Refusal::NotA { line: line_of(node), what: what.to_owned(), wanted: "an object, { … }" }
}

/// Returns the line on which a node starts. The syntax tree stores text, but no positions.
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
