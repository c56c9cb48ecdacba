//! Denied files that a command met, as far as its output says so.
//!
//! The kernel refuses them without telling anybody else. Nearly all programs then print the path, and that
//! permission was denied.

use std::path::{Path, PathBuf};

use memchr::memmem;
use scorpiox_audit::Uses;
use scorpiox_paths::{Walks, normalized};
use scorpiox_policy::DenySet;

/// What programs print, in upper or lower case.
const WORDS: &[u8] = b"ermission denied";
/// Longest line that is looked at, in bytes.
const MAX_LINE_BYTES: usize = 1024;
/// Most lines that are kept.
const MAX_LINES: usize = 64;
/// What stands around paths in messages.
const AROUND: [char; 9] = [':', '\'', '"', '`', '‘', '’', ',', '(', ')'];

/// Lines of a command's output that tell of it.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// The end of what was looked at.
    before: Vec<u8>,
    lines: Vec<String>,
}

impl Met {
    /// Takes what was printed next.
    pub(super) fn look(&mut self, bytes: &[u8]) {
        if self.lines.len() >= MAX_LINES {
            return;
        }
        // A line may have begun before.
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
        for at in memmem::find_iter(text, WORDS) {
            let begin = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |begin| begin + 1);
            let end = text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| at + end);
            let line = String::from_utf8_lossy(&text[begin.max(at.saturating_sub(MAX_LINE_BYTES))..end]);
            let is_new = !self.lines.iter().any(|known| *known == line);
            if is_new && line.len() <= 2 * MAX_LINE_BYTES && self.lines.len() < MAX_LINES {
                self.lines.push(line.into_owned());
            }
        }
    }

    /// Notes each folder with a denied file that was named, and the rule; of the file nothing.
    pub(super) fn note(&self, uses: &Uses, workspace: &Path, deny: &DenySet) {
        let mut paths: Vec<PathBuf> = Vec::new();
        for line in &self.lines {
            let pieces = line.split(AROUND).chain(line.split(|c: char| c == ' ' || AROUND.contains(&c)));
            let named = pieces.map(str::trim).filter(|piece| !piece.is_empty());
            paths.extend(named.map(|piece| normalized(&workspace.join(piece))));
        }
        paths.sort_unstable();
        paths.dedup();
        // A command chooses what it prints: of what leads too far nothing is said.
        let mut walks = Walks::default();
        for path in paths {
            let mut led = || walks.follow(&path).ok().and_then(|trail| deny.matches(&trail.end));
            if let Some(rule) = deny.matches(&path).or_else(&mut led) {
                let folder = path.parent().unwrap_or(&path);
                let (glob, rule) = (rule.glob(), rule.source.to_string());
                if is_in_git(&path, workspace) {
                    let how = format!(
                        "hidden by \"{glob}\" in `deny`, as the command's output says; what git keeps of it is not"
                    );
                    uses.hidden("files", folder.display(), &how, rule);
                } else {
                    let why = format!("denied by \"{glob}\" in `deny`, as the command's output says");
                    uses.denied("files", folder.display(), &why, rule);
                }
            }
        }
    }
}

/// Reports whether a path lies in a repository's work tree: git's objects may hold what the path's file has, and a command that
/// was refused the file may have printed it from there.
fn is_in_git(path: &Path, workspace: &Path) -> bool {
    let above = path.ancestors().skip(1).take_while(|folder| folder.starts_with(workspace));
    above.into_iter().any(|folder| folder.join(".git").symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use scorpiox_policy::{DenyRule, Places, Source};

    use super::*;

    /// The lines of uses after this output, in pieces.
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
        let in_w = "files /w, refused: denied by \"**/.env*\" in `deny`, as the command's output says";
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
            ["files /h/.ssh, refused: denied by \"~/.ssh\" in `deny`, as the command's output says"]
        );
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

    /// `git archive` prints a file that is denied, and that it may not look for attributes beside it.
    #[test]
    fn what_git_may_have_printed_is_not_said_to_be_denied() {
        let root = tempfile::tempdir().expect("a folder");
        let workspace = root.path().join("w");
        std::fs::create_dir_all(workspace.join("finance")).expect("creates");
        let places = Places::standard(workspace.clone(), Some("/h".into()), Path::new("/h/.own"));
        let rule = DenyRule::parse("finance/", Source::Line(4)).expect("a glob");
        let deny = DenySet::new(&[rule], std::slice::from_ref(&workspace), &places);
        let said = || {
            let (mut met, uses) = (Met::default(), Uses::default());
            met.look(b"warning: unable to access 'finance/.gitattributes': Permission denied\n");
            met.note(&uses, &workspace, &deny);
            (uses.was_denied(), uses.lines().join("\n"))
        };
        let (was_denied, line) = said();
        assert!(was_denied && line.contains("refused: denied by"), "{line}");
        std::fs::create_dir(workspace.join(".git")).expect("creates");
        let (was_denied, line) = said();
        assert!(!was_denied && line.contains("hidden: hidden by \"") && !line.contains("denied"), "{line}");
    }
}
