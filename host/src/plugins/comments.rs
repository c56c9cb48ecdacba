//! Doc comments of WIT as descriptions of tools.
//!
//! None of the languages' tools leaves the comments in the component, so that they are read from the WIT
//! beside it.

use std::collections::BTreeMap;
use std::path::Path;

use wit_parser::{Resolve, WorldItem};

use crate::runtime::tool_name;

/// The comments of the functions that the worlds in a folder of WIT export, by the functions' names as tools.
pub fn comments(wit: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let mut comments = BTreeMap::new();
    let mut add = |name: String, comment: &Option<String>| {
        comments.extend(comment.as_ref().map(|text| (name, text.trim().to_owned())));
    };
    for world in resolve.packages[package].worlds.values() {
        for (key, item) in &resolve.worlds[*world].exports {
            match item {
                WorldItem::Function(function) => add(function.name.clone(), &function.docs.contents),
                WorldItem::Interface { id, .. } => {
                    let interface = resolve.name_world_key(key);
                    for function in resolve.interfaces[*id].functions.values() {
                        add(tool_name(&interface, &function.name), &function.docs.contents);
                    }
                }
                WorldItem::Type { .. } => {}
            }
        }
    }
    Ok(comments)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn comments_have_the_names_of_tools() {
        let folder = tempfile::tempdir().expect("a folder");
        let wit = "package a:b@1.0.0;\n\
                   interface sums {\n /// Adds.\n add: func(a: u32, b: u32) -> u32;\n }\n\
                   world all {\n export sums;\n /// Says hello.\n ///\n /// Loudly.\n export greet: func();\n export plain: func();\n }";
        fs::write(folder.path().join("world.wit"), wit).expect("writes");
        let expected = [("greet", "Says hello.\n\nLoudly."), ("sums.add", "Adds.")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(comments(folder.path()).expect("comments"), expected.into());
    }

    #[test]
    fn wit_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(comments(&folder.path().join("none")).is_err());
        fs::write(folder.path().join("world.wit"), "nothing").expect("writes");
        assert!(comments(folder.path()).is_err());
    }
}
