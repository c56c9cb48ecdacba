//! From the folders of repositories to all that git obeys in them and because of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::config::Named;
use crate::trail::Trail;
use crate::{OBEYED, read};

/// Folders of git's that are followed, whoever made them.
const MAX_REPOSITORIES: usize = 20_000;

/// Where to begin. All paths are absolute.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Folders of git's, under any name.
    pub folders: &'a [PathBuf],
    /// What is called `.git` and is no folder: files and links.
    pub pointers: &'a [PathBuf],
    /// Configurations of the user's, which hold in every repository.
    pub of_user: &'a [PathBuf],
    /// The user's home folder.
    pub home: Option<&'a Path>,
}

/// Files and folders that make git start programs; they need not exist, and may be links.
pub fn obeyed(seen: Seen<'_>) -> BTreeSet<PathBuf> {
    let mut walk = Walk { home: seen.home, ..Walk::default() };
    for folder in seen.folders {
        let tree = is_dot_git(folder).then(|| folder.parent()).flatten();
        walk.meet(folder, tree);
    }
    for pointer in seen.pointers {
        walk.pointer(pointer);
    }
    while let Some(folder) = walk.open.pop() {
        walk.folder(&folder);
    }
    for file in seen.of_user {
        walk.found.insert(file.clone());
        let trees: BTreeSet<PathBuf> = walk.trees.values().flatten().cloned().collect();
        walk.named(Named::read(file, seen.home), &trees);
    }
    walk.found
}

#[derive(Default)]
struct Walk<'a> {
    home: Option<&'a Path>,
    found: BTreeSet<PathBuf>,
    open: Vec<PathBuf>,
    /// The folders that were met, each with its work trees.
    trees: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

fn is_dot_git(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

impl Walk<'_> {
    /// A folder of git's, and a work tree of it.
    fn meet(&mut self, folder: &Path, tree: Option<&Path>) {
        if self.trees.len() >= MAX_REPOSITORIES {
            return;
        }
        let known = self.trees.contains_key(folder);
        let trees = self.trees.entry(folder.to_owned()).or_default();
        let is_new = tree.is_some_and(|tree| trees.insert(tree.to_owned()));
        if is_new || !known {
            self.open.push(folder.to_owned());
        }
    }

    /// A `.git` that leads elsewhere: by a link, by its text, or by both.
    fn pointer(&mut self, pointer: &Path) {
        self.found.insert(pointer.to_owned());
        let Ok(trail) = Trail::follow(pointer) else { return };
        let tree = pointer.parent();
        if trail.end.is_dir() {
            self.meet(&trail.end, tree);
            return;
        }
        let named = read::text(&trail.end).and_then(|text| gitdir(&text));
        let base = trail.end.parent().zip(named);
        let bases = tree.into_iter().chain(base.as_ref().map(|(base, _)| *base));
        let Some((_, named)) = &base else { return };
        // Git reads the text as relative to the link.
        let folders: BTreeSet<PathBuf> = bases.map(|base| base.join(named)).collect();
        for folder in folders {
            if let Ok(trail) = Trail::follow(&folder) {
                self.found.extend(trail.links);
                self.meet(&trail.end, tree);
            }
        }
    }

    fn folder(&mut self, folder: &Path) {
        self.found.extend(OBEYED.map(|name| folder.join(name)));
        let attributes = folder.join("info/attributes");
        if attributes.symlink_metadata().is_ok() {
            self.found.insert(attributes);
        }
        let mut trees = self.trees.get(folder).cloned().unwrap_or_default();
        // The folder of a work tree that was added names that tree, and the one that they share.
        if let Some(back) = line(&folder.join("gitdir")) {
            trees.extend(folder.join(back).parent().map(Path::to_owned));
        }
        if let Some(common) = line(&folder.join("commondir"))
            && let Ok(trail) = Trail::follow(&folder.join(common))
        {
            self.found.extend(trail.links);
            for tree in &trees {
                self.meet(&trail.end, Some(tree));
            }
            self.meet(&trail.end, None);
        }
        let named = ["config", "config.worktree"].map(|name| Named::read(&folder.join(name), self.home));
        let work_trees = named.iter().flat_map(|named| &named.work_trees);
        trees.extend(work_trees.map(|tree| folder.join(tree)));
        trees.insert(folder.to_owned());
        for named in named {
            self.named(named, &trees);
        }
    }

    /// What a configuration names, for these work trees.
    fn named(&mut self, named: Named, trees: &BTreeSet<PathBuf>) {
        self.found.extend(named.includes);
        for tree in trees {
            for hooks in &named.hooks {
                let folder = plain(&tree.join(hooks));
                // One that is generated, as husky does, runs the scripts beside it.
                if folder.ends_with("_") && folder.parent().is_some_and(|parent| parent != tree) {
                    self.found.extend(folder.parent().map(Path::to_owned));
                }
                if folder != *tree {
                    self.found.insert(folder);
                }
            }
            let files = named.words.iter().map(|word| plain(&tree.join(word)));
            // A word that is the name of a folder is no program.
            let files = files.filter(|path| path.symlink_metadata().is_ok_and(|found| !found.is_dir()));
            self.found.extend(files);
        }
    }
}

/// A path without `.`; `..` stays, since a link may come before it.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// The path in a `.git` file.
fn gitdir(text: &[u8]) -> Option<PathBuf> {
    path(text.strip_prefix(b"gitdir:")?)
}

/// The path that is all of a small file.
fn line(file: &Path) -> Option<PathBuf> {
    path(&read::text(file)?)
}

fn path(text: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let text = text.trim_ascii();
    let is_path = !text.is_empty() && !text.contains(&0);
    is_path.then(|| PathBuf::from(std::ffi::OsStr::from_bytes(text)))
}

#[cfg(test)]
mod tests;
