//! Parses a small YAML file into a tree, within limits.
//!
//! The parser emits events and never recurses, so depth and size are counted before anything is stored. Anchors are
//! refused: an alias could make the tree larger than any limit of the file.

use anyhow::{Result, bail, ensure};
use saphyr_parser::{Event, Parser};

/// Maximum size of a file in bytes.
pub(super) const MAX_BYTES: u64 = 64 * 1024;
/// Maximum nesting depth.
const MAX_DEPTH: usize = 16;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Scalar(String),
    List(Vec<Node>),
    /// Members in the order of the file.
    Map(Vec<(String, Node)>),
}

/// An unfinished list or mapping.
enum Open {
    List(Vec<Node>),
    Map(Vec<(String, Node)>, Option<String>),
}

/// Parses the first document of a text. An empty text is an empty mapping.
pub(super) fn parse(text: &str) -> Result<Node> {
    let (mut open, mut root) = (Vec::new(), Node::Map(Vec::new()));
    for event in Parser::new_from_str(text) {
        let (event, _) = event?;
        ensure!(open.len() <= MAX_DEPTH, "it is nested more than {MAX_DEPTH} levels deep");
        let done = match event {
            Event::DocumentEnd => break,
            Event::Alias(_) => bail!("it has an alias (*); write the value itself"),
            Event::Scalar(text, ..) => Node::Scalar(text.into_owned()),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Node::List(items),
                Some(Open::Map(members, _)) => Node::Map(members),
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            None => root = done,
            Some(Open::List(items)) => items.push(done),
            Some(Open::Map(members, key)) => match (key.take(), done) {
                (None, Node::Scalar(name)) => {
                    ensure!(
                        !members.iter().any(|(known, _)| *known == name),
                        "it has the key {name:?} twice"
                    );
                    *key = Some(name);
                }
                (None, _) => bail!("a key is a list or a mapping; write a name"),
                (Some(name), done) => members.push((name, done)),
            },
        }
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_lists_and_scalars_keep_their_order() {
        let scalar = |text: &str| Node::Scalar(text.to_owned());
        let expected = Node::Map(vec![
            ("b".to_owned(), Node::List(vec![scalar("x"), scalar("1")])),
            ("a".to_owned(), Node::Map(vec![("c".to_owned(), scalar("two words"))])),
        ]);
        assert_eq!(parse("b: [x, 1] # note\na:\n  c: \"two words\"\n").expect("YAML"), expected);
        assert_eq!(parse("").expect("YAML"), Node::Map(Vec::new()));
    }

    #[test]
    fn what_would_grow_or_is_ambiguous_is_an_error() {
        for (text, expected) in [
            ("a: &x [1]\nb: *x\n", "alias"),
            ("a: 1\na: 2\n", "the key \"a\" twice"),
            ("[a]: 1\n", "a key is a list"),
            (&"[".repeat(100), "levels deep"),
            ("a: [1", ""),
        ] {
            let error = parse(text).expect_err("an error").to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
