//! Where a path leads, link by link.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Links that are followed one after the other, as the kernel does.
const MAX_LINKS: usize = 40;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    /// The links on the way, in their order, each at a path that passes through no link.
    pub links: Vec<PathBuf>,
    /// The end, at a path that passes through no link as far as it exists.
    pub end: PathBuf,
    /// Whether the end exists.
    pub exists: bool,
}

impl Trail {
    /// Follows an absolute path. An error is one of the system but that something does not exist,
    /// or a path with more links than the kernel follows.
    pub fn follow(path: &Path) -> io::Result<Self> {
        let mut trail = Self { links: Vec::new(), end: PathBuf::from("/"), exists: true };
        let mut ahead = parts(path);
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                trail.end.pop();
                continue;
            }
            let next = trail.end.join(&name);
            if !trail.exists {
                trail.end = next;
                continue;
            }
            match next.symlink_metadata() {
                Ok(found) if found.is_symlink() => {
                    if trail.links.len() == MAX_LINKS {
                        return Err(io::Error::other("too many links"));
                    }
                    let target = next.read_link()?;
                    trail.links.push(next);
                    if target.is_absolute() {
                        trail.end = PathBuf::from("/");
                    }
                    for part in parts(&target).into_iter().rev() {
                        ahead.push_front(part);
                    }
                }
                Ok(_) => trail.end = next,
                Err(error) if is_absence(&error) => {
                    trail.exists = false;
                    trail.end = next;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(trail)
    }
}

/// Whether an error says that there is nothing.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_of_a_chain_is_named_and_what_is_missing_at_its_end() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink(root.join("c/deep/../x"), root.join("b")).unwrap();
        symlink("real", root.join("c")).unwrap();
        let trail = Trail::follow(&root.join("a")).unwrap();
        assert_eq!(trail.links, [root.join("a"), root.join("b"), root.join("c")]);
        assert_eq!((trail.end, trail.exists), (root.join("real/x"), false));
        let trail = Trail::follow(&root.join("c/deep")).unwrap();
        assert_eq!((trail.end, trail.exists), (root.join("real/deep"), true));
        symlink("loop", root.join("loop")).unwrap();
        assert!(Trail::follow(&root.join("loop/x")).is_err());
    }
}
