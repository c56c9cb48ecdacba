//! Reading lines back, over all files, while they are written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::files::{Opened, open_all};
use crate::system::Identity;

/// Longest line that is read: more than the longest that is written.
pub(crate) const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// A line, as it was written. What is missing is empty: other versions may write other members.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Record {
    /// When the call began.
    pub time: String,
    /// Of which server.
    pub pid: u32,
    /// The user's name.
    pub user: String,
    /// The user's number.
    pub uid: Option<u32>,
    /// The machine's name.
    pub machine: String,
    /// The hash of the policy.
    pub policy: String,
    /// For which folder.
    pub workspace: String,
    /// Who called.
    pub client: Option<Client>,
    /// Who used that client, over HTTP; empty over standard input and output.
    pub principal: String,
    /// Who vouches for that; empty where the server does itself.
    pub issuer: String,
    /// What was called; empty in a line that tells of lost ones.
    pub tool: String,
    /// Which component ran.
    pub component: Option<String>,
    /// The plugin, where that component is of one.
    pub plugin: Option<Plugin>,
    /// What it touched.
    pub uses: Vec<Use>,
    /// Uses that were not kept.
    pub more_uses: u64,
    /// Those of them that were denied.
    pub more_denied: u64,
    /// How long it took.
    pub duration_ms: f64,
    /// The most memory of its guest.
    pub memory_bytes: u64,
    /// The trace that it is part of; empty where its caller said nothing of one.
    pub trace_id: String,
    /// How it ended.
    pub outcome: String,
    /// What stopped it.
    pub fault: Option<String>,
    /// Calls of its principal that were refused for the same reason just after it, and have no lines.
    pub more_calls: u64,
    /// Lines that could not be written before this one.
    pub lost: u64,
}

/// Who called, as it said itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Client {
    pub name: String,
    pub version: String,
}

/// The plugin of a component.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Plugin {
    pub name: String,
    pub version: String,
    /// Of all of it, as policies list it; empty if the line does not say it.
    pub hash: String,
}

/// What a call touched.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Use {
    /// By which capability.
    pub capability: String,
    /// A host, a folder, a sandbox.
    pub what: String,
    /// Whether it could.
    pub allowed: bool,
    /// True if its name was hidden, which says nothing of other ways to it.
    pub hidden: bool,
    /// The reason, or the way in which it was hidden.
    pub why: String,
    /// The rule that decided.
    pub rule: String,
    /// The words of that rule then; empty where it is no line of a policy.
    pub rule_text: String,
    /// How often, where more than once.
    pub count: u64,
}

impl Use {
    /// Returns the rule as people need it: with its words, since the line may be another one by now.
    pub fn cited(&self) -> String {
        match &*self.rule_text {
            "" => self.rule.clone(),
            text => format!("{}: {text}", self.rule),
        }
    }
}

impl Record {
    /// A line, if it is whole.
    pub fn parse(line: &str) -> Option<Self> {
        // An array would do as a record, too.
        let record: Self = line.starts_with('{').then(|| serde_json::from_str(line).ok())??;
        (!record.tool.is_empty() || record.lost > 0).then_some(record)
    }

    /// Whether it is of a call that was refused since no line of it could be written.
    pub(crate) fn is_unrecorded(&self) -> bool {
        self.outcome == "refused" && self.fault.as_deref() == Some(crate::NOT_RECORDED)
    }

    /// How it ended, and how many calls beside it did, for people.
    pub fn ended(&self) -> String {
        let fault = self.fault.iter().map(|fault| format!(": {fault}"));
        let more = Some(self.more_calls).filter(|more| *more > 0).map(|more| format!(" (and {more} more)"));
        std::iter::once(self.outcome.clone()).chain(fault).chain(more).collect()
    }

    /// Uses whose names were hidden.
    pub fn hidden(&self) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(|used| used.hidden)
    }

    /// Uses that were denied.
    pub fn denied(&self) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(|used| !used.allowed && !used.hidden)
    }
}

/// What comes of a line.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // each lives for a moment
pub enum Line {
    /// It is whole: with its text.
    Whole(Record, String),
    /// It is damaged: a disk was full, or somebody changed it.
    Damaged,
}

/// Reads all lines, the oldest first, and then those that come.
#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    /// What is to be read, the next one last.
    next: Vec<Opened>,
    now: Option<(BufReader<File>, Identity)>,
    partial: Vec<u8>,
    /// A line that is too long is being left out.
    is_skipping: bool,
}

