//! Names that stay closed whatever else a profile opens.

mod below;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::invalid::{Invalid, shorten};
use crate::place::{Place, Places, slashed};
use crate::source::Source;
pub use below::{Begun, DeniedBelow};

/// Longest glob, in bytes; a compiled glob takes some hundred times as much memory.
const MAX_GLOB_BYTES: usize = 512;

/// What a glob is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// Each folder that the policy opens: see [`DenySet::new`].
    Folders,
    Home,
    /// Each of those folders, and the machine's own root: on Windows that of each drive.
    Roots,
}

/// One glob of `deny`, checked and compiled.
#[derive(Debug, Clone)]
pub struct DenyRule {
    glob: String,
    base: Base,
    matcher: GlobSet,
    /// Of a glob with a beginning: the folders that it names, and what it says of what is in there.
    named: PathBuf,
    tail: Option<GlobSet>,
    /// The places that it is relative to, when not those of the profile that it is in now.
    within: Option<Vec<Place>>,
    /// Who wrote it.
    pub source: Source,
}

impl PartialEq for DenyRule {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob && self.within == other.within && self.source == other.source
    }
}

impl Eq for DenyRule {}

impl DenyRule {
    /// Reads a glob. A name alone, such as `secrets/` or `*.pem`, is meant at any depth of each folder
    /// that is opened. One with a `/` inside is relative to each of those folders; one that begins with `/`
    /// is, too, and to the machine's root; one that begins with `~/` to the home folder. `*` and `?` do
    /// not match `/`, `**` does; letters of both cases match, as on the least particular disk.
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
        let matcher = match compile(pattern) {
            Ok(matcher) => matcher,
            Err(why) => return invalid(&format!("is not valid: {why}"), "write a glob such as \"**/.env*\""),
        };
        if pattern.is_empty() || matches_everything(&matcher) {
            return invalid("matches everything", "leave the folder out of `read` and `write` instead");
        }
        let (named, tail) = split_named(pattern);
        // Of a whole glob that is valid each part is.
        let tail = tail.map(|tail| compile(&tail)).transpose();
        let tail = match tail {
            Ok(tail) => tail,
            Err(why) => return invalid(&format!("is not valid: {why}"), "write `{` and `[` within one name"),
        };
        Ok(Self { glob: written.to_owned(), base, matcher, named, tail, within: None, source })
    }

    /// The glob as written.
    pub fn glob(&self) -> &str {
        &self.glob
    }

    /// The folder or file that a glob from `/` or `~/` names before its first wildcard: where that leads
    /// through a link, the glob holds there too, as [`Places::real`] says.
    pub fn head(&self, places: &Places) -> Option<PathBuf> {
        match self.base {
            Base::Folders => None,
            Base::Home => Some(places.home.as_ref()?.join(&self.named)),
            Base::Roots => Some(places.root().join(&self.named)),
        }
    }

    /// Reports whether the glob names a folder or file before its first wildcard.
    pub fn has_head(&self) -> bool {
        !self.named.as_os_str().is_empty()
    }

    /// The same glob, relative to these places wherever it is taken.
    #[must_use]
    pub fn tied_to(&self, places: &[Place]) -> Self {
        let within = match self.base {
            Base::Folders | Base::Roots => Some(self.within.clone().unwrap_or_else(|| places.to_vec())),
            Base::Home => None,
        };
        Self { within, ..self.clone() }
    }

    /// Whether all that it closes is closed by the other.
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

/// The names before the first with a wildcard, and the rest.
fn split_named(pattern: &str) -> (PathBuf, Option<String>) {
    let parts: Vec<&str> = pattern.split('/').collect();
    let first =
        parts.iter().position(|part| part.contains(['*', '?', '[', '{', '\\'])).unwrap_or(parts.len());
    let (named, rest) = parts.split_at(first);
    (named.iter().collect(), (!rest.is_empty()).then(|| rest.join("/")))
}

fn compile(pattern: &str) -> Result<GlobSet, String> {
    // A set of one, since a single matcher panics where a set returns an error.
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .case_insensitive(true)
        .build()
        .map_err(|e| e.kind().to_string())?;
    GlobSetBuilder::new().add(glob).build().map_err(|e| e.kind().to_string())
}

/// Tried on names that have nothing in common, so `?*` and `{*,x}` are found too.
fn matches_everything(matcher: &GlobSet) -> bool {
    let names = ["a", "Q7.tar", ".h", "0_0", "~-é"];
    let deep = ["a/.h", "Q7/b", ".h/0", "0_0/a.b", "~/é-"];
    names.iter().all(|name| matcher.is_match(name)) || deep.iter().all(|name| matcher.is_match(name))
}

/// Rules, and the folders in which those without a beginning hold. The one answer to what is
/// denied: of commands, of plugins, of tools that read files, and of `policy why`.
#[derive(Debug, Clone, Default)]
pub struct DenySet {
    rules: Vec<Based>,
}

/// A rule, where it holds.
#[derive(Debug, Clone)]
struct Based {
    rule: DenyRule,
    /// The folders that it is relative to.
    bases: Arc<[PathBuf]>,
    /// The real places of the folders or files that it names, if a link leads there.
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

    /// The folders or files that it names before its first wildcard.
    fn heads(&self, places: &Places) -> impl Iterator<Item = PathBuf> {
        let DenyRule { named, base, .. } = &self.rule;
        let is_named = self.rule.has_head();
        let from_root = (is_named && *base == Base::Roots).then(|| places.root().join(named));
        self.bases.iter().filter(move |_| is_named).map(move |base| base.join(named)).chain(from_root)
    }
}

impl DenySet {
    /// These rules; those without a beginning hold in folders that are absolute and resolved.
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

    /// The folders or files that the globs name before their first wildcards, as `places` has them where they are links.
    pub fn heads(&self, places: &Places) -> Vec<PathBuf> {
        self.rules.iter().flat_map(|based| based.heads(places)).collect()
    }

    /// These rules; those without a beginning hold in the folders of places.
    pub fn at(rules: &[DenyRule], within: &[Place], places: &Places) -> Self {
        Self::new(rules, &folders_of(within, places), places)
    }

    /// The first rule that closes `path`, which is absolute and resolved, or a folder above it.
    pub fn matches(&self, path: &Path) -> Option<&DenyRule> {
        self.rules.iter().find(|based| based.closes(path)).map(|based| &based.rule)
    }
}

fn folders_of(within: &[Place], places: &Places) -> Vec<PathBuf> {
    within.iter().flat_map(|place| places.folders(place)).collect()
}

/// Whether a glob matches the path or a folder above it.
fn covers(matcher: &GlobSet, relative: &Path) -> bool {
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
