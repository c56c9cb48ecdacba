//! Finds the files that git's configuration names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use scorpiox_fs::{Lost, Walks};

use crate::harmless::{is_harmless, leads_to_hosts};
use crate::names::weight;
use crate::parse::{Entry, parse};
use crate::read::{self, Text};
use crate::user::User;
use crate::words::words;

/// Maximum number of bytes read from all configurations, of repositories and of the user.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
/// Maximum number of entries in these; an entry takes more time than its bytes suggest.
const MAX_ENTRIES: usize = 200_000;
/// Maximum number of words in commands of one configuration with its includes, and maximum length of a
/// command that is split into words. [`Budget`] limits the words of all configurations.
const MAX_WORDS: usize = 100_000;
const MAX_COMMAND_BYTES: usize = 64 << 10;
/// Minimum number of bytes that a configuration counts as; reading many empty files takes time, too.
const LEAST_BYTES: u64 = 512;
/// Characters with a meaning for a shell. A value that contains one is not a path unless it names an existing
/// file.
const SHELL: &[u8] = b"\"'$;|&()<>`!\n";

/// Sections of commands that the user invokes by name, or whose output the user sees.
const LOOSE_SECTIONS: [&[u8]; 7] =
    [b"alias", b"browser", b"difftool", b"guitool", b"man", b"mergetool", b"pager"];
/// Keys and variables of pagers and editors.
const LOOSE_KEYS: [&[u8]; 4] = [b"editor", b"pager", b"visual", b"lessopen"];

/// Returns `true` if plain words of a command are probably not files.
fn is_loose(section: &[u8], key: &[u8]) -> bool {
    LOOSE_SECTIONS.contains(&section) || LOOSE_KEYS.iter().any(|end| key.ends_with(end))
}

/// Files that a configuration names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Included configurations, which need not exist.
    pub includes: Vec<PathBuf>,
    /// Hook folders, relative to a work tree.
    pub hooks: Vec<PathBuf>,
    /// Words of commands, each of which may be a file relative to a work tree.
    pub words: Vec<NamedWord>,
    /// Work trees, relative to the git directory.
    pub work_trees: Vec<PathBuf>,
    /// `true` if an entry is not known to be harmless: it may start a program or disable a check.
    pub starts: bool,
    /// `true` if a part was not read: the configuration exceeds a limit, or names an unknown user.
    pub is_cut: bool,
}

/// Remaining budget for reading configurations and following paths.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Remaining bytes of configurations.
    bytes: u64,
    /// Remaining entries. Each is weighted by the path of its file, because the paths it names are joined to
    /// that path.
    entries: usize,
    /// Remaining words of commands.
    words: usize,
    /// Paths that have been followed.
    pub walks: Walks,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: MAX_CONFIG_BYTES, entries: MAX_ENTRIES, words: MAX_ENTRIES, walks: Walks::default() }
    }
}

/// A word of a command, as a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedWord {
    pub path: PathBuf,
    /// `true` if the word counts even if the file does not exist yet.
    pub may_come: bool,
    /// `true` if a single word is probably not a file: the word belongs to an alias, or to a pager or an
    /// editor, whose options have other meanings.
    pub is_loose: bool,
    /// `true` for a word of an alias. An alias runs only when the user types it, like a Makefile.
    pub is_alias: bool,
}

/// Way in which git runs the words of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    Nothing,
    /// Only when the user types them.
    Typed,
    Unasked,
}

impl Named {
    /// Reads a configuration and its includes, as far as the budget allows.
    pub(crate) fn read(file: &Path, user: &User, budget: &mut Budget) -> Self {
        let mut named = Self::default();
        named.follow(vec![file.to_owned()], true, user, budget);
        named
    }

    /// Reads the configuration from the environment.
    pub(crate) fn given(user: &User, budget: &mut Budget) -> Self {
        let (mut named, mut open) = (Self::default(), Vec::new());
        for entry in &user.given {
            named.note(entry, Path::new(""), user, &mut open);
        }
        named.follow(open, false, user, budget);
        named
    }

    /// Reads files and their includes. If `is_first` is set, the first file is not an include.
    fn follow(&mut self, mut open: Vec<PathBuf>, mut is_first: bool, user: &User, budget: &mut Budget) {
        let mut seen = BTreeSet::new();
        while let Some(file) = open.pop() {
            let end = match budget.walks.follow(&file) {
                Ok(trail) => trail.end,
                // Git may reach files that were not examined.
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
                // Git will read the file as soon as it becomes readable.
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
            let Some(left) = budget.entries.checked_sub(parsed.entries.len() * weight(&file)) else {
                self.is_cut = true;
                budget.entries = 0;
                return;
            };
            budget.entries = left;
            for entry in &parsed.entries {
                let before = self.words.len();
                self.note(entry, &file, user, &mut open);
                let left = budget.words.checked_sub(self.words.len() - before);
                budget.words = left.unwrap_or(0);
                if left.is_none() || self.words.len() > MAX_WORDS {
                    self.is_cut = true;
                    return;
                }
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
            // Git copies the content of the template, including hooks, into new repositories.
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
                let runs = match section {
                    b"alias" if entry.value().starts_with(b"!") => Runs::Typed,
                    // These are git commands, whose words do not start programs.
                    b"alias" => Runs::Nothing,
                    _ => Runs::Unasked,
                };
                self.note_command(entry.value(), runs, user);
                // The address of a repository may be a command, wherever it appears.
                self.note_command(entry.subsection().unwrap_or_default(), Runs::Nothing, user);
                for word in self.words.iter_mut().skip(first) {
                    word.is_loose = is_loose(section, &key);
                    word.is_alias = section == b"alias";
                }
            }
        }
    }

    /// Returns the paths that a value may denote. Sets `is_cut` if they are unknown.
    fn paths(&mut self, entry: &Entry, user: &User) -> Vec<PathBuf> {
        user.expand(entry.value()).unwrap_or_else(|_| {
            self.is_cut = true;
            Vec::new()
        })
    }

    fn note_command(&mut self, command: &[u8], runs: Runs, user: &User) {
        let is_program = runs != Runs::Nothing;
        if command.len() > MAX_COMMAND_BYTES {
            self.is_cut = true;
            return;
        }
        // Some values are not for a shell but paths, which may contain any characters.
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
        // Maps each byte to a character, so that none is lost.
        let command: String = command.iter().map(|byte| char::from(*byte)).collect();
        let command = command.trim_start_matches("ext::");
        for word in words(command, runs == Runs::Typed) {
            let bytes: Vec<u8> = word.text.chars().filter_map(|c| u8::try_from(c).ok()).collect();
            let may_come = is_program && word.is_program;
            // A word that begins with the name of an unknown user is used literally.
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
        // A missing file is not truncated.
        assert!(!Named::read(&at("none"), &User::default(), &mut budget).is_cut);
        let mut few = Budget { entries: 1, ..Budget::default() };
        std::fs::write(at("two"), "[a]\nb\nc\n").unwrap();
        assert!(Named::read(&at("two"), &User::default(), &mut few).is_cut);
    }
}
