//! Deny rules: globs for paths that stay denied inside the allowed places.

mod below;
mod matcher;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::rule::invalid::{Invalid, shorten};
use crate::rule::place::{PLACE_NAMES, Place, Places, slashed};
use crate::rule::source::Source;
pub use below::{Begun, DeniedBelow};
use matcher::{Matcher, has_wildcard};

/// Maximum length of a glob, in bytes. A compiled glob takes some hundred times as much memory.
const MAX_GLOB_BYTES: usize = 512;

/// Base folders of a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// Each folder that the policy allows: see [`DenySet::new`].
    Folders,
    Home,
    /// Each of those folders, and the root of the file system; on Windows, the root of each drive.
    Roots,
}

/// A glob of `deny`, validated and compiled.
#[derive(Debug, Clone)]
pub struct DenyRule {
    glob: String,
    base: Base,
    matcher: Matcher,
    /// Path components before the first wildcard; `tail` matches the components after them.
    named: PathBuf,
    tail: Option<Matcher>,
    /// Places that the glob is relative to, if they differ from those of the current profile.
    within: Option<Vec<Place>>,
    /// Source of the rule.
    pub source: Source,
}

impl PartialEq for DenyRule {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob && self.within == other.within && self.source == other.source
    }
}

impl Eq for DenyRule {}

impl DenyRule {
    /// Parses a glob.
    ///
    /// - A single name, such as `secrets/` or `*.pem`, matches at any depth of each allowed folder.
    /// - A glob with an inner `/` is relative to each of those folders.
    /// - A glob that begins with `/` is relative to each of those folders, and to the root of the file
    ///   system.
    /// - A glob that begins with `~/` is relative to the home folder.
    ///
    /// `*` and `?` do not match `/`; `**` does. `!(a|b)` at the end of the last name stands for anything but `a` and `b`,
    /// which may have `*` and `?`. Matching ignores case, as the most permissive file systems do.
    pub fn parse(text: &str, source: Source) -> Result<Self, Invalid> {
        let shown = shorten(text);
        let invalid = |why: &str, fix: &str| Err(Invalid::new(format!("glob \"{shown}\" {why}"), fix));
        let (written, text) = (text, &*slashed(text));
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
                "write it relative to the folder, or from / or ~/",
            );
        }
        let first = text.split('/').next().unwrap_or_default();
        if PLACE_NAMES.contains(&first) {
            let what = "begins with the name of a place, which stands for none in a glob";
            return invalid(
                what,
                "write it relative to the folder: \"secrets/\" for the one in the workspace",
            );
        }
        if is_variable(first) {
            return invalid(
                "has a variable, which nothing replaces",
                "write the path, or one that begins with ~/",
            );
        }
        if text.trim() != text || text.split('/').any(|part| part.trim() != part) {
            return invalid("has a blank at the beginning or end of a name", "write it without");
        }
        if text.starts_with('!') {
            return invalid("begins with `!`", "write what is denied: nothing is taken out of it again");
        }
        if cfg!(windows) && text.contains(':') {
            return invalid("has a `:`", "write it from / without the drive: it holds on each drive");
        }
        if text.starts_with('~') && !text.starts_with("~/") {
            return invalid("names another's home folder", "write its path, from /");
        }
        let (base, pattern) = split_base(text);
        let pattern = pattern.trim_end_matches('/');
        let at_any_depth;
        let pattern = if base == Base::Folders && !pattern.is_empty() && !pattern.contains('/') {
            at_any_depth = format!("**/{pattern}");
            &*at_any_depth
        } else {
            pattern
        };
        let matcher = match Matcher::new(pattern) {
            Ok(matcher) => matcher,
            Err(why) => return invalid(&format!("is not valid: {why}"), "write a glob such as \"**/.env*\""),
        };
        if pattern.is_empty() || matches_everything(&matcher) {
            return invalid("matches everything", "leave the folder out of `read` and `write` instead");
        }
        let (named, tail) = split_named(pattern);
        // Parts of a valid glob are valid, except when braces or brackets span several components.
        let tail = tail.map(|tail| Matcher::new(&tail)).transpose();
        let tail = match tail {
            Ok(tail) => tail,
            Err(why) => return invalid(&format!("is not valid: {why}"), "write `{` and `[` within one name"),
        };
        Ok(Self { glob: written.to_owned(), base, matcher, named, tail, within: None, source })
    }

    /// Returns the glob as written.
    pub fn glob(&self) -> &str {
        &self.glob
    }

    /// Returns the path that a glob from `/` or `~/` names before its first wildcard. If this path leads
    /// through a symbolic link, the glob also applies at its target; see [`Places::real`].
    pub fn head(&self, places: &Places) -> Option<PathBuf> {
        match self.base {
            Base::Folders => None,
            Base::Home => Some(places.home.as_ref()?.join(&self.named)),
            Base::Roots => Some(places.root().join(&self.named)),
        }
    }

    /// Returns `true` if the glob from `/` or `~/` has no wildcard and names this path.
    pub fn names_only(&self, path: &Path, places: &Places) -> bool {
        self.tail.is_none() && self.head(places).is_some_and(|head| head == path)
    }

    /// Returns `true` if the glob has components before its first wildcard.
    pub fn has_head(&self) -> bool {
        !self.named.as_os_str().is_empty()
    }

    /// Ties the glob to these places, regardless of the profile it is used in.
    #[must_use]
    pub fn tied_to(&self, places: &[Place]) -> Self {
        let within = match self.base {
            Base::Folders | Base::Roots => Some(self.within.clone().unwrap_or_else(|| places.to_vec())),
            Base::Home => None,
        };
        Self { within, ..self.clone() }
    }

    /// Returns `true` if the other rule denies at least the same paths.
    pub fn says_no_more_than(&self, other: &Self) -> bool {
        self.glob == other.glob && self.within == other.within
    }
}

