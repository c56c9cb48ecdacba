//! Lexical normalization of paths.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` from a path without accessing the file system. A name before `..` is removed even if
/// it is a link.
pub fn normalized(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_are_left() {
        for (path, plain) in [("/a/./b/../c", "/a/c"), ("/../a", "/a"), ("a/..", ""), ("/", "/")] {
            assert_eq!(normalized(Path::new(path)), Path::new(plain), "{path}");
        }
    }
}
