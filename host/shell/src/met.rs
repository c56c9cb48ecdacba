//! Detects accesses to denied files in the output of a command.
//!
//! The kernel refuses such an access without notifying any other process. Nearly all programs then print the
//! path and "Permission denied".

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use memchr::memmem;
use scorpiox_audit::Uses;
use scorpiox_fs::{Folder, Walks, normalized};
use scorpiox_policy::{DenyRule, DenySet, has_protected_name};

use crate::git_config;

/// Message of programs about a file on a read-only mount, such as a protected file, without its first letter, which can
/// be a capital.
const READ_ONLY: &str = "ead-only file system";
/// Texts that programs print for a refused access. A denied file is a mount, which cannot be removed.
const WORDS: [&[u8]; 6] = [
    b"ermission denied",
    READ_ONLY.as_bytes(),
    b"evice or resource busy",
    git_config::LOCK.as_bytes(),
    git_config::UPDATE.as_bytes(),
    git_config::UPSTREAM.as_bytes(),
];
/// Refusals with which git fails to delete a protected file: a mount, or a file that the supervisor keeps.
const KEEPS: [&str; 2] = ["evice or resource busy", "ermission denied"];
/// Words about a file that was to be somewhere else, or not at all.
const AWAY: [&str; 5] = ["move", "rename", "unlink", "delete", "rmdir"];
/// Ends of a line before the words of a refusal, by a program that does not name the file.
const UNNAMED: [&str; 4] = ["", "[Errno 13]", "rror:", "library::"];
/// Folder of a git directory with the administrative folders of linked work trees.
const WORK_TREES: &str = "worktrees";
/// Maximum number of sentences for a result.
const MAX_SENTENCES: usize = 4;
/// Maximum length of an inspected line in bytes.
const MAX_LINE_BYTES: usize = 1024;
/// Maximum number of stored lines.
const MAX_LINES: usize = 64;
/// Characters that surround paths in messages.
const AROUND: [char; 9] = [':', '\'', '"', '`', '‘', '’', ',', '(', ')'];

/// Output lines of a command that mention a refused access.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// Tail of the inspected output, for lines that span two chunks.
    before: Vec<u8>,
    lines: Vec<String>,
}

impl Met {
    /// Inspects the next chunk of output.
    pub(super) fn look(&mut self, bytes: &[u8]) {
        if self.lines.len() >= MAX_LINES {
            return;
        }
        // The line may have started in an earlier chunk.
        let mut joined = std::mem::take(&mut self.before);
        joined.extend_from_slice(&bytes[..bytes.len().min(MAX_LINE_BYTES)]);
        self.find(&joined);
        if bytes.len() > MAX_LINE_BYTES {
            self.find(bytes);
            joined.clear();
            joined.extend_from_slice(bytes);
        }
        joined.drain(..joined.len().saturating_sub(MAX_LINE_BYTES));
        self.before = joined;
    }

