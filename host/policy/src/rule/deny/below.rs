//! Tracks how far globs match the path of a folder. `conf/*.key` denies files in a folder because it is
//! reached under the name `conf`, wherever the folder really is.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::matcher::Matcher;
use super::{Base, Based, DenySet, split_base, split_named};
use crate::rule::place::slashed;

/// Globs with folder components, split into their components.
#[derive(Debug, Clone, Default)]
pub struct DeniedBelow {
    globs: Vec<Parted>,
}

/// A partial match of a glob by the path of a folder: the indices of the glob, of its base folder, and of the
/// next component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Begun(usize, usize, usize);

#[derive(Debug, Clone)]
struct Parted {
    /// `None` if a component has no meaning on its own, as in `{a/b,c}/d`.
    parts: Option<Vec<Part>>,
    bases: Vec<PathBuf>,
    /// `true` if the glob also applies from the root of the file system.
    from_root: bool,
}

#[derive(Debug, Clone)]
enum Part {
    /// `**`
    Folders,
    Name(Matcher),
}

impl DenySet {
    /// Collects the globs that deny files because of the folders that lead to them.
    pub fn below(&self) -> DeniedBelow {
        DeniedBelow { globs: self.rules.iter().flat_map(Parted::of).collect() }
    }
}

impl DeniedBelow {
    /// Returns the partial matches of all globs by the path of a folder, or of a link to it. Empty if only
    /// globs for any depth apply. Two paths with equal results have the same denied paths below them.
    pub fn begun(&self, folder: &Path) -> Vec<Begun> {
        let mut begun = Vec::new();
        for (number, glob) in self.globs.iter().enumerate() {
            let from_root = glob.from_root.then_some(folder);
            let inside = glob.bases.iter().map(|base| folder.strip_prefix(base).ok());
            for (base, inside) in inside.chain([from_root]).enumerate() {
                let Some(inside) = inside else { continue };
                begun.extend(glob.begun(inside).into_iter().map(|part| Begun(number, base, part)));
            }
        }
        begun
    }
}

impl Parted {
    fn of(placed: &Based) -> Vec<Self> {
        let text = slashed(&placed.rule.glob);
        let (base, pattern) = split_base(&text);
        let pattern = pattern.trim_end_matches('/');
        let bases = placed.bases.to_vec();
        let mut globs = vec![Self { parts: parts(pattern), bases, from_root: base == Base::Roots }];
        if let (false, (_, Some(tail))) = (placed.real.is_empty(), split_named(pattern)) {
            globs.push(Self { parts: parts(&tail), bases: placed.real.clone(), from_root: false });
        }
        globs.retain(Self::has_folders);
        globs
    }

    /// Returns `true` if any component other than `**` precedes the last one.
    fn has_folders(&self) -> bool {
        let Some(parts) = &self.parts else { return true };
        parts
            .split_last()
            .is_some_and(|(_, folders)| folders.iter().any(|part| matches!(part, Part::Name(_))))
    }

    /// Returns the numbers of components that a path can have matched, over all partial matches.
    fn begun(&self, inside: &Path) -> Vec<usize> {
        let Some(parts) = &self.parts else { return vec![0] };
        let mut met = vec![false; parts.len() + 1];
        met[0] = true;
        skip_folders(parts, &mut met);
        for name in inside.components() {
            let Component::Normal(name) = name else { continue };
            met = step(parts, &met, name);
        }
        let is_begun = |at: &usize| {
            let (before, _) = parts.split_at(*at);
            met.get(*at) == Some(&true) && before.iter().any(|part| matches!(part, Part::Name(_)))
        };
        (1..parts.len()).filter(is_begun).collect()
    }
}

/// Advances a partial match by one path component.
fn step(parts: &[Part], met: &[bool], name: &OsStr) -> Vec<bool> {
    let mut next = vec![false; met.len()];
    for (at, part) in parts.iter().enumerate().filter(|(at, _)| met.get(*at) == Some(&true)) {
        match part {
            Part::Folders => next[at] = true,
            Part::Name(glob) => next[at + 1] |= glob.is_match(name),
        }
    }
    skip_folders(parts, &mut next);
    next
}

/// Lets `**` match zero folders.
fn skip_folders(parts: &[Part], met: &mut [bool]) {
    for (at, part) in parts.iter().enumerate() {
        met[at + 1] |= met[at] && matches!(part, Part::Folders);
    }
}

fn parts(pattern: &str) -> Option<Vec<Part>> {
    let part = |part: &str| match part {
        "**" => Some(Part::Folders),
        name => Matcher::new(name).ok().map(Part::Name),
    };
    pattern.split('/').map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::place::Places;
    use crate::rule::source::Source;
    use crate::rule::{DenyRule, DenySet};

    fn below(globs: &[&str]) -> DeniedBelow {
        let rules: Vec<_> = globs.iter().map(|g| DenyRule::parse(g, Source::Builtin).unwrap()).collect();
        let places = Places::standard("/w".into(), Some("/home/me".into()), Path::new("/home/me/.scorpiox"));
        DenySet::new(&rules, &["/w".into()], &places).below()
    }

    #[test]
    fn a_glob_is_begun_by_the_folders_that_it_names() {
        for (glob, folders, others) in [
            ("conf/*.key", &["/w/conf", "/w/CONF"][..], &["/w", "/w/a/conf", "/w/conf/a", "/conf"][..]),
            ("conf/a?/x/*.key", &["/w/conf", "/w/conf/ab", "/w/conf/ab/x"], &["/w/conf/b", "/w/conf/ab/y"]),
            ("conf/**/x.key", &["/w/conf", "/w/conf/a/b"], &["/w", "/w/a"]),
            ("**/conf/*.key", &["/w/conf", "/w/a/conf", "/w/conf/conf"], &["/w", "/w/a", "/w/conf/a"]),
            ("**/a/**/b", &["/w/a", "/w/x/a/y/z"], &["/w/x"]),
            ("~/conf/*.key", &["/home/me/conf"], &["/w/conf", "/home/me"]),
            ("/srv/*/key", &["/srv", "/srv/a", "/w/srv", "/w/srv/a"], &["/", "/srv/a/b", "/x/srv"]),
            // Its components cannot be matched one by one.
            ("{a/b,c}/d", &["/w", "/w/x"], &["/x"]),
        ] {
            let below = below(&[glob]);
            for folder in folders {
                assert!(!below.begun(Path::new(folder)).is_empty(), "{glob}: {folder}");
            }
            for folder in others {
                assert!(below.begun(Path::new(folder)).is_empty(), "{glob}: {folder}");
            }
        }
    }

    #[test]
    fn globs_at_any_depth_hold_wherever_a_folder_is() {
        let below = below(&["**/.env*", "*.pem", "secrets/", "~/x", "/x", "**/**/y"]);
        assert!(below.globs.is_empty());
    }

    #[test]
    fn folders_below_which_the_same_is_denied_are_told_by_that() {
        let below = below(&["conf/**/x.key", "conf/a/*.pem"]);
        let begun = |folder: &str| below.begun(Path::new(folder));
        assert_eq!(begun("/w/conf/b"), begun("/w/conf/b/c"));
        assert_ne!(begun("/w/conf/a"), begun("/w/conf/b"));
    }
}
