//! Patterns for programs with their arguments.

use std::fmt;

use crate::word::{ANY, Count, Word};
use crate::{Found, Started};

/// Maximum length of a pattern, in bytes, and maximum number of its words.
const MAX_PATTERN_BYTES: usize = 512;
const MAX_PATTERN_WORDS: usize = 32;
/// Characters that a shell takes out of words.
const QUOTES: [char; 3] = ['"', '\'', '\\'];

/// Answer to the question whether a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It does not.
    No,
    /// That cannot be known before the command runs.
    Unknown,
    /// It does.
    Yes,
}

/// A pattern such as `git push *`. In a word, `*` stands for any characters; as a word, for any number of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramPattern {
    text: String,
    words: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Any number of words.
    Rest,
    /// A word, with `*` for any characters.
    Word(String),
}

/// Mistake in a pattern, with a suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// Mistake.
    pub what: &'static str,
    /// Suggestion.
    pub fix: &'static str,
}

impl fmt::Display for ProgramPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ProgramPattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self, Unusable> {
        let words: Vec<_> = text.split_whitespace().collect();
        let mistake = |what, fix| Err(Unusable { what, fix });
        if words.is_empty() || text.len() > MAX_PATTERN_BYTES || words.len() > MAX_PATTERN_WORDS {
            return mistake("has no words, or too many", "write 1 to 32 words in at most 512 bytes");
        }
        if text.contains(char::is_control) {
            return mistake("has a control character", "write words with blanks between them");
        }
        if text.contains(QUOTES) {
            return mistake(
                "has quotes or a backslash",
                "leave them out: words are compared without them; `*` stands for blanks, too",
            );
        }
        if words[0].contains('/') {
            return mistake(
                "begins with a path",
                "write the name alone: the folder of a program is not compared",
            );
        }
        let part = |word: &&str| if *word == "*" { Part::Rest } else { Part::Word((*word).to_owned()) };
        Ok(Self { text: words.join(" "), words: words.iter().map(part).collect() })
    }

    /// Judges the programs of a text. After too many steps for this text, the answer is unknown.
    pub fn judge(&self, found: &Found) -> Match {
        let words = found.started.iter().flat_map(|started| &started.words);
        let bytes: usize = words.map(|word| word.text.len() + 1).sum();
        if !found.budget.take(bytes.saturating_mul(self.text.len()) as u64) {
            return Match::Unknown;
        }
        let best = found.started.iter().map(|started| self.judge_one(started)).max();
        best.unwrap_or(Match::No).max(if found.unknown.is_some() { Match::Unknown } else { Match::No })
    }

    fn judge_one(&self, started: &Started) -> Match {
        if self.matches(&started.words, false) {
            Match::Yes
        } else if self.matches(&started.words, true) {
            Match::Unknown
        } else {
            Match::No
        }
    }

    /// Returns `true` if the pattern matches words: whatever their unknown parts are, or, if `perhaps` is set, for some
    /// content of them.
    fn matches(&self, words: &[Word], perhaps: bool) -> bool {
        // Parts that may follow the words so far.
        let mut open = vec![false; self.words.len() + 1];
        open[0] = true;
        self.pass_rests(&mut open);
        for (at, word) in words.iter().enumerate() {
            let mut next = vec![false; open.len()];
            let known = word.text();
            for from in (0..open.len()).filter(|from| open[*from]) {
                let part = self.words.get(from);
                if part == Some(&Part::Rest) {
                    next[from] = true;
                }
                if word.count == Count::Any && perhaps {
                    next[from] = true;
                }
                let fits = match (part, known) {
                    (Some(Part::Word(glob)), Some(text)) => is_match(glob, text, at == 0),
                    (Some(Part::Word(glob)), None) if perhaps => match word.count {
                        Count::One | Count::Alike => overlap(glob, &word.text),
                        Count::Some | Count::Any => true,
                    },
                    _ => false,
                };
                if fits {
                    next[from + 1] = true;
                }
            }
            if perhaps && word.count != Count::One {
                // One word may become several.
                for from in 0..self.words.len() {
                    if next[from] && from > 0 {
                        let fits = match &self.words[from] {
                            Part::Rest => true,
                            Part::Word(glob) => word.count != Count::Alike || overlap(glob, &word.text),
                        };
                        next[from + 1] |= fits;
                    }
                }
            }
            self.pass_rests(&mut next);
            open = next;
        }
        open[self.words.len()]
    }

    /// Opens the parts after those that may be empty.
    fn pass_rests(&self, open: &mut [bool]) {
        for (at, part) in self.words.iter().enumerate() {
            if open[at] && *part == Part::Rest {
                open[at + 1] = true;
            }
        }
    }
}

/// Returns `true` if a glob matches a text. Where file names have no case, those of programs have none either.
fn is_match(glob: &str, text: &str, is_program: bool) -> bool {
    if is_program && cfg!(any(target_os = "macos", windows)) {
        return overlap(&glob.to_ascii_lowercase(), &text.to_ascii_lowercase());
    }
    overlap(glob, text)
}

/// Returns `true` if a glob matches a text with some content of its unknown parts.
fn overlap(glob: &str, text: &str) -> bool {
    let glob: Vec<char> = glob.chars().collect();
    // Parts of the glob that may follow the text so far.
    let mut open = vec![false; glob.len() + 1];
    open[0] = true;
    pass_stars(&glob, &mut open);
    for c in text.chars() {
        if c == ANY {
            // Everything after the first open part.
            let first = open.iter().position(|is_open| *is_open).unwrap_or(open.len());
            open.iter_mut().skip(first).for_each(|is_open| *is_open = true);
            continue;
        }
        let mut next = vec![false; open.len()];
        for at in (0..glob.len()).filter(|at| open[*at]) {
            if glob[at] == '*' {
                next[at] = true;
            } else if glob[at] == c {
                next[at + 1] = true;
            }
        }
        pass_stars(&glob, &mut next);
        open = next;
    }
    open[glob.len()]
}

fn pass_stars(glob: &[char], open: &mut [bool]) {
    for (at, c) in glob.iter().enumerate() {
        if open[at] && *c == '*' {
            open[at + 1] = true;
        }
    }
}
