//! Parses the section `package-docs`: doc comments of WIT, which some tools embed in components.
//!
//! It consists of a version byte followed by JSON. Both known versions describe functions in the same way, as
//! a text or as an object with the text. Unknown content is ignored, because components also work without
//! comments.

use scorpiox_component_abi::anatomy::Comment;
use serde_json::{Map, Value};

/// Name of the section.
pub(crate) const SECTION: &str = "package-docs";
/// Latest supported version.
const VERSION: u8 = 1;
/// Maximum number of comments: the maximum number of a plugin's tools, for each of several worlds.
const MAX_COMMENTS: usize = 1000;

/// Returns the comments of functions that worlds export, and of those in interfaces. Interfaces have their
/// short names.
pub(crate) fn read(section: &[u8]) -> Vec<Comment> {
    let Some((version, json)) = section.split_first() else { return Vec::new() };
    let parsed = (*version <= VERSION).then(|| serde_json::from_slice::<Value>(json).ok()).flatten();
    let Some(package) = parsed else { return Vec::new() };
    let mut comments = Vec::new();
    for world in members(&package, "worlds").map(|(_, world)| world) {
        functions(&mut comments, None, world, "func_exports");
        functions(&mut comments, None, world, "funcs");
        for part in ["interface_exports", "interfaces"] {
            for (name, interface) in members(world, part) {
                functions(&mut comments, Some(name), interface, "funcs");
            }
        }
    }
    for (name, interface) in members(&package, "interfaces") {
        functions(&mut comments, Some(name), interface, "funcs");
    }
    comments.truncate(MAX_COMMENTS);
    comments
}

fn members<'a>(of: &'a Value, part: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    of.get(part).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn functions(comments: &mut Vec<Comment>, interface: Option<&String>, of: &Value, part: &str) {
    for (function, said) in members(of, part) {
        let text = said.as_str().or_else(|| said.get("docs")?.as_str()).unwrap_or_default().trim();
        if !text.is_empty() && comments.len() < MAX_COMMENTS {
            let (function, text) = (function.clone(), text.to_owned());
            comments.push(Comment { interface: interface.cloned(), function, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(json: &str) -> Vec<(Option<String>, String, String)> {
        let section = [&[1], json.as_bytes()].concat();
        let comment = |Comment { interface, function, text }| (interface, function, text);
        read(&section).into_iter().map(comment).collect()
    }

    #[test]
    fn comments_of_functions_are_found_in_worlds_and_interfaces() {
        let all = r#"{"docs": "x", "worlds": {"w": {"func_exports": {"add": {"docs": " Adds.\n"}}, "funcs": {"old": "Old."},
            "interface_exports": {"inner": {"funcs": {"go": "Goes."}}}}},
            "interfaces": {"sums": {"docs": "x", "funcs": {"sum": {"docs": "Sums."}, "none": {"stability": "x"}}}}}"#;
        let expected = [
            (None, "add", "Adds."),
            (None, "old", "Old."),
            (Some("inner"), "go", "Goes."),
            (Some("sums"), "sum", "Sums."),
        ];
        let owned = expected.map(|(i, f, t)| (i.map(str::to_owned), f.to_owned(), t.to_owned()));
        assert_eq!(found(all), owned);
    }

    #[test]
    fn what_is_no_such_section_gives_none() {
        for json in ["", "[]", "{\"worlds\": 1}", "{\"interfaces\": {\"a\": {\"funcs\": {\"b\": 1}}}}"] {
            assert_eq!(found(json), [], "{json}");
        }
        assert!(read(b"").is_empty() && read(b"\x02{}").is_empty());
    }
}
