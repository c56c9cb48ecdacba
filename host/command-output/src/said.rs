//! Finds lines of an output in which programs complain about something that a sandbox changes: a service that is not
//! there, a missing file, and limits.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// Subject of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A refused connection.
    Refused,
    /// A server that listens.
    Listening,
    /// A file or repository that is not there.
    Missing,
    /// A full device.
    Full,
    /// Memory that was not given.
    Memory,
    /// A process or thread that was not started.
    Processes,
    /// A program that is not there.
    Program,
    /// The socket of Docker or Podman.
    Containers,
    /// The packages of the system.
    Packages,
    /// A port that only some may listen at.
    Port,
}

use Subject::{Containers, Full, Listening, Memory, Missing, Packages, Port, Processes, Program, Refused};

/// Words of programs and libraries about these subjects, without a first letter that may be a capital.
const WORDS: [(Subject, &[u8]); 41] = [
    (Refused, b"onnection refused"),
    (Refused, b"ECONNREFUSED"),
    (Refused, b"ouldn't connect to server"),
    (Listening, b"istening"),
    (Listening, b"://localhost:"),
    (Listening, b"://127.0.0.1:"),
    (Listening, b"://0.0.0.0:"),
    (Listening, b"://[::"),
    (Missing, b"o such file or directory"),
    (Missing, b"does not appear to be a git repository"),
    (Full, b"o space left on device"),
    (Full, b"ENOSPC"),
    (Memory, b"MemoryError"),
    (Memory, b"annot allocate memory"),
    (Memory, b"std::bad_alloc"),
    (Memory, b"memory allocation of "),
    (Memory, b"OutOfMemoryError"),
    (Memory, b"out of memory"),
    (Memory, b"memory exhausted"),
    (Memory, b"ENOMEM"),
    (Processes, b"ork: retry: "),
    (Processes, b"ork: Resource temporarily unavailable"),
    (Processes, b"annot fork"),
    (Processes, b"an't fork"),
    (Processes, b"an't start new thread"),
    (Processes, b"unable to create native thread"),
    (Processes, b"unable to create new native thread"),
    (Processes, b"failed to create new OS thread"),
    (Processes, b"ailed to spawn thread"),
    (Processes, b"thread constructor failed"),
    (Processes, b"spawn EAGAIN"),
    (Program, b"ommand not found"),
    (Program, b": not found"),
    (Containers, b"docker.sock"),
    (Containers, b"podman.sock"),
    (Packages, b"/var/lib/dpkg/lock"),
    (Packages, b"/var/lib/apt/lists"),
    (Packages, b"requires superuser privilege"),
    (Port, b"bind: permission denied"),
    (Port, b"listen EACCES"),
    (Port, b"bind() to "),
];
/// Maximum length of a line in bytes.
const MAX_LINE_BYTES: usize = 1024;
/// Maximum number of lines about a subject, and of hits until no more are looked for.
const MAX_LINES: usize = 16;
const MAX_HITS: usize = 4096;
/// Search automaton for all words.
static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(WORDS.map(|(_, words)| words)).ok()
});

/// Lines of an output about these subjects.
#[derive(Debug, Default)]
pub struct Said {
    /// Tail of the inspected output, for lines that span two chunks.
    before: Vec<u8>,
    lines: Vec<(Subject, String)>,
    hits: usize,
}

impl Said {
    /// Inspects the next chunk of output.
    pub fn look(&mut self, bytes: &[u8]) {
        if self.hits >= MAX_HITS {
            return;
        }
        let mut joined = std::mem::take(&mut self.before);
        joined.extend_from_slice(&bytes[..bytes.len().min(MAX_LINE_BYTES)]);
        self.find(&joined);
        if bytes.len() > MAX_LINE_BYTES {
            self.find(bytes);
            bytes.clone_into(&mut joined);
        }
        let line = joined.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        joined.drain(..line.max(joined.len().saturating_sub(MAX_LINE_BYTES)));
        self.before = joined;
    }

