//! Reads the lines of several copies and removes duplicates across files.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::rows;
use crate::chain::{Hash, Link};
use crate::read::{Line, Record};

/// Reader for a sequence of copies. Does not verify them.
#[derive(Debug, Default)]
pub struct Copies {
    seen: HashSet<[u8; 32]>,
}

impl Copies {
    /// Passes each line of the file that is not a duplicate to `take`. Rows that are not audit lines are
    /// `Damaged`.
    pub fn read(&mut self, path: &Path, mut take: impl FnMut(Line)) -> io::Result<()> {
        rows::each(path, |text, _| {
            let found = std::str::from_utf8(text).ok().and_then(|text| Some((Record::parse(text)?, text)));
            let Some((record, whole)) = found else { return take(Line::Damaged) };
            // Equal calls have different links. Without a link, lines cannot be duplicates of each other.
            if Link::read(text).is_none() || self.seen.insert(Hash::of(text).bytes()) {
                take(Line::Whole(record, whole.to_owned()));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_given_once_and_without_the_words_before_them() {
        let dir = tempfile::tempdir().unwrap();
        let linked = |tool: &str| {
            let hash = "a".repeat(64);
            format!("{{\"time\":\"2026\",\"tool\":\"{tool}\",\"n\":7,\"prev\":\"{hash}\"}}")
        };
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        let loose = "{\"time\":\"2026\",\"tool\":\"c\"}";
        std::fs::write(&one, format!("Nov 22 host: {}\n\nno line\n{loose}\n{loose}\n", linked("a"))).unwrap();
        std::fs::write(&other, format!("{}\n{}\n{{\"time\":\"20", linked("a"), linked("b"))).unwrap();
        let (mut copies, mut tools) = (Copies::default(), Vec::new());
        for file in [&one, &other] {
            let took = copies.read(file, |line| {
                tools.push(match line {
                    Line::Whole(record, text) if text.starts_with('{') => record.tool,
                    Line::Whole(..) => "(with words)".to_owned(),
                    Line::Damaged => "(none)".to_owned(),
                });
            });
            took.unwrap();
        }
        assert_eq!(tools, ["a", "(none)", "c", "c", "b", "(none)"]);
        assert!(copies.read(dir.path(), |_| ()).is_err());
    }
}