    fn find(&mut self, text: &[u8]) {
        for at in WORDS.iter().flat_map(|words| memmem::find_iter(text, words)) {
            let begin = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |begin| begin + 1);
            let end = text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| at + end);
            let line = String::from_utf8_lossy(&text[begin.max(at.saturating_sub(MAX_LINE_BYTES))..end]);
            let is_new = !self.lines.iter().any(|known| *known == line);
            if is_new && line.len() <= 2 * MAX_LINE_BYTES && self.lines.len() < MAX_LINES {
                self.lines.push(line.into_owned());
            }
        }
    }

    /// Records the folder of each denied file named in the output, with the rule. The file itself is not
    /// named.
    ///
    /// Only the refusal of the name is known. The same command may have read the content elsewhere: from git's objects,
    /// a bundle, an archive, or another copy. It therefore never counts as denied.
    pub(super) fn note(&self, uses: &Uses, workspace: &Path, deny: &DenySet) {
        for (path, rule) in self.denied(workspace, deny) {
            let folder = path.parent().unwrap_or(&path);
            let how = format!(
                "the name was refused by \"{}\" in `deny`, as the command's output says; its content was not followed",
                rule.glob()
            );
            uses.hidden("files", folder.display(), &how, rule.source.to_string());
        }
    }

    /// Returns a path that the output calls read-only, and that is not denied: one outside of the workspace, if there is
    /// one.
    pub(super) fn read_only(&self, workspace: &Path, deny: &DenySet) -> Option<PathBuf> {
        let lines = || self.lines.iter().filter(|line| line.contains(READ_ONLY));
        let all: Vec<_> =
            named(lines(), workspace).into_iter().filter(|path| deny.matches(path).is_none()).collect();
        all.iter().find(|path| !path.starts_with(workspace)).or_else(|| all.first()).cloned()
    }

    /// Returns `true` if a program does not name the file that it was refused.
    pub(super) fn has_unnamed(&self) -> bool {
        let is_unnamed = |line: &String| {
            let (before, after) = line.split_once("ermission denied")?;
            // Others say more: "Permission denied, please try again."
            let is_end = matches!(after.trim_ascii(), "" | "." | "(os error 13)");
            let before = before.trim_end_matches(['P', 'p']);
            is_end.then(|| {
                let before = before.trim_ascii();
                UNNAMED
                    .iter()
                    .any(|end| if end.is_empty() { before.is_empty() } else { before.ends_with(end) })
                    && !line.contains(['\'', '"', '/', '‘'])
            })
        };
        self.lines.iter().filter_map(is_unnamed).any(|is_unnamed| is_unnamed)
    }

    /// Returns the administrative folders of work trees that git could not delete, as it says. It has deleted other files
    /// in them by then, and does not say why it stopped.
    pub(super) fn undeleted_work_trees(&self) -> Vec<&Path> {
        let mut folders: Vec<_> = self.lines.iter().filter_map(|line| undeleted_work_tree(line)).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.truncate(MAX_SENTENCES);
        folders
    }

    /// Returns sentences for the result about denied and protected files that the output complains about.
    pub(super) fn sentences(&self, workspace: &Path, deny: &DenySet) -> Vec<String> {
        let denied = self.denied(workspace, deny);
        let mut sentences: Vec<_> = denied
            .iter()
            .map(|(_, rule)| {
                format!(
                    "refused: {:?} in `deny` ({}) closes files of such names to commands",
                    rule.glob(),
                    rule.source
                )
            })
            .collect();
        sentences.dedup();
        let is_denied = |path: &PathBuf| denied.iter().any(|(known, _)| known == path);
        let about_git = git_config::sentences(&self.lines);
        // The configuration that git could not write has such a sentence, or counts by whatever name.
        let is_told = |line: &&String| !about_git.is_empty() && git_config::is_refused(line);
        let all = named(self.lines.iter().filter(|line| !is_told(line)), workspace);
        let configurations = self.lines.iter().filter_map(|line| git_config::refused(line));
        let configurations: Vec<_> = configurations.map(|path| normalized(&workspace.join(path))).collect();
        // Names that were refused otherwise have notes of their own.
        let read_only = named(self.lines.iter().filter(|line| line.contains(READ_ONLY)), workspace);
        let inside = all.iter().filter(|path| !is_denied(path));
        let inside = inside.filter_map(|path| path.strip_prefix(workspace).ok());
        let is_configuration = |inside: &Path| configurations.contains(&workspace.join(inside));
        let protected = inside.filter(|inside| has_protected_name(inside) || is_configuration(inside));
        let exists =
            |inside: &&Path| is_there(workspace, inside, read_only.contains(&workspace.join(inside)));
        sentences.extend(protected.filter(exists).map(|inside| {
            let inside = inside.to_string_lossy();
            format!(
                "protected: {inside:?}: programs outside of the sandbox obey files of this name, so no command can change them, \
                 whatever the policy says; the person can, in a terminal"
            )
        }));
        sentences.extend(self.repositories(workspace));
        sentences.extend(about_git.into_iter().map(str::to_owned));
        sentences.truncate(MAX_SENTENCES);
        sentences
    }

    /// Returns a sentence for each repository in the workspace that the output says was not moved or deleted.
    fn repositories(&self, workspace: &Path) -> Vec<String> {
        let lines = self.lines.iter().filter(|line| AWAY.iter().any(|words| line.contains(words)));
        let named = named(lines, workspace);
        let inside = named.iter().filter_map(|path| path.strip_prefix(workspace).ok());
        let found = inside.filter(|inside| !inside.as_os_str().is_empty());
        let found = found.filter(|inside| is_there(workspace, &inside.join(".git/config"), false));
        let sentence = |inside: &Path| {
            format!(
                "protected: {:?} is a repository of git, which obeys files in it, so no later command moves or deletes it; the \
                 person can, in a terminal",
                inside.to_string_lossy()
            )
        };
        found.map(sentence).collect()
    }

    /// Returns the denied files named in the output, each with its rule.
    fn denied<'a>(&self, workspace: &Path, deny: &'a DenySet) -> Vec<(PathBuf, &'a DenyRule)> {
        // The command controls its output, so paths that lead too far are ignored.
        let mut walks = Walks::default();
        let mut rule_of = |path: &Path| {
            let mut led = || walks.follow(path).ok().and_then(|trail| deny.matches(&trail.end));
            deny.matches(path).or_else(&mut led)
        };
        let named = named(self.lines.iter(), workspace).into_iter();
        named.filter_map(|path| rule_of(&path).map(|rule| (path, rule))).collect()
    }
}

