//! Doc comments of WIT as descriptions of tools.
//!
//! None of the languages' tools leaves the comments in the component. So `plugin add` reads them from the
//! WIT beside the component, and puts them into it as a custom section, which nothing that runs can see:
//! with the component they are pinned, and go where it goes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use wasmparser::{Parser, Payload};
use wit_parser::{Resolve, WorldItem};

/// A JSON object: the name of a function as a tool, and its comment.
const SECTION: &str = "scorpiox-comments";

/// Comments by the names that the functions have as tools.
pub(super) type Comments = BTreeMap<String, String>;

/// A component with the comments of the WIT in a folder, unless it has some.
pub fn annotate(component: &[u8], wit: &Path) -> Result<Vec<u8>> {
    let mut annotated = component.to_vec();
    if section(component).is_some() {
        return Ok(annotated);
    }
    let comments = read(wit)?;
    if !comments.is_empty() {
        append(&mut annotated, &serde_json::to_vec(&comments)?);
    }
    Ok(annotated)
}

/// The comments that a component carries.
pub(super) fn of(component: &[u8]) -> Comments {
    section(component).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default()
}

/// Of the functions that the worlds of a package export.
fn read(wit: &Path) -> Result<Comments> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let mut comments = Comments::new();
    for world in resolve.packages[package].worlds.values() {
        for (key, item) in &resolve.worlds[*world].exports {
            match item {
                WorldItem::Function(function) => {
                    comments.extend(function.docs.contents.clone().map(|text| (function.name.clone(), text)));
                }
                WorldItem::Interface { id, .. } => {
                    let interface = resolve.name_world_key(key);
                    for function in resolve.interfaces[*id].functions.values() {
                        let name = crate::runtime::tool_name(&interface, &function.name);
                        comments.extend(function.docs.contents.clone().map(|text| (name, text)));
                    }
                }
                WorldItem::Type { .. } => {}
            }
        }
    }
    Ok(comments)
}

fn section(component: &[u8]) -> Option<&[u8]> {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload.ok()? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(found) if depth == 0 && found.name() == SECTION => return Some(found.data()),
            _ => {}
        }
    }
    None
}

fn append(component: &mut Vec<u8>, json: &[u8]) {
    let mut content = Vec::new();
    leb128(&mut content, SECTION.len());
    content.extend_from_slice(SECTION.as_bytes());
    content.extend_from_slice(json);
    component.push(0);
    leb128(component, content.len());
    component.append(&mut content);
}

fn leb128(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn comments_go_into_the_component_and_come_back_by_the_names_of_tools() {
        let folder = tempfile::tempdir().expect("a folder");
        let wit = "package a:b@1.0.0;\n\
                   interface sums {\n /// Adds.\n add: func(a: u32, b: u32) -> u32;\n }\n\
                   world all {\n export sums;\n /// Says hello.\n ///\n /// Loudly.\n export greet: func();\n export plain: func();\n }";
        fs::write(folder.path().join("world.wit"), wit).expect("writes");
        let component = wat::parse_str("(component (core module))").expect("a component");
        let annotated = annotate(&component, folder.path()).expect("annotates");
        let expected = [("greet", "Says hello.\n\nLoudly."), ("sums.add", "Adds.")];
        assert_eq!(of(&annotated), expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
        wasmparser::validate(&annotated).expect("still a component");
        // What carries comments keeps them.
        fs::write(folder.path().join("world.wit"), "package a:b;").expect("writes");
        assert_eq!(annotate(&annotated, folder.path()).expect("as it is"), annotated);
    }

    #[test]
    fn wit_that_cannot_be_read_is_an_error_and_garbage_in_the_section_is_no_comment() {
        let folder = tempfile::tempdir().expect("a folder");
        let component = wat::parse_str("(component)").expect("a component");
        assert!(annotate(&component, &folder.path().join("none")).is_err());
        let mut garbage = component;
        append(&mut garbage, b"{\"greet\": 1}");
        assert!(of(&garbage).is_empty());
        assert!(of(b"no component").is_empty());
    }
}