fn split_base(text: &str) -> (Base, &str) {
    if let Some(rest) = text.strip_prefix("~/") {
        (Base::Home, rest)
    } else if let Some(rest) = text.strip_prefix('/') {
        (Base::Roots, rest)
    } else {
        (Base::Folders, text)
    }
}

/// Splits a pattern at the first component with a wildcard.
fn split_named(pattern: &str) -> (PathBuf, Option<String>) {
    let parts: Vec<&str> = pattern.split('/').collect();
    let first = parts.iter().position(|part| has_wildcard(part)).unwrap_or(parts.len());
    let (named, rest) = parts.split_at(first);
    (named.iter().collect(), (!rest.is_empty()).then(|| rest.join("/")))
}

/// Returns `true` if a glob matches everything. Probes it with names that have nothing in common, so that
/// `?*` and `{*,x}` are found too.
fn matches_everything(matcher: &Matcher) -> bool {
    let names = ["a", "Q7.tar", ".h", "0_0", "~-é"];
    let deep = ["a/.h", "Q7/b", ".h/0", "0_0/a.b", "~/é-"];
    names.iter().all(|name| matcher.is_match(name)) || deep.iter().all(|name| matcher.is_match(name))
}

/// Deny rules with their base folders. All checks of denied paths use this type: for commands, for plugins,
/// for tools that read files, and for `policy why`.
#[derive(Debug, Clone, Default)]
pub struct DenySet {
    rules: Vec<Based>,
}

/// A rule with its base folders.
#[derive(Debug, Clone)]
struct Based {
    rule: DenyRule,
    /// Folders that the glob is relative to.
    bases: Arc<[PathBuf]>,
    /// Resolved paths of the glob's leading components, if these pass through a symbolic link.
    real: Vec<PathBuf>,
}

impl Based {
    fn closes(&self, path: &Path) -> bool {
        if self.rule.base == Base::Roots && covers(&self.rule.matcher, path) {
            return true;
        }
        let mut inside = self.bases.iter().filter_map(|base| path.strip_prefix(base).ok());
        if inside.any(|inside| covers(&self.rule.matcher, inside)) {
            return true;
        }
        let mut inside = self.real.iter().filter_map(|real| path.strip_prefix(real).ok());
        inside.any(|inside| self.rule.tail.as_ref().is_none_or(|tail| covers(tail, inside)))
    }

    /// Returns the paths that the glob names before its first wildcard.
    fn heads(&self, places: &Places) -> impl Iterator<Item = PathBuf> {
        let DenyRule { named, base, .. } = &self.rule;
        let is_named = self.rule.has_head();
        let from_root = (is_named && *base == Base::Roots).then(|| places.root().join(named));
        self.bases.iter().filter(move |_| is_named).map(move |base| base.join(named)).chain(from_root)
    }
}

impl DenySet {
    /// Creates a set. Relative globs apply in `folders`, which have to be absolute and resolved.
    pub fn new(rules: &[DenyRule], folders: &[PathBuf], places: &Places) -> Self {
        let folders: Arc<[PathBuf]> = folders.into();
        let based = rules.iter().map(|rule| {
            let opened = || match &rule.within {
                Some(within) => folders_of(within, places).into(),
                None => Arc::clone(&folders),
            };
            let bases = match rule.base {
                Base::Folders | Base::Roots => opened(),
                Base::Home => places.home.iter().cloned().collect(),
            };
            let mut held = Based { rule: rule.clone(), bases, real: Vec::new() };
            let opened = rule.head(places).and_then(|head| places.real.get(&head).cloned());
            held.real = held.heads(places).filter_map(|head| places.leads.get(&head).cloned()).collect();
            held.real.extend(opened);
            held
        });
        Self { rules: based.collect() }
    }

    /// Returns the paths that the globs name before their first wildcards. A path that is a symbolic link
    /// appears as resolved in `places`.
    pub fn heads(&self, places: &Places) -> Vec<PathBuf> {
        self.rules.iter().flat_map(|based| based.heads(places)).collect()
    }

    /// Creates a set. Relative globs apply in the folders of the places `within`.
    pub fn at(rules: &[DenyRule], within: &[Place], places: &Places) -> Self {
        Self::new(rules, &folders_of(within, places), places)
    }

    /// Returns the first rule that denies `path` or a folder above it. The path has to be absolute and
    /// resolved.
    pub fn matches(&self, path: &Path) -> Option<&DenyRule> {
        self.rules.iter().find(|based| based.closes(path)).map(|based| &based.rule)
    }
}

fn folders_of(within: &[Place], places: &Places) -> Vec<PathBuf> {
    within.iter().flat_map(|place| places.folders(place)).collect()
}

/// Returns `true` if a name is a variable of a shell, such as `$HOME`, `${HOME}` or `%USERPROFILE%`.
fn is_variable(name: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    let between = |start: &str, end: &str| name.strip_prefix(start)?.strip_suffix(end);
    name.starts_with("${") || between("$", "").is_some_and(is_name) || between("%", "%").is_some_and(is_name)
}

/// Returns `true` if a glob matches the path or a folder above it.
fn covers(matcher: &Matcher, relative: &Path) -> bool {
    let mut path = PathBuf::new();
    let mut found = false;
    for part in relative.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => _ = path.pop(),
            _ => continue,
        }
        found |= !path.as_os_str().is_empty() && matcher.is_match(&path);
    }
    found
}

#[cfg(test)]
mod tests;