/// Returns `true` if a path below the workspace exists, or its directory, if `is_new`. The output chose the path, so no link
/// is followed: the answer would tell a command what exists elsewhere.
fn is_there(workspace: &Path, inside: &Path, is_new: bool) -> bool {
    let (Some(folder), Some(name)) = (inside.parent(), inside.file_name()) else { return false };
    let folder = Folder::open(workspace)
        .and_then(|root| if folder.as_os_str().is_empty() { Ok(root) } else { root.folder(folder) });
    folder.is_ok_and(|folder| is_new || folder.kind(Path::new(name)).is_ok())
}

/// Returns the path in the message that an administrative folder (`.git/worktrees/NAME`) was not deleted. Nothing is looked
/// up: the path is relative to a folder that only git knows, and its words depend on the language.
fn undeleted_work_tree(line: &str) -> Option<&Path> {
    let is_of_git = |path: &Path| {
        let Some(folder) = path.parent().filter(|folder| folder.ends_with(WORK_TREES)) else { return false };
        let is_git = |part: &OsStr| part.to_string_lossy().ends_with(".git");
        folder == Path::new(WORK_TREES) || folder.iter().any(is_git) || line.contains("ailed to delete")
    };
    let is_kept = KEEPS.iter().any(|words| line.contains(words));
    line.split('\'').map(Path::new).find(|piece| is_kept && is_of_git(piece))
}

