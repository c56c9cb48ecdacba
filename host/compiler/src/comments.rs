//! Extracts doc comments from WIT.
//!
//! The input are the texts of a WIT directory, because a worker cannot open files: the names and texts of
//! each package's files, starting with the directory's own package. The output are the comments of the
//! functions that its worlds export.

use std::path::Path;

use anyhow::{Context as _, Result};
use wit_parser::{Resolve, SourceMap, UnresolvedPackageGroup, WorldItem};

/// Files of a package: their names and texts.
type Package = Vec<(String, String)>;
/// Interface of the function, if it belongs to one; name of the function; its comment.
type Comment = (Option<String>, String, String);

/// Extracts the comments of packages; both input and output are JSON.
pub(crate) fn run(packages: &[u8]) -> Result<Vec<u8>> {
    let packages: Vec<Package> = serde_json::from_slice(packages)?;
    Ok(serde_json::to_vec(&comments(packages)?)?)
}

fn comments(packages: Vec<Package>) -> Result<Vec<Comment>> {
    let mut groups = packages.into_iter().map(parse).collect::<Result<Vec<_>>>()?.into_iter();
    let main = groups.next().context("there is no WIT")?;
    // Without this, items behind `@unstable` do not exist, although a component may export them.
    let mut resolve = Resolve { all_features: true, ..Resolve::default() };
    let package = resolve.push_groups(main, groups.collect())?;
    let mut comments = Vec::new();
    let mut add = |interface: Option<&str>, name: &str, comment: &Option<String>| {
        let comment = comment.as_ref().map(|text| text.trim().to_owned());
        comments.extend(comment.map(|text| (interface.map(str::to_owned), name.to_owned(), text)));
    };
    for world in resolve.packages[package].worlds.values() {
        for (key, item) in &resolve.worlds[*world].exports {
            match item {
                WorldItem::Function(function) => add(None, &function.name, &function.docs.contents),
                WorldItem::Interface { id, .. } => {
                    let interface = resolve.name_world_key(key);
                    for function in resolve.interfaces[*id].functions.values() {
                        add(Some(&interface), &function.name, &function.docs.contents);
                    }
                }
                WorldItem::Type { .. } => {}
            }
        }
    }
    Ok(comments)
}

fn parse(package: Package) -> Result<UnresolvedPackageGroup> {
    let mut sources = SourceMap::default();
    for (name, text) in package {
        sources.push(Path::new(&name), text);
    }
    sources.parse().map_err(|(sources, error)| {
        anyhow::anyhow!("{}: {error}", sources.render_location(error.kind().span()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn comments_say_whose_they_are() {
        let one = file(
            "one.wit",
            "package a:b@1.0.0;\ninterface sums {\n use c:d/types.{n};\n /// Adds.\n add: func(a: n) -> n;\n }",
        );
        let two = file(
            "two.wit",
            "world all {\n export sums;\n /// Says hello.\n ///\n /// Loudly.\n export greet: func();\n export plain: func();\n }",
        );
        let other = file("types.wit", "package c:d;\ninterface types { type n = u32; }");
        let found = comments(vec![vec![one, two], vec![other]]).expect("comments");
        let expected = [(None, "greet", "Says hello.\n\nLoudly."), (Some("a:b/sums@1.0.0"), "add", "Adds.")];
        let owned = |(interface, name, text): (Option<&str>, &str, &str)| {
            (interface.map(str::to_owned), name.to_owned(), text.to_owned())
        };
        assert_eq!(found.len(), 2);
        assert!(expected.map(owned).iter().all(|comment| found.contains(comment)), "{found:?}");
    }

    #[test]
    fn unstable_functions_have_comments_as_well() {
        let text =
            "package a:b;\nworld w {\n /// Tries.\n @unstable(feature = x)\n export try-it: func();\n }";
        let found = comments(vec![vec![file("a.wit", text)]]).expect("comments");
        assert_eq!(found, [(None, "try-it".to_owned(), "Tries.".to_owned())]);
    }

    #[test]
    fn wit_that_cannot_be_read_is_an_error() {
        assert!(comments(Vec::new()).is_err());
        assert!(comments(vec![Vec::new()]).is_err());
        let error = comments(vec![vec![file("world.wit", "nothing")]]).expect_err("an error");
        assert!(error.to_string().contains("world.wit"), "{error}");
        assert!(run(b"[").is_err());
    }
}
