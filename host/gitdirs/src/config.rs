//! Git's configuration, as far as it names other files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use scorpiox_paths::{Lost, Walks};

use crate::harmless::{is_harmless, leads_to_hosts};
use crate::parse::{Entry, parse};
use crate::read::{self, Text};
use crate::user::User;
use crate::words::words;

/// Most bytes of configurations that are read, of repositories and of the user's.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
/// Most entries of those: an entry takes longer than its bytes.
const MAX_ENTRIES: usize = 200_000;
/// Most words of commands, and the longest command that is taken apart into words.
const MAX_WORDS: usize = 100_000;
const MAX_COMMAND_BYTES: usize = 64 << 10;
/// Bytes that a configuration counts for at least: reading many empty ones takes time, too.
const LEAST_BYTES: u64 = 512;
/// Characters that mean something to a shell: a value with it is no path, but for one that is there.
const SHELL: &[u8] = b"\"'$;|&()<>`!\n";

/// Sections of commands that the person asks for by a name, or sees the output of.
const LOOSE_SECTIONS: [&[u8]; 7] =
    [b"alias", b"browser", b"difftool", b"guitool", b"man", b"mergetool", b"pager"];
/// Keys and variables of pagers and editors.
const LOOSE_KEYS: [&[u8]; 4] = [b"editor", b"pager", b"visual", b"lessopen"];

/// Reports whether plain words of a command are probably no files.
fn is_loose(section: &[u8], key: &[u8]) -> bool {
    LOOSE_SECTIONS.contains(&section) || LOOSE_KEYS.iter().any(|end| key.ends_with(end))
}

/// What a configuration names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Configurations that are read with it, which need not exist.
    pub includes: Vec<PathBuf>,
    /// Folders of hooks, relative to a work tree.
    pub hooks: Vec<PathBuf>,
    /// Words of commands, each of which may be a file relative to a work tree.
    pub words: Vec<NamedWord>,
    /// The work tree, relative to the folder of the repository.
    pub work_trees: Vec<PathBuf>,
    /// Something in it is not known to be harmless: it may start a program, or take a check away.
    pub starts: bool,
    /// Something was not read: there is more of it than is read, or it names a user who is not known.
    pub is_cut: bool,
}

/// The work that is left for configurations, and for files that lead git on.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Bytes of configurations.
    bytes: u64,
    /// Entries of configurations.
    entries: usize,
    /// The paths that are followed.
    pub walks: Walks,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: MAX_CONFIG_BYTES, entries: MAX_ENTRIES, walks: Walks::default() }
    }
}

/// A word of a command, as a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedWord {
    pub path: PathBuf,
    /// Whether it counts before there is such a file.
    pub may_come: bool,
    /// True if it is probably no file where it is one word: of an alias, or of a pager or an editor, whose options mean other things.
    pub is_loose: bool,
    /// True if it is of an alias, which runs when somebody types it, as a Makefile does.
    pub is_alias: bool,
}

impl Named {
    /// Reads a configuration and all that it includes, as far as the budget goes.
    pub(crate) fn read(file: &Path, user: &User, budget: &mut Budget) -> Self {
        let mut named = Self::default();
        named.follow(vec![file.to_owned()], true, user, budget);
        named
    }

    /// Configuration that stands in the environment instead of a file.
    pub(crate) fn given(user: &User, budget: &mut Budget) -> Self {
        let (mut named, mut open) = (Self::default(), Vec::new());
        for entry in &user.given {
            named.note(entry, Path::new(""), user, &mut open);
        }
        named.follow(open, false, user, budget);
        named
    }

    /// Reads files and those that they include. The first is included by none if `is_first`.
    fn follow(&mut self, mut open: Vec<PathBuf>, mut is_first: bool, user: &User, budget: &mut Budget) {
        let mut seen = BTreeSet::new();
        while let Some(file) = open.pop() {
            let end = match budget.walks.follow(&file) {
                Ok(trail) => trail.end,
                // Git may go where nobody looked.
                Err(Lost::TooLong(_)) => return self.is_cut = true,
                Err(_) => file.clone(),
            };
            if !is_first {
                self.includes.push(file.clone());
            }
            is_first = false;
            if !seen.insert(end) {
                continue;
            }
            let read = read::text(&file, budget.bytes);
            let size = read.as_ref().map_or(0, |text| text.bytes.len() as u64);
            budget.bytes = budget.bytes.saturating_sub(LEAST_BYTES.max(size));
            let Some(Text { bytes, is_cut }) = read else {
                // Git reads it when it can be read again.
                self.is_cut |= read::is_closed(&file);
                continue;
            };
            if is_cut {
                self.is_cut = true;
                budget.bytes = 0;
                return;
            }
            let parsed = parse(&bytes);
            self.starts |= parsed.is_broken;
            let Some(left) = budget.entries.checked_sub(parsed.entries.len()) else {
                self.is_cut = true;
                budget.entries = 0;
                return;
            };
            budget.entries = left;
            for entry in &parsed.entries {
                if self.words.len() > MAX_WORDS {
                    self.is_cut = true;
                    return;
                }
                self.note(entry, &file, user, &mut open);
            }
        }
    }

