//! Names that stay closed whatever else a profile opens.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::place::Places;
use crate::problem::{Invalid, shorten};
use crate::source::Source;

/// Longest glob, in bytes; a compiled glob takes some hundred times as much memory.
const MAX_GLOB_BYTES: usize = 512;

/// What a glob is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Workspace,
    Home,
    Root,
}

/// One glob of `deny`, checked and compiled.
#[derive(Debug, Clone)]
pub struct DenyRule {
    glob: String,
    base: Base,
    matcher: GlobSet,
    /// Who wrote it.
    pub source: Source,
}

impl PartialEq for DenyRule {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob && self.source == other.source
    }
}

impl Eq for DenyRule {}

impl DenyRule {
    /// Reads a glob: relative to the workspace, or to `/` or `~/` when it begins so.
    /// `*` and `?` do not match `/`, `**` does; letters match in their own case only.
    pub fn parse(text: &str, source: Source) -> Result<Self, Invalid> {
        let shown = shorten(text);
        let invalid = |why: &str, fix: &str| Err(Invalid::new(format!("glob \"{shown}\" {why}"), fix));
        if text.is_empty() {
            return invalid("is empty", "write a glob such as \"**/.env*\", or remove the entry");
        }
        if text.len() > MAX_GLOB_BYTES {
            return invalid("is longer than 512 bytes", "split it");
        }
        if text.contains(char::is_control) {
            return invalid("has a control character", "write it without");
        }
        if text.split('/').any(|part| part == "." || part == "..") {
            return invalid(
                "has `.` or `..` as a folder",
                "write it relative to the workspace, or from / or ~/",
            );
        }
        let (base, pattern) = split_base(text);
        let pattern = pattern.trim_end_matches('/');
        let matcher = match compile(pattern) {
            Ok(matcher) => matcher,
            Err(why) => return invalid(&format!("is not valid: {why}"), "write a glob such as \"**/.env*\""),
        };
        if pattern.is_empty() || matches_everything(&matcher) {
            return invalid("matches everything", "leave the folder out of `read` and `write` instead");
        }
        Ok(Self { glob: text.to_owned(), base, matcher, source })
    }

    /// The glob as written.
    pub fn glob(&self) -> &str {
        &self.glob
    }
}

fn split_base(text: &str) -> (Base, &str) {
    if let Some(rest) = text.strip_prefix("~/") {
        (Base::Home, rest)
    } else if let Some(rest) = text.strip_prefix('/') {
        (Base::Root, rest)
    } else {
        (Base::Workspace, text)
    }
}

fn compile(pattern: &str) -> Result<GlobSet, String> {
    // A set of one, since a single matcher panics where a set returns an error.
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|e| e.kind().to_string())?;
    GlobSetBuilder::new().add(glob).build().map_err(|e| e.kind().to_string())
}

/// Tried on names that have nothing in common, so `?*` and `{*,x}` are found too.
fn matches_everything(matcher: &GlobSet) -> bool {
    let names = ["a", "Q7.tar", ".h", "0_0", "~-é"];
    let deep = ["a/.h", "Q7/b", ".h/0", "0_0/a.b", "~/é-"];
    names.iter().all(|name| matcher.is_match(name)) || deep.iter().all(|name| matcher.is_match(name))
}

/// The first rule that closes `relative`, a path relative to the workspace, or a folder above it. Rules
/// from `/` and `~/` are for [`first_at`].
pub(crate) fn first<'a>(rules: &'a [DenyRule], relative: &Path) -> Option<&'a DenyRule> {
    rules.iter().find(|rule| rule.base == Base::Workspace && covers(rule, relative))
}

/// The first rule of any kind that closes `path`, an absolute and resolved path.
pub(crate) fn first_at<'a>(rules: &'a [DenyRule], path: &Path, places: &Places) -> Option<&'a DenyRule> {
    let covered = |rule: &&DenyRule| {
        let base = match rule.base {
            Base::Workspace => Some(places.workspace.as_path()),
            Base::Home => places.home.as_deref(),
            Base::Root => Some(Path::new("/")),
        };
        base.and_then(|base| path.strip_prefix(base).ok()).is_some_and(|rest| covers(rule, rest))
    };
    rules.iter().find(covered)
}

/// Some rules, to be asked about many paths.
#[derive(Debug, Clone, Default)]
pub struct DenySet {
    rules: Vec<DenyRule>,
}