impl Reader {
    /// Of the log in this folder; there is nothing to read where none was written.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            next: Vec::new(),
            now: None,
            partial: Vec::new(),
            is_skipping: false,
        }
    }

    /// The next line; none when all that is there was read. Asked again it gives what came since.
    ///
    /// At the end of a file a line may be half written; it is given when the rest is there.
    #[allow(clippy::should_implement_trait)] // no iterator: it can go on after its end
    pub fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let Some((file, known)) = &mut self.now else {
                if self.next.is_empty() {
                    self.next = open_all(&self.folder)?;
                    self.next.reverse();
                }
                let Some(next) = self.next.pop() else { return Ok(None) };
                self.now = Some((BufReader::new(next.file), next.known));
                continue;
            };
            let room = MAX_LINE_BYTES.saturating_sub(self.partial.len() as u64);
            let read = file.by_ref().take(room.max(1)).read_until(b'\n', &mut self.partial)?;
            if self.partial.last() == Some(&b'\n') {
                let text = std::mem::take(&mut self.partial);
                if std::mem::take(&mut self.is_skipping) {
                    return Ok(Some(Line::Damaged));
                }
                if let Some(line) = line(&text[..text.len() - 1]) {
                    return Ok(Some(line));
                }
            } else if read > 0 {
                if self.partial.len() as u64 >= MAX_LINE_BYTES {
                    self.partial.clear();
                    self.is_skipping = true;
                }
            } else {
                let known = *known;
                if !self.advance(known)? {
                    return Ok(None);
                }
                if !std::mem::take(&mut self.partial).is_empty() || std::mem::take(&mut self.is_skipping) {
                    return Ok(Some(Line::Damaged));
                }
            }
        }
    }

    /// At the end of a file: goes on with the one after it, if there is one.
    fn advance(&mut self, known: Identity) -> io::Result<bool> {
        if self.next.is_empty() {
            let mut files = open_all(&self.folder)?;
            match files.iter().position(|file| file.known == known) {
                // The newest is not at its end: more may come.
                Some(at) if at + 1 == files.len() => return Ok(false),
                Some(at) => drop(files.drain(..=at)),
                // It was removed; what was written since is in others.
                None => {}
            }
            self.next = files;
            self.next.reverse();
        }
        self.now = None;
        Ok(true)
    }
}

/// Nothing for an empty line, which ends a torn one.
fn line(bytes: &[u8]) -> Option<Line> {
    if bytes.trim_ascii().is_empty() {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok();
    let record = text.and_then(|text| Some((Record::parse(text)?, text.to_owned())));
    Some(record.map_or(Line::Damaged, |(record, text)| Line::Whole(record, text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::files::CURRENT;
    use crate::{Bounds, Log};

    fn tools(reader: &mut Reader) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(line) = reader.next().unwrap() {
            found.push(match line {
                Line::Whole(record, _) => record.tool,
                Line::Damaged => "(damaged)".to_owned(),
            });
        }
        found
    }

    fn write(log: &mut Log, tool: &str) {
        log.append(&mut format!("{{\"tool\":\"{tool}\"}}\n").into_bytes()).unwrap();
    }

    #[test]
    fn lines_are_read_over_all_files_and_while_they_are_written() {
        let root = tempfile::tempdir().unwrap();
        assert!(tools(&mut Reader::new(&root.path().join("none"))).is_empty());
        let mut log = Log::new(root.path().to_owned(), Bounds { file_bytes: 30, files: 100 });
        let mut early = Reader::new(root.path());
        assert!(tools(&mut early).is_empty(), "there is no file yet");
        for tool in ["a", "b", "c"] {
            write(&mut log, tool);
        }
        let mut reader = Reader::new(root.path());
        assert_eq!(tools(&mut reader), ["a", "b", "c"]);
        for tool in ["d", "e", "f", "g", "h"] {
            write(&mut log, tool);
        }
        assert_eq!(tools(&mut reader), ["d", "e", "f", "g", "h"]);
        assert!(tools(&mut reader).is_empty());
        write(&mut log, "i");
        assert_eq!(tools(&mut reader), ["i"]);
        assert_eq!(tools(&mut early).concat(), "abcdefghi");
    }

    #[test]
    fn damaged_lines_are_told_of_and_left_out() {
        let root = tempfile::tempdir().unwrap();
        let long = "x".repeat(3 * 1024 * 1024);
        let text =
            format!("{{\"tool\":\"a\"}}\n{{\"to\n\n\u{0}\n[]\n{long}\n{{\"tool\":\"b\"}}\n{{\"tool\":\"c");
        fs::write(root.path().join(CURRENT), text).unwrap();
        let mut reader = Reader::new(root.path());
        assert_eq!(tools(&mut reader), ["a", "(damaged)", "(damaged)", "(damaged)", "(damaged)", "b"]);
        // The rest of the last line comes.
        let mut file = File::options().append(true).open(root.path().join(CURRENT)).unwrap();
        io::Write::write_all(&mut file, b"\"}\n").unwrap();
        assert_eq!(tools(&mut reader), ["c"]);
    }

    #[test]
    fn a_line_says_what_was_denied() {
        let text = r#"{"tool":"x","new":1,"uses":[{"capability":"web","what":"a:1","allowed":false,"why":"no"},{"allowed":true}]}"#;
        let record = Record::parse(text).unwrap();
        assert_eq!(record.denied().map(|used| used.what.as_str()).collect::<Vec<_>>(), ["a:1"]);
        assert!(record.client.is_none() && record.outcome.is_empty());
    }
}
