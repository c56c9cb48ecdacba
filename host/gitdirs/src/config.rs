//! Git's configuration, as far as it names other files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::read;

/// Files that include one another, counted from the first.
const MAX_INCLUDES: usize = 64;
/// Keys whose values are commands, whatever section they stand in.
const COMMANDS: [&str; 25] = [
    "alternaterefscommand",
    "askpass",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "helper",
    "packobjectshook",
    "pager",
    "path",
    "process",
    "program",
    "receivepack",
    "smudge",
    "sshcommand",
    "textconv",
    "update",
    "uploadpack",
    "vcs",
];
/// Sections whose values are commands, whatever the key.
const COMMAND_SECTIONS: [&str; 3] = ["alias", "pager", "hook"];

/// One `key = value`.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// In small letters, as is the key.
    section: String,
    key: String,
    value: String,
}

/// What a configuration names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Configurations that are read with it, which need not exist.
    pub includes: Vec<PathBuf>,
    /// Folders of hooks, relative to a work tree.
    pub hooks: Vec<PathBuf>,
    /// Words of commands, each of which may be a file relative to a work tree.
    pub words: Vec<PathBuf>,
    /// The work tree, relative to the folder of the repository.
    pub work_trees: Vec<PathBuf>,
}

impl Named {
    /// Reads a configuration and all that it includes.
    pub(crate) fn read(file: &Path, home: Option<&Path>) -> Self {
        let mut named = Self::default();
        let mut open = vec![file.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(file) = open.pop() {
            if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
                continue;
            }
            let Some(text) = read::text(&file) else { continue };
            for entry in parse(&String::from_utf8_lossy(&text)) {
                named.note(&entry, &file, home, &mut open);
            }
        }
        named
    }

    fn note(&mut self, entry: &Entry, file: &Path, home: Option<&Path>, open: &mut Vec<PathBuf>) {
        let Entry { section, key, value } = entry;
        let Some(path) = expand(value, home) else { return };
        match (section.as_str(), key.as_str()) {
            ("include" | "includeif", "path") => {
                let path = file.parent().unwrap_or(file).join(path);
                if self.includes.len() < MAX_INCLUDES && !self.includes.contains(&path) {
                    open.push(path.clone());
                    self.includes.push(path);
                }
            }
            ("core", "hookspath") => self.hooks.push(path),
            ("core", "worktree") => self.work_trees.push(path),
            (section, key) => {
                let runs = COMMANDS.contains(&key) || COMMAND_SECTIONS.contains(&section);
                if runs || value.starts_with('!') {
                    self.words.extend(words(value).filter_map(|word| expand(word, home)));
                }
            }
        }
    }
}

/// The path that a value is; none of an empty one, which names nothing.
fn expand(value: &str, home: Option<&Path>) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(inside) => Some(home?.join(inside)),
        None => Some(PathBuf::from(value)).filter(|_| !value.is_empty() && !value.contains('\0')),
    }
}

/// The words of a command for a shell, roughly: what may be the name of a file.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let separates = |c: char| c.is_whitespace() || "\"'`;|&()<>=!$".contains(c);
    command.split(separates).filter(|word| !word.is_empty())
}

/// Reads as git does, but goes on after what git would not accept.
fn parse(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut section = String::new();
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace("\\\n", "");
    for line in text.split('\n') {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let (name, rest) = header_end(header);
            section = name.split(['"', ' ', '\t', '.']).next().unwrap_or("").to_ascii_lowercase();
            line = rest.trim_start();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_ascii_lowercase();
        entries.push(Entry { section: section.clone(), key, value: unquote(value.trim_start()) });
    }
    entries
}

/// A header without its brackets, and what follows it on its line. A quoted name may hold brackets.
fn header_end(header: &str) -> (&str, &str) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in header.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return (&header[..at], &header[at + 1..]),
            _ => {}
        }
    }
    (header, "")
}

fn unquote(text: &str) -> String {
    let (mut value, mut kept) = (String::new(), 0);
    let mut quoted = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => value.push(match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => break,
            }),
            c => value.push(c),
        }
        if quoted || !c.is_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<(String, String, String)> {
        parse(text).into_iter().map(|entry| (entry.section, entry.key, entry.value)).collect()
    }

    #[test]
    fn a_configuration_is_read_as_git_reads_it() {
        let text = "\u{feff}[Core]\r\n\thooksPath = \"a b\"/c ; why\n\
                    [includeIf \"gitdir:/x]\\\"/\"] path=../e#x\n[filter.lfs]\n  Clean = a \\\n b\n\
                    # no\n[alias] x\nst = \"!sh \\\"s;s\\\" \"\n";
        let wanted = [
            ("core", "hookspath", "a b/c"),
            ("includeif", "path", "../e"),
            ("filter", "clean", "a  b"),
            ("alias", "x", ""),
            ("alias", "st", "!sh \"s;s\" "),
        ];
        let wanted: Vec<_> = wanted.iter().map(|(a, b, c)| ((*a).into(), (*b).into(), (*c).into())).collect();
        assert_eq!(entries(text), wanted);
    }

    #[test]
    fn what_is_no_configuration_is_no_error() {
        for text in ["", "[", "[\"", "=", "[a\\", "x = \"", "x = \\", "\n]\n[a] = b"] {
            entries(text);
        }
    }

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
        let named = Named::read(&at("config"), Some(root.path()));
        let wanted = ["sub/a", "b", "none", "sub/../config", "sub/c"].map(at);
        assert!(wanted.iter().all(|path| named.includes.contains(path)), "{named:?}");
        assert_eq!(named.hooks, [PathBuf::from("h")]);
        let words: Vec<_> = named.words.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(words, ["sh", "-c", "tools/run.sh", "./y"]);
    }
}