/// Returns everything in lines that may be a path.
fn named<'a>(lines: impl Iterator<Item = &'a String>, workspace: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for line in lines {
        let pieces = line.split(AROUND).chain(line.split(|c: char| c == ' ' || AROUND.contains(&c)));
        let named = pieces.map(str::trim).filter(|piece| !piece.is_empty());
        paths.extend(named.map(|piece| normalized(&workspace.join(piece))));
    }
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use scorpiox_policy::{Places, Source};

    use super::*;

    /// Returns the audit lines for output that arrives in these pieces.
    fn told(pieces: &[&str]) -> Vec<String> {
        let places = Places::standard("/w".into(), Some("/h".into()), Path::new("/h/.own"));
        let rules = [("**/.env*", 4), ("~/.ssh", 5)]
            .map(|(glob, line)| DenyRule::parse(glob, Source::Line(line)).expect("a glob"));
        let deny = DenySet::new(&rules, &["/w".into()], &places);
        let (mut met, uses) = (Met::default(), Uses::default());
        for piece in pieces {
            met.look(piece.as_bytes());
        }
        met.note(&uses, Path::new("/w"), &deny);
        uses.lines()
    }

    #[test]
    fn messages_of_many_programs_are_understood() {
        let in_w = "files /w, hidden: the name was refused by \"**/.env*\" in `deny`, as the command's output says; its \
                    content was not followed";
        for said in [
            "cat: .env: Permission denied\n",
            "bash: line 1: ./.env: Permission denied\n",
            "PermissionError: [Errno 13] Permission denied: '/w/.env'\n",
            "Error: EACCES: permission denied, open '/w/.env.local'\n",
            "head: cannot open ‘/w/.env’ for reading: Permission denied",
            "cat: sub/../.env: Permission denied",
        ] {
            assert_eq!(told(&[said]), [in_w], "{said}");
        }
        let home = told(&["ls: cannot open directory '/h/.ssh/keys': Permission denied\n"]);
        assert_eq!(
            home,
            [
                "files /h/.ssh, hidden: the name was refused by \"~/.ssh\" in `deny`, as the command's output says; its \
              content was not followed"
            ]
        );
    }

    #[test]
    fn the_result_says_which_rule_closes_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        std::fs::create_dir(root.join(".vscode")).expect("a folder");
        std::fs::write(root.join(".vscode/tasks.json"), "").expect("a file");
        let places = Places::standard(root.clone(), None, Path::new("/h/.own"));
        let rule = DenyRule::parse("**/.env*", Source::Line(4)).expect("a glob");
        let deny = DenySet::new(&[rule], std::slice::from_ref(&root), &places);
        let said = |output: &str| {
            let mut met = Met::default();
            met.look(output.as_bytes());
            met.sentences(&root, &deny)
        };
        let denied =
            "refused: \"**/.env*\" in `deny` (policy.toml line 4) closes files of such names to commands";
        assert_eq!(said("cat: .env: Permission denied\ncat: a/.env.local: Permission denied\n"), [denied]);
        assert_eq!(said("rm: cannot remove '.env': Device or resource busy\n"), [denied]);
        let made = said("bash: line 1: .vscode/launch.json: Read-only file system\n");
        assert!(made.len() == 1 && made[0].starts_with("protected: \".vscode/launch.json\": "), "{made:?}");
        assert_eq!(said("bash: line 1: .vscode/launch.json: Permission denied\n"), [""; 0]);
        // A link of the command says nothing about what it leads to.
        let outside = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(outside.path().join(".vscode")).expect("a folder");
        std::fs::write(outside.path().join(".vscode/tasks.json"), "").expect("a file");
        std::os::unix::fs::symlink(outside.path(), root.join("link")).expect("a link");
        for said_of in ["Permission denied", "Read-only file system"] {
            assert_eq!(said(&format!("x: link/.vscode/tasks.json: {said_of}\n")), [""; 0]);
        }
        std::fs::create_dir_all(root.join("q/.git")).expect("a folder");
        std::fs::write(root.join("q/.git/config"), "").expect("a file");
        let moved = said("mv: cannot move 'q' to 'r': Permission denied\n");
        assert!(
            moved.len() == 1 && moved[0].starts_with("protected: \"q\" is a repository of git"),
            "{moved:?}"
        );
        assert_eq!(said("bash: line 1: q: Permission denied\n"), [""; 0]);
        let protected = said("bash: line 1: .vscode/tasks.json: Read-only file system\n");
        assert!(
            protected.len() == 1 && protected[0].starts_with("protected: \".vscode/tasks.json\": "),
            "{protected:?}"
        );
        for other in
            ["bash: .vscode/none: Permission denied\n", "a: Read-only file system\n", ".vscode/tasks.json\n"]
        {
            assert_eq!(said(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn a_link_to_a_denied_file_is_as_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        std::fs::write(root.join(".env"), "").expect("a file");
        std::os::unix::fs::symlink(".env", root.join("q")).expect("a link");
        let places = Places::standard(root.clone(), None, Path::new("/h/.own"));
        let rule = DenyRule::parse("**/.env*", Source::Line(4)).expect("a glob");
        let deny = DenySet::new(&[rule], std::slice::from_ref(&root), &places);
        let (mut met, uses) = (Met::default(), Uses::default());
        met.look(b"cat: q: Permission denied\ncat: other: Permission denied\n");
        met.note(&uses, &root, &deny);
        assert_eq!(uses.lines().len(), 1, "{:?}", uses.lines());
    }

    #[test]
    fn lines_that_come_in_pieces_are_found_and_others_are_not() {
        let long = "x".repeat(5000);
        assert_eq!(told(&[&format!("{long}\ncat: .e"), "nv: Permiss", "ion denied\n", &long]).len(), 1);
        assert_eq!(told(&[&format!("{long}\ncat: .env: Permission denied\n{long}")]).len(), 1);
        assert!(told(&["cat: .env: No such file\n", "cat: other: Permission denied\n", ".env\n"]).is_empty());
        assert!(told(&[&"cat: a: Permission denied\n".repeat(1000)]).is_empty());
    }

    #[test]
    fn a_work_tree_that_git_removed_in_part_is_told() {
        let is_told = |text: &str| {
            let mut met = Met::default();
            met.look(text.as_bytes());
            !met.undeleted_work_trees().is_empty()
        };
        for text in [
            "error: failed to delete '.git/worktrees/tree': Device or resource busy\n",
            "error: failed to delete '/w/p/.git/worktrees/a b': Permission denied\n",
            "Fehler: Fehler beim Löschen von 'store.git/worktrees/tree': Device or resource busy\n",
            "error: failed to delete 'worktrees/tree': Device or resource busy\n",
            "error: failed to delete '/w/bare/worktrees/tree': Device or resource busy\n",
        ] {
            assert!(is_told(text), "{text}");
        }
        for text in [
            "error: failed to delete '/w/tree': Device or resource busy\n",
            "error: failed to delete '.git/worktrees/tree': No such file or directory\n",
            "rm: cannot remove '.claude/worktrees/tree': Device or resource busy\n",
            "rm: cannot remove '.git/worktrees/tree/commondir': Device or resource busy\n",
            "rm: cannot remove '.git/worktrees': Device or resource busy\n",
            "'.git/worktrees/tree'\n",
        ] {
            assert!(!is_told(text), "{text}");
        }
    }

    #[test]
    fn refusals_without_a_name_are_noticed() {
        let is_unnamed = |text: &str| {
            let mut met = Met::default();
            met.look(text.as_bytes());
            met.has_unnamed()
        };
        for text in [
            "PermissionError: [Errno 13] Permission denied\n",
            "  context.load_verify_locations(cafile)\nPermissionError: [Errno 13] Permission denied",
            "Permission denied\n",
            "error: permission denied (os error 13)\n",
        ] {
            assert!(is_unnamed(text), "{text}");
        }
        for text in [
            "PermissionError: [Errno 13] Permission denied: 'a'\n",
            "bash: line 1: x: Permission denied\n",
            "error: open(\"a\"): Permission denied\n",
            "git@example.com: Permission denied (publickey).\n",
            "Permission denied, please try again.\n",
            "[Errno 13]\n",
        ] {
            assert!(!is_unnamed(text), "{text}");
        }
    }

    /// `git archive` and copies in bundles, packs and archives print a denied file beside an error about its name.
    #[test]
    fn no_use_says_that_a_file_was_denied() {
        let root = tempfile::tempdir().expect("a folder");
        let workspace = root.path().join("w");
        std::fs::create_dir_all(workspace.join("finance")).expect("creates");
        let places = Places::standard(workspace.clone(), Some("/h".into()), Path::new("/h/.own"));
        let rule = DenyRule::parse("finance/", Source::Line(4)).expect("a glob");
        let deny = DenySet::new(&[rule], std::slice::from_ref(&workspace), &places);
        let outputs = [
            "warning: unable to access 'finance/.gitattributes': Permission denied\n",
            "rm: cannot remove 'finance/q4.csv': Device or resource busy\n",
            "tar: finance: Cannot open: Permission denied\n",
        ];
        for is_repository in [false, true] {
            for output in outputs {
                let (mut met, uses) = (Met::default(), Uses::default());
                met.look(output.as_bytes());
                met.note(&uses, &workspace, &deny);
                let line = uses.lines().join("\n");
                assert!(!uses.was_denied() && line.contains("hidden: the name was refused"), "{line}");
                assert!(!line.contains("denied") && uses.refusals().is_empty(), "{line}");
            }
            if !is_repository {
                std::fs::create_dir(workspace.join(".git")).expect("creates");
            }
        }
    }
}