    fn find(&mut self, text: &[u8]) {
        for found in FINDER.iter().flat_map(|finder| finder.find_iter(text)) {
            self.hits += 1;
            let (subject, _) = WORDS[found.pattern().as_usize()];
            let about = self.lines.iter().filter(|(known, _)| *known == subject);
            if about.count() >= MAX_LINES {
                continue;
            }
            let at = found.start();
            let least = at.saturating_sub(MAX_LINE_BYTES);
            let begin =
                text[least..at].iter().rposition(|byte| *byte == b'\n').map_or(least, |end| least + end + 1);
            let rest = &text[at..text.len().min(at + MAX_LINE_BYTES)];
            let end = rest.iter().position(|byte| *byte == b'\n').map_or(at + rest.len(), |end| at + end);
            let line = String::from_utf8_lossy(&text[begin..end]).into_owned();
            if !self.lines.iter().any(|(known, other)| *known == subject && *other == line) {
                self.lines.push((subject, line));
            }
        }
    }

    /// Returns the first lines about a subject.
    pub fn lines(&self, subject: Subject) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(move |(known, _)| *known == subject).map(|(_, line)| line.as_str())
    }

    /// Returns `true` if a line is about a subject.
    pub fn speaks_of(&self, subject: Subject) -> bool {
        self.lines(subject).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&str]) -> Said {
        let mut said = Said::default();
        for piece in pieces {
            said.look(piece.as_bytes());
        }
        said
    }

    #[test]
    fn lines_are_found_whole_in_any_pieces() {
        let text = "one\ncat: /opt/x: No such file or directory\nMemoryError\nlast: Connection refused";
        let long = "y".repeat(5000);
        let bytes: Vec<_> = text.chars().map(String::from).collect();
        let bytes: Vec<_> = bytes.iter().map(String::as_str).collect();
        for pieces in
            [vec![text], bytes, vec![&long, "\n", text, "\n", &long], vec!["one\ncat: /o", &text[11..]]]
        {
            let said = of(&pieces);
            let lines: Vec<_> = said.lines(Missing).collect();
            assert_eq!(lines, ["cat: /opt/x: No such file or directory"], "{pieces:?}");
            assert_eq!(said.lines(Refused).last(), Some("last: Connection refused"));
            assert!(said.speaks_of(Memory) && !said.speaks_of(Full));
        }
    }

    #[test]
    fn programs_are_understood() {
        for (line, subject) in [
            (
                "curl: (7) Failed to connect to localhost port 80 after 0 ms: Couldn't connect to server",
                Refused,
            ),
            ("Error: connect ECONNREFUSED 127.0.0.1:5432", Refused),
            ("Serving HTTP on 0.0.0.0 port 8000 (http://0.0.0.0:8000/) ...", Listening),
            ("  Local:   http://localhost:5173/", Listening),
            ("dd: error writing '/tmp/big': No space left on device", Full),
            ("OSError: [Errno 12] Cannot allocate memory", Memory),
            ("bash: fork: retry: Resource temporarily unavailable", Processes),
            ("sh: 1: Cannot fork", Processes),
            ("RuntimeError: can't start new thread", Processes),
            ("bash: line 1: cargo: command not found", Program),
            ("sh: 1: cargo: not found", Program),
            ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", Containers),
            ("E: Could not open lock file /var/lib/dpkg/lock-frontend - open", Packages),
            ("listen tcp :80: bind: permission denied", Port),
        ] {
            assert!(of(&[line]).speaks_of(subject), "{line}");
        }
        assert!(of(&["all is well\n"]).lines.is_empty());
    }

    #[test]
    fn an_output_full_of_complaints_is_bounded() {
        let many: String = (0..10_000)
            .map(|index| format!("{index}: No such file or directory\n"))
            .collect::<Vec<_>>()
            .concat();
        let said = of(&[&many, "ENOSPC"]);
        assert_eq!(said.lines(Missing).count(), MAX_LINES);
        assert!(!said.speaks_of(Full));
    }
}
