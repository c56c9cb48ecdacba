//! Follows a path without looking at anything outside of the folders that may be read.
//!
//! A command can create links in the workspace, and ask a tool for a path through them. If what lies outside decided
//! about the answer, a path such as `link/../../project/README.md` would tell whether the target of `link` exists, is a
//! link, or is closed. Outside, `..` therefore removes the name before it, whatever that is, and nothing else happens.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::{Trail, normalized};

/// Maximum length of a path, as in the kernel: a longer one leads to no file, and each part of it would be looked up.
const MAX_BYTES: usize = 4096;
/// Maximum number of links in a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Result of following a path in some folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// End of the path. Its part inside of the folders passes through no link.
    pub end: PathBuf,
    /// Other names of the end: the given path, that path with its first part resolved, and the path with each further
    /// link but the last replaced by its target.
    pub forms: Vec<PathBuf>,
}

impl Inside {
    /// Follows an absolute path; `reads` returns `true` for paths that may be read. `None` if it is too
    /// long, or has too many links.
    pub fn follow(asked: &Path, reads: &dyn Fn(&Path) -> bool) -> Option<Self> {
        if asked.as_os_str().len() > MAX_BYTES {
            return None;
        }
        let path = entered(asked, reads);
        let mut forms = vec![normalized(asked)];
        if path != asked {
            forms.push(normalized(&path));
        }
        let mut end = root(&path);
        let mut ahead = parts(&path);
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                end.pop();
                continue;
            }
            end.push(&name);
            if !reads(&end) {
                continue;
            }
            let Ok(target) = end.read_link() else { continue };
            links += 1;
            if links > MAX_LINKS {
                return None;
            }
            if links > 1 {
                let rest: PathBuf = ahead.iter().rev().collect();
                forms.push(normalized(&end.join(rest)));
            }
            end.pop();
            if target.has_root() {
                end = if target.is_absolute() { root(&target) } else { root(&end) };
            }
            ahead.extend(parts(&target));
        }
        Some(Self { end, forms })
    }
}

/// Returns the path with its first part resolved, if that leads from outside into a folder that may be read: clients
/// name folders by paths through links of the system or the user (`/tmp`, a home folder that is a link). The target
/// is the only thing that this can tell, and only of links that lead inside.
fn entered(asked: &Path, reads: &dyn Fn(&Path) -> bool) -> PathBuf {
    let mut prefix = PathBuf::new();
    let mut prefixes = Vec::new();
    let mut names = asked.components();
    for name in names.by_ref() {
        match name {
            // Outside, nothing is looked at before it.
            Component::ParentDir => break,
            other => prefix.push(other),
        }
        if reads(&prefix) {
            return asked.to_owned();
        }
        prefixes.push(prefix.clone());
    }
    for prefix in prefixes {
        let led = Trail::follow(&prefix).ok().filter(|trail| {
            !trail.links.is_empty() && trail.left.is_empty() && trail.exists && reads(&trail.end)
        });
        if let (Some(trail), Ok(rest)) = (led, asked.strip_prefix(&prefix)) {
            return trail.end.join(rest);
        }
    }
    asked.to_owned()
}

/// Returns the root of a path, with the drive on systems that have some.
fn root(path: &Path) -> PathBuf {
    path.components().take_while(|part| matches!(part, Component::Prefix(_) | Component::RootDir)).collect()
}

/// Returns the names of a path after its root, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    names.rev().collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Bed {
        _folder: tempfile::TempDir,
        root: PathBuf,
    }

    impl Bed {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().canonicalize().expect("a path");
            for name in ["w/docs/sub", "out/deep/er"] {
                std::fs::create_dir_all(root.join(name)).expect("folders");
            }
            std::fs::write(root.join("w/docs/a"), "a").expect("a file");
            Self { _folder: folder, root }
        }

        fn ends(&self, path: &str) -> Option<PathBuf> {
            let inside = self.root.join("w");
            let followed = Inside::follow(&self.root.join(path), &|path| path.starts_with(&inside))?;
            Some(followed.end.strip_prefix(&self.root).unwrap_or(&followed.end).to_owned())
        }
    }

    #[test]
    fn links_inside_are_followed_as_the_system_does() {
        let bed = Bed::new();
        symlink("docs/sub", bed.root.join("w/in")).expect("a link");
        symlink(bed.root.join("w/docs"), bed.root.join("w/absolute")).expect("a link");
        symlink("loop", bed.root.join("w/loop")).expect("a link");
        for (path, end) in [
            ("w/docs/a", "w/docs/a"),
            ("w/in/../a", "w/docs/a"),
            ("w/absolute/a", "w/docs/a"),
            ("w/none/../docs/./a", "w/docs/a"),
            ("w/../w/docs/a", "w/docs/a"),
        ] {
            assert_eq!(bed.ends(path), Some(end.into()), "{path}");
        }
        assert_eq!(bed.ends("w/loop/a"), None);
    }

    /// Each pair differs only outside of the folder.
    #[test]
    fn nothing_outside_decides_where_a_path_ends() {
        let bed = Bed::new();
        symlink("out/deep/er", bed.root.join("leads")).expect("a link");
        for target in ["out/deep", "none/deep", "leads"] {
            let link = bed.root.join("w/link");
            let _ = std::fs::remove_file(&link);
            symlink(bed.root.join(target), &link).expect("a link");
            for (rest, up) in [("..", 1), ("../..", 2), ("x/../../..", 2)] {
                let depth = Path::new(target).components().count();
                let way = format!("w/link/{rest}/{}", "w/docs/a");
                let expected = (depth == up).then(|| PathBuf::from("w/docs/a"));
                let ends = bed.ends(&way).filter(|end| end.starts_with("w"));
                assert_eq!(ends, expected, "{way} with {target}");
            }
        }
    }

    #[test]
    fn a_link_of_the_user_may_lead_inside() {
        let bed = Bed::new();
        symlink("w", bed.root.join("project")).expect("a link");
        symlink("out/../w", bed.root.join("way")).expect("a link");
        assert_eq!(bed.ends("project/docs/a"), Some("w/docs/a".into()));
        // A rule can be written for the path by which the user reaches the folder.
        let (asked, inside) = (bed.root.join("project/docs/a"), bed.root.join("w"));
        let followed = Inside::follow(&asked, &|path| path.starts_with(&inside)).expect("few links");
        assert_eq!(followed.forms, [asked, inside.join("docs/a")]);
        // Its end depends on what is outside.
        assert_eq!(bed.ends("way/docs/a"), Some("way/docs/a".into()));
        assert_eq!(bed.ends("none/docs/a"), Some("none/docs/a".into()));
    }
}
