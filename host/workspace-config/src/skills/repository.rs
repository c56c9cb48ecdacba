//! Finds skills in cloned repositories.
//!
//! The author of a repository may have created links, which are not followed, and may name any path in its
//! files. Nothing outside the repository is read.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::{MAX_SKILLS, OpenFolder, Source, is_hidden, skill_file, without_links};

/// Folder of a repository's skills, which may group them in subfolders.
pub(super) const SKILLS: &str = "skills";
/// Folder of a repository's Claude Code plugins, each with its own skills.
const PLUGINS: &str = "plugins";
/// File that lists such plugins, at any location in the repository.
pub(super) const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// Maximum number of folders between a folder of skills and a skill.
const MAX_DEPTH: usize = 3;
/// Maximum number of names to examine in a folder, and in a repository.
const MAX_NAMES_IN_FOLDER: usize = 1000;
const MAX_NAMES: usize = 10_000;
/// Maximum size of a marketplace file in bytes, number of plugins in it, and number of components of a path
/// in it.
pub(super) const MAX_MARKETPLACE_BYTES: u64 = 1024 * 1024;
pub(super) const MAX_PLUGINS: usize = 256;
const MAX_PARTS: usize = 8;
/// Folders of third-party or generated content, which are skipped.
pub(super) const PASSED_OVER: [&str; 2] = ["node_modules", "target"];

/// Finds the skills of a folder at `path` that may be a repository: those in the usual locations, or else
/// those directly in it.
pub(super) fn skills_below(opened: &OpenFolder<'_>, path: &Path) -> Vec<Source> {
    let mut walk = Walk::new(opened, path);
    walk.nested(Path::new(SKILLS), MAX_DEPTH);
    walk.plugins(Path::new(PLUGINS));
    walk.marketplace();
    if walk.found.is_empty() {
        match path.file_name().and_then(|name| name.to_str()) {
            Some(SKILLS) => walk.nested(Path::new(""), MAX_DEPTH),
            Some(PLUGINS) => walk.plugins(Path::new("")),
            _ => walk.nested(Path::new(""), 0),
        }
    }
    walk.finish()
}

/// Finds the skills that a repository's marketplace lists.
pub(super) fn skills_of_marketplace(opened: &OpenFolder<'_>, path: &Path) -> Vec<Source> {
    let mut walk = Walk::new(opened, path);
    walk.marketplace();
    walk.finish()
}

/// Finds the skills of a Claude Code plugin.
pub(super) fn skills_of_plugin(opened: &OpenFolder<'_>, path: &Path) -> Vec<Source> {
    let mut walk = Walk::new(opened, path);
    walk.nested(Path::new(SKILLS), 0);
    walk.finish()
}

/// A search in a repository; paths are relative to it.
struct Walk<'a> {
    opened: &'a OpenFolder<'a>,
    path: &'a Path,
    names_left: usize,
    known: BTreeSet<PathBuf>,
    found: Vec<Source>,
}

impl<'a> Walk<'a> {
    fn new(opened: &'a OpenFolder<'a>, path: &'a Path) -> Self {
        Self { opened, path, names_left: MAX_NAMES, known: BTreeSet::new(), found: Vec::new() }
    }

    fn finish(self) -> Vec<Source> {
        if self.names_left == 0 || self.found.len() >= MAX_SKILLS {
            tracing::warn!(
                "{} holds too many skills or other things; not all are looked at",
                self.path.display()
            );
        }
        self.found
    }

    /// Finds the skills of the plugins in a folder.
    fn plugins(&mut self, inside: &Path) {
        for name in self.names(inside) {
            let plugin = inside.join(name);
            if !is_hidden(&plugin) {
                self.nested(&plugin.join(SKILLS), MAX_DEPTH);
            }
        }
    }

