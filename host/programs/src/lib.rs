//! Finds the programs that a shell command starts, as far as its text tells.
//!
//! Reading order: `reader` reads words and everything inside them, as bash does, and `grammar` the commands around
//! them. `started` decides which programs a simple command starts: `sudo git push` starts two. `wrappers` has the usage
//! of programs that start others, and `builtins` judges commands of the shell itself. [`ProgramPattern`] selects programs.
//!
//! Invariant: every simple command is found, or the text is unknown ([`Found::unknown`]). Input that bash might read in
//! another way is unknown. Reading takes linear time in a bounded depth and cannot panic.
//!
//! The text tells what a command says, not what it does: a program can start others. The caller decides what that means.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod budget;
mod builtins;
mod grammar;
mod hidden;
mod pattern;
mod reader;
mod started;
mod starting;
mod word;
mod wrappers;

pub use pattern::{Match, ProgramPattern, Unusable};
pub use word::Word;

use budget::Budget;
use hidden::Hidden;
use reader::Reader;

/// Maximum length of a text, in bytes.
pub const MAX_BYTES: usize = 64 << 10;
/// Maximum depth of commands inside each other.
const MAX_DEPTH: usize = 32;
/// Maximum number of words in all simple commands of a text, where a command that starts another counts twice.
const MAX_WORDS: usize = 20_000;

/// Program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Name without its folder, and arguments.
    pub words: Vec<Word>,
}

/// Programs that a text starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Programs in the order of the text.
    pub started: Vec<Started>,
    /// First reason why the text may start other programs, as a noun.
    pub unknown: Option<String>,
    /// Number of words so far.
    words: usize,
    /// `true` if bash evaluates values: as arithmetic, or as the values of an array.
    has_arithmetic: bool,
    /// Commands in quoted text.
    hidden: Hidden,
    /// Steps that are left for comparisons with patterns.
    budget: Budget,
}

impl Found {
    /// Finds the programs of a shell command.
    pub fn in_text(text: &str) -> Self {
        let mut found = Self::default();
        found.read(text, 0);
        // Bash runs the commands in subscripts when it evaluates the value of a variable.
        found.has_subscripts(text);
        let begins = ["[$(", "[`", "[\\$(", "[\\`"].iter().any(|begin| text.contains(begin));
        if found.has_arithmetic && (begins || found.hidden.may_be_a_subscript()) {
            found.doubt("a command in a subscript");
        }
        if found.has_arithmetic && found.hidden.may_be_a_value() {
            found.doubt("a command in a value that may be evaluated");
        }
        found
    }

    /// Adds the programs of a text at a depth.
    fn read(&mut self, text: &str, depth: usize) {
        if text.len() > MAX_BYTES {
            return self.doubt(format!("a text of more than {MAX_BYTES} bytes"));
        }
        if text.contains(word::ANY) {
            return self.doubt("a zero byte");
        }
        if depth > MAX_DEPTH {
            return self.doubt(TOO_DEEP);
        }
        if let Err(why) = Reader::new(text, depth, self).whole() {
            self.doubt(why);
        }
    }

    /// Records a reason why programs are unknown.
    fn doubt(&mut self, why: impl Into<String>) {
        self.unknown.get_or_insert(why.into());
    }
}

/// Reason for commands that are too deep.
const TOO_DEEP: &str = "commands that are too deep in each other";

#[cfg(test)]
mod tests;