impl DenySet {
    /// A set of these rules.
    pub fn new(rules: &[DenyRule]) -> Self {
        Self { rules: rules.to_vec() }
    }

    /// The first rule that closes `relative`, a path relative to the workspace, or a
    /// folder above it. Rules from `/` and `~/` are for [`matches_at`](Self::matches_at).
    pub fn matches(&self, relative: &Path) -> Option<&DenyRule> {
        first(&self.rules, relative)
    }

    /// The first rule of any kind that closes `path`, an absolute and resolved path.
    pub fn matches_at(&self, path: &Path, places: &Places) -> Option<&DenyRule> {
        first_at(&self.rules, path, places)
    }
}

/// Whether the rule matches the path or a folder above it.
fn covers(rule: &DenyRule, relative: &Path) -> bool {
    let mut path = PathBuf::new();
    let mut found = false;
    for part in relative.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => _ = path.pop(),
            _ => continue,
        }
        found |= !path.as_os_str().is_empty() && rule.matcher.is_match(&path);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(globs: &[&str]) -> DenySet {
        let rules: Vec<_> = globs.iter().map(|g| DenyRule::parse(g, Source::Builtin).unwrap()).collect();
        DenySet::new(&rules)
    }

    #[track_caller]
    fn refused(glob: &str) -> String {
        DenyRule::parse(glob, Source::Builtin).unwrap_err().to_string()
    }

    #[test]
    fn a_glob_for_any_depth_matches_at_the_top_too() {
        let env = set(&["**/.env*"]);
        for name in [".env", ".env.local", "a/.env", "a/b/.envrc", ".env/key", "./.env", "a/../.env"] {
            assert!(env.matches(Path::new(name)).is_some(), "{name}");
        }
        for name in ["", "env", "a.env", ".ENV", "x/env/y"] {
            assert!(env.matches(Path::new(name)).is_none(), "{name}");
        }
    }

    #[test]
    fn a_star_stays_in_its_folder_and_a_folder_covers_all_below_it() {
        let keys = set(&["*.pem", "secrets/"]);
        assert!(keys.matches(Path::new("a.pem")).is_some());
        assert!(keys.matches(Path::new("x/a.pem")).is_none());
        assert_eq!(keys.matches(Path::new("secrets/deep/key")).unwrap().glob(), "secrets/");
        assert!(keys.matches(Path::new("secrets-not")).is_none());
    }

    #[test]
    fn globs_from_the_root_and_from_home_speak_of_absolute_paths() {
        let places = Places::standard("/w".into(), Some("/home/me".into()), Path::new("/home/me/.scorpiox"));
        let keys = set(&["/srv/*/key", "~/.ssh", "*.pem"]);
        let matched = |path: &str| keys.matches_at(Path::new(path), &places).map(DenyRule::glob);
        assert_eq!(matched("/srv/a/key"), Some("/srv/*/key"));
        assert_eq!(matched("/home/me/.ssh/id"), Some("~/.ssh"));
        assert_eq!(matched("/w/a.pem"), Some("*.pem"));
        assert_eq!(matched("/elsewhere/a.pem"), None);
        assert!(keys.matches(Path::new("srv/a/key")).is_none());
    }

    #[test]
    fn globs_that_cannot_be_meant_are_refused() {
        for glob in ["*", "**", "**/*", "/**", "~/", "/", "~/**", "?*", "{*,x}", "*/*", "**/**"] {
            assert_eq!(
                refused(glob),
                format!(
                    "glob \"{glob}\" matches everything; leave the folder out of `read` and `write` instead"
                )
            );
        }
        assert!(refused("a[").starts_with("glob \"a[\" is not valid: unclosed character class"));
        assert!(refused("").contains("is empty"));
        assert!(refused("../x").contains("has `.` or `..` as a folder"));
        assert!(refused("a\0").contains("control character"));
        assert!(refused(&"a".repeat(513)).contains("longer than 512 bytes"));
    }

    proptest::proptest! {
        #[test]
        fn any_glob_and_path_are_taken_without_panic(glob in "[a*?/\\[\\]{},!\\\\.~é^-]{0,12}", path in "[a/.é]{0,8}") {
            if let Ok(rule) = DenyRule::parse(&glob, Source::Builtin) {
                _ = DenySet::new(&[rule]).matches(Path::new(&path));
            }
        }
    }
}