    fn note(&mut self, entry: &Entry, file: &Path, user: &User, open: &mut Vec<PathBuf>) {
        let (section, key) = (entry.section(), entry.key());
        match (section.as_slice(), key.as_slice()) {
            (b"include" | b"includeif", b"path") => {
                self.starts = true;
                for path in self.paths(entry, user) {
                    open.push(file.parent().unwrap_or(file).join(path));
                }
            }
            (b"core", b"hookspath") => {
                self.starts = true;
                let paths = self.paths(entry, user);
                self.hooks.extend(paths);
            }
            // What it holds is copied into new repositories, hooks too.
            (b"init", b"templatedir") => {
                self.starts = true;
                for path in self.paths(entry, user) {
                    self.hooks.extend([path.join("hooks"), path]);
                }
            }
            (b"core", b"worktree") => {
                let paths = self.paths(entry, user);
                self.work_trees.extend(paths);
            }
            _ if is_harmless(entry) => {}
            _ if leads_to_hosts(entry) => self.starts = true,
            (section, _) => {
                self.starts = true;
                let first = self.words.len();
                // Other aliases are commands of git, which starts no programs by their words.
                let is_program = section != b"alias" || entry.value().starts_with(b"!");
                self.note_command(entry.value(), is_program, user);
                // The address of another repository may be a command, wherever it stands.
                self.note_command(entry.subsection().unwrap_or_default(), false, user);
                for word in self.words.iter_mut().skip(first) {
                    word.is_loose = is_loose(section, &key);
                    word.is_alias = section == b"alias";
                }
            }
        }
    }

    /// The paths that a value may be. Where that is not known, not all is read.
    fn paths(&mut self, entry: &Entry, user: &User) -> Vec<PathBuf> {
        user.expand(entry.value()).unwrap_or_else(|_| {
            self.is_cut = true;
            Vec::new()
        })
    }

    fn note_command(&mut self, command: &[u8], is_program: bool, user: &User) {
        if command.len() > MAX_COMMAND_BYTES {
            self.is_cut = true;
            return;
        }
        // Not every value is for a shell: some are paths, with whatever is in them.
        let is_word = !command.iter().any(|byte| byte.is_ascii_whitespace() || SHELL.contains(byte));
        if !is_word && !command.starts_with(b"!") {
            let may_come =
                is_program && command.contains(&b'/') && !command.iter().any(|byte| SHELL.contains(byte));
            let paths = user.expand(command).unwrap_or_default();
            self.words.extend(paths.into_iter().map(|path| NamedWord {
                path,
                may_come,
                is_loose: false,
                is_alias: false,
            }));
        }
        // Each byte is a character, so that none is lost.
        let command: String = command.iter().map(|byte| char::from(*byte)).collect();
        let command = command.trim_start_matches("ext::");
        for word in words(command) {
            let bytes: Vec<u8> = word.text.chars().filter_map(|c| u8::try_from(c).ok()).collect();
            let may_come = is_program && word.is_program;
            // A word is no path of a user who is not there.
            let paths = user.expand(&bytes).unwrap_or_else(|_| read::path(&bytes).into_iter().collect());
            self.words.extend(paths.into_iter().map(|path| NamedWord {
                path,
                may_come,
                is_loose: false,
                is_alias: false,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_followed_and_files_that_include_each_other_end() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("config"), "[include]\npath = sub/a\npath = ~/b\npath = none\n").unwrap();
        std::fs::write(at("sub/a"), "[include]\npath = ../config\npath = c\n[core]\nhooksPath = h\n")
            .unwrap();
        std::fs::write(at("b"), "[alias]\nx = !sh -c 'tools/run.sh && ./y'\n[user]\nname = tools/z\n")
            .unwrap();
        let named = Named::read(&at("config"), &User::at_home(Some(root.path())), &mut Budget::default());
        let wanted = ["sub/a", "b", "none", "sub/../config", "sub/c"].map(at);
        assert!(wanted.iter().all(|path| named.includes.contains(path)), "{named:?}");
        assert_eq!(named.hooks, [PathBuf::from("h")]);
        let words: Vec<_> = named.words.iter().map(|word| word.path.to_str().unwrap()).collect();
        assert_eq!(words, ["sh", "-c", "tools/run.sh", "tools/run.sh && ./y", "./y"]);
        assert!(!named.is_cut);
    }

    #[test]
    fn what_is_too_long_is_known_to_be_cut() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::write(at("config"), "[include]\npath = more\n").unwrap();
        std::fs::write(at("more"), "#".repeat(2_000)).unwrap();
        let of = |bytes| Budget { bytes, ..Budget::default() };
        let mut budget = of(2_000);
        assert!(Named::read(&at("config"), &User::default(), &mut budget).is_cut);
        assert_eq!(budget.bytes, 0);
        assert!(!Named::read(&at("config"), &User::default(), &mut of(4_000)).is_cut);
        // Of what is not there nothing is missing.
        assert!(!Named::read(&at("none"), &User::default(), &mut budget).is_cut);
        let mut few = Budget { entries: 1, ..Budget::default() };
        std::fs::write(at("two"), "[a]\nb\nc\n").unwrap();
        assert!(Named::read(&at("two"), &User::default(), &mut few).is_cut);
    }
}
