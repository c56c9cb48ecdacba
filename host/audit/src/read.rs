//! Reads lines across all files, while servers append to them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::chain::Link;
use crate::files::{Opened, open_all};
use crate::system::Identity;

/// Maximum length of a line to read; longer than any written line.
pub(crate) const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// Parsed audit line. Missing members are empty, because other versions write other members.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Start time of the call.
    pub time: String,
    /// Process ID of the server.
    pub pid: u32,
    /// User name.
    pub user: String,
    /// User ID.
    pub uid: Option<u32>,
    /// Host name.
    pub machine: String,
    /// Hash of the policy.
    pub policy: String,
    /// Workspace directory of the server.
    pub workspace: String,
    /// Client that called.
    pub client: Option<Client>,
    /// Principal that used the client over HTTP; empty for stdio.
    pub principal: String,
    /// Issuer that vouches for the principal; empty if the server itself does.
    pub issuer: String,
    /// Name of the tool; empty in a line that reports lost lines.
    pub tool: String,
    /// Component that ran.
    pub component: Option<String>,
    /// Plugin that contains the component, if any.
    pub plugin: Option<Plugin>,
    /// Resources the call accessed.
    pub uses: Vec<Use>,
    /// Number of uses omitted from the line.
    pub more_uses: u64,
    /// Number of denied uses among those omitted.
    pub more_denied: u64,
    /// Duration of the call.
    pub duration_ms: f64,
    /// Peak memory of the guest.
    pub memory_bytes: u64,
    /// Trace ID; empty if the caller sent no trace context.
    pub trace_id: String,
    /// Outcome of the call.
    pub outcome: String,
    /// Reason of a refusal or failure.
    pub fault: Option<String>,
    /// Number of subsequent calls of the principal refused for the same reason, which have no lines.
    pub more_calls: u64,
    /// Number of lines lost before this one.
    pub lost: u64,
}

/// Client, as it identifies itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Client {
    pub name: String,
    pub version: String,
}

/// Plugin that contains a component.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Plugin {
    pub name: String,
    pub version: String,
    /// Hash of the plugin's complete contents, as listed in policies; empty if not recorded.
    pub hash: String,
}

/// Resource that a call accessed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Use {
    /// Capability that decided.
    pub capability: String,
    /// Host, directory, or sandbox.
    pub what: String,
    /// `true` if access was allowed.
    pub allowed: bool,
    /// `true` if the name was refused. Nothing is said about the content.
    pub hidden: bool,
    /// Outcome that a rule would have had that only reports; empty for others.
    pub reported: String,
    /// Reason of a denial, or of the refusal of the name.
    pub why: String,
    /// Rule that decided.
    pub rule: String,
    /// Text of that rule at the time; empty if the rule is not a policy line.
    pub rule_text: String,
    /// Number of occurrences, if more than one.
    pub count: u64,
}

impl Use {
    /// Returns the rule with its text, because the line number may refer to a different rule today.
    pub fn cited(&self) -> String {
        match &*self.rule_text {
            "" => self.rule.clone(),
            text => format!("{}: {text}", self.rule),
        }
    }
}

impl Record {
    /// Parses a line. Returns `None` if it is incomplete.
    pub fn parse(line: &str) -> Option<Self> {
        // Serde would also accept an array.
        let record: Self = line.starts_with('{').then(|| serde_json::from_str(line).ok())??;
        let is_line = !record.tool.is_empty() || record.lost > 0 || Link::read(line.as_bytes()).is_some();
        is_line.then_some(record)
    }

    /// Returns `true` if the call was refused because its line could not be written.
    pub(crate) fn is_unrecorded(&self) -> bool {
        self.outcome == "refused" && self.fault.as_deref() == Some(crate::NOT_RECORDED)
    }

    /// Describes the outcome for display, including the number of further calls with the same outcome.
    pub fn ended(&self) -> String {
        let fault = self.fault.iter().map(|fault| format!(": {fault}"));
        let more = Some(self.more_calls).filter(|more| *more > 0).map(|more| format!(" (and {more} more)"));
        std::iter::once(self.outcome.clone()).chain(fault).chain(more).collect()
    }

    /// Returns the uses whose names were refused.
    pub fn hidden(&self) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(|used| used.hidden)
    }

    /// Returns the outcomes of rules that only report.
    pub fn reported(&self) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(|used| !used.reported.is_empty())
    }

    /// Returns the approvals by a person.
    pub fn approved(&self) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(|used| used.capability == "approval" && used.allowed)
    }

    /// Returns the denied uses.
    pub fn denied(&self) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(|used| !used.allowed && !used.hidden && used.reported.is_empty())
    }
}

/// Result of reading a line.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // short-lived
pub enum Line {
    /// Complete line, with its text.
    Whole(Record, String),
    /// Damaged line: the disk was full, or the file was changed.
    Damaged,
}

/// Reads all lines, oldest first, and then follows new lines.
#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    /// Files to read, in reverse order.
    next: Vec<Opened>,
    now: Option<(BufReader<File>, Identity)>,
    partial: Vec<u8>,
    /// `true` while an overlong line is skipped.
    is_skipping: bool,
}

impl Reader {
    /// Creates a reader for the log in this directory. A missing directory yields no lines.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            next: Vec::new(),
            now: None,
            partial: Vec::new(),
            is_skipping: false,
        }
    }

    /// Returns the next line, or `None` at the end. Later calls return lines appended since.
    ///
    /// An incomplete line at the end of the current file is returned once it is complete.
    #[allow(clippy::should_implement_trait)] // not an iterator: continues after `None`
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

    /// Continues with the next file at the end of a file. Returns `false` if there is none.
    fn advance(&mut self, known: Identity) -> io::Result<bool> {
        if self.next.is_empty() {
            let mut files = open_all(&self.folder)?;
            match files.iter().position(|file| file.known == known) {
                // The current file may still grow.
                Some(at) if at + 1 == files.len() => return Ok(false),
                Some(at) => drop(files.drain(..=at)),
                // The file was removed; continue with the remaining files.
                None => {}
            }
            self.next = files;
            self.next.reverse();
        }
        self.now = None;
        Ok(true)
    }
}

/// Parses a line. Returns `None` for an empty line, which terminates a torn one.
pub(crate) fn line(bytes: &[u8]) -> Option<Line> {
    if bytes.trim_ascii().is_empty() {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok();
    let record = text.and_then(|text| Some((Record::parse(text)?, text.to_owned())));
    Some(record.map_or(Line::Damaged, |(record, text)| Line::Whole(record, text)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;

    use crate::files::CURRENT;
    use crate::{Bounds, Log};

    fn tools(reader: &mut Reader) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(line) = reader.next().unwrap() {
            found.push(tool_of(line));
        }
        found
    }

    pub(crate) fn tool_of(line: Line) -> String {
        match line {
            Line::Whole(record, _) => record.tool,
            Line::Damaged => "(damaged)".to_owned(),
        }
    }

    pub(crate) fn write(log: &mut Log, tool: &str) {
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
        // The rest of the last line arrives.
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
