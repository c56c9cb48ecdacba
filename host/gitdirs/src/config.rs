//! Git's configuration, as far as it names other files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::read;
use crate::words::words;

/// Bytes that a configuration counts for at least: reading many empty ones takes time, too.
const LEAST_BYTES: u64 = 512;
/// Keys whose values are commands, whatever section they stand in.
const COMMANDS: [&str; 33] = [
    "alternaterefscommand",
    "askpass",
    "cccmd",
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
    "headercmd",
    "helper",
    "httpd",
    "packobjectshook",
    "pager",
    "path",
    "process",
    "program",
    "receivepack",
    "recentobjectshook",
    "sendmailcmd",
    "smtpserver",
    "smudge",
    "sshcommand",
    "textconv",
    "tocmd",
    "tunnel",
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
    pub words: Vec<NamedWord>,
    /// The work tree, relative to the folder of the repository.
    pub work_trees: Vec<PathBuf>,
    /// It starts programs: by a command, or by naming hooks.
    pub starts: bool,
    /// Something was not read: there is more of it than is read.
    pub is_cut: bool,
}

/// A word of a command, as a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedWord {
    pub path: PathBuf,
    /// Whether it counts before there is such a file.
    pub may_come: bool,
}

impl Named {
    /// Reads a configuration and all that it includes, `left` bytes at most.
    pub(crate) fn read(file: &Path, home: Option<&Path>, left: &mut u64) -> Self {
        let mut named = Self::default();
        let mut open = vec![file.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(file) = open.pop() {
            if !seen.insert(dunce::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                continue;
            }
            let Some(text) = read::text(&file, *left) else { continue };
            *left = left.saturating_sub(LEAST_BYTES.max(text.bytes.len() as u64));
            if text.is_cut {
                named.is_cut = true;
                *left = 0;
                return named;
            }
            for entry in parse(&String::from_utf8_lossy(&text.bytes)) {
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
                open.push(path.clone());
                self.includes.push(path);
            }
            ("core", "hookspath") => {
                self.starts = true;
                self.hooks.push(path);
            }
            // What it holds is copied into new repositories, hooks too.
            ("init", "templatedir") => {
                self.starts = true;
                self.hooks.extend([path.join("hooks"), path]);
            }
            ("core", "worktree") => self.work_trees.push(path),
            (section, key) => {
                let is_shell = value.starts_with('!');
                let runs = COMMANDS.contains(&key) || COMMAND_SECTIONS.contains(&section);
                if runs || is_shell || value.starts_with("ext::") {
                    // Other aliases are commands of git, which starts no programs by their words.
                    let is_program = is_shell || section != "alias";
                    self.starts |= is_program;
                    self.note_command(value.trim_start_matches("ext::"), is_program, home);
                }
            }
        }
    }

    fn note_command(&mut self, command: &str, is_program: bool, home: Option<&Path>) {
        for word in words(command) {
            if let Some(path) = expand(&word.text, home) {
                self.words.push(NamedWord { path, may_come: is_program && word.is_program });
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
        let named = Named::read(&at("config"), Some(root.path()), &mut 10_000);
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
        let mut left = 2_000;
        assert!(Named::read(&at("config"), None, &mut left).is_cut);
        assert_eq!(left, 0);
        assert!(!Named::read(&at("config"), None, &mut 4_000).is_cut);
        // Of what is not there nothing is missing.
        assert!(!Named::read(&at("none"), None, &mut left).is_cut);
    }
}