    /// Finds the skills in a folder, and in its subfolders that are not skills. A hidden folder at the top may
    /// group skills, as `.curated` does; skills themselves are never hidden.
    fn nested(&mut self, inside: &Path, depth: usize) {
        for name in self.names(inside) {
            let below = inside.join(&name);
            if is_hidden(&below) {
                let is_part = depth == MAX_DEPTH && !name.as_encoded_bytes().starts_with(b".git");
                if is_part {
                    self.nested(&below, depth - 1);
                }
            } else if !self.skill(&below) && depth > 0 && !PASSED_OVER.iter().any(|other| name == *other) {
                self.nested(&below, depth - 1);
            }
        }
    }

    /// Records the skill at a path. Returns `true` if there is one.
    fn skill(&mut self, inside: &Path) -> bool {
        let opened = self.opened.folder.folder(inside);
        let Some(folder) = self.opened.shortages.ok(opened) else { return false };
        let (Some(file), Some(name)) = (skill_file(&folder), inside.file_name()) else { return false };
        if self.found.len() < MAX_SKILLS && self.known.insert(inside.to_owned()) {
            let path = without_links(self.opened, self.path.join(inside));
            let name = name.to_string_lossy().into_owned();
            self.found.push(Source { name, path, scope: self.opened.scope, file, plugin: None });
        }
        true
    }

    /// Returns the names in a folder in order; empty if it is not a folder.
    fn names(&mut self, inside: &Path) -> Vec<OsString> {
        let most = self.names_left.min(MAX_NAMES_IN_FOLDER);
        let names = if inside.as_os_str().is_empty() {
            self.opened.folder.names()
        } else {
            self.opened.folder.folder(inside).and_then(|folder| folder.names())
        };
        let Some(names) = self.opened.shortages.ok(names) else { return Vec::new() };
        let mut names: Vec<OsString> = names.flatten().take(most).collect();
        self.names_left -= names.len();
        names.sort();
        names
    }

    /// Finds the skills of the plugins that the marketplace lists: those in their skill folders, and those
    /// that they name.
    fn marketplace(&mut self) {
        let Some(listed) = self.listed() else { return };
        let root = listed["metadata"]["pluginRoot"].as_str().map_or_else(|| Some(PathBuf::new()), plain);
        let Some(root) = root else { return };
        for plugin in listed["plugins"].as_array().into_iter().flatten().take(MAX_PLUGINS) {
            let Some(source) = plugin["source"].as_str().and_then(plain) else { continue };
            let place = if source.starts_with(&root) { source } else { root.join(source) };
            self.nested(&place.join(SKILLS), MAX_DEPTH);
            let named = &plugin["skills"];
            let named = named.as_array().map_or(std::slice::from_ref(named), Vec::as_slice);
            for skill in named.iter().filter_map(|skill| plain(skill.as_str()?)) {
                // Each name counts against the limit, even if nothing is there.
                let Some(left) = self.names_left.checked_sub(1) else { return };
                self.names_left = left;
                let inside = place.join(skill);
                if !self.skill(&inside) {
                    self.nested(&inside, 0);
                }
            }
        }
    }

    fn listed(&self) -> Option<Value> {
        let file = self.opened.shortages.ok(self.opened.folder.file(Path::new(MARKETPLACE)))?;
        let mut text = String::new();
        file.take(MAX_MARKETPLACE_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// Normalizes a path inside a repository. `None` if the path leaves it.
pub(super) fn plain(path: &str) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for (count, part) in Path::new(path).components().filter(|part| *part != Component::CurDir).enumerate() {
        match part {
            Component::Normal(name) if count < MAX_PARTS => inside.push(name),
            _ => return None,
        }
    }
    Some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_repository_leads_down_from_it() {
        for (path, inside) in [("./", Some("")), ("./a//b/.", Some("a/b")), ("a", Some("a"))] {
            assert_eq!(plain(path), inside.map(PathBuf::from), "{path}");
        }
        for path in ["..", "a/../../b", "/etc", "1/2/3/4/5/6/7/8/9"] {
            assert_eq!(plain(path), None, "{path}");
        }
    }
}
