//! Finds commands in quoted text: bash runs them if it evaluates the text later.

use crate::Found;
use crate::word::{ANY, Word};

/// Beginnings of commands in a text.
const BEGINNINGS: [&str; 4] = ["$(", "`", "${ ", "${|"];

/// Variables of bash whose values are numbers, which it evaluates when they are assigned. Some ignore assignments.
const NUMBERS: [&str; 18] = [
    "BASHPID",
    "BASH_ARGV0",
    "BASH_MONOSECONDS",
    "BASH_SUBSHELL",
    "COLUMNS",
    "COMP_POINT",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "HISTCMD",
    "LINENO",
    "LINES",
    "OPTERR",
    "OPTIND",
    "PPID",
    "RANDOM",
    "READLINE_POINT",
    "SECONDS",
    "SRANDOM",
];

/// Commands in quoted text, and the ways in which they become values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // a set of facts
pub(crate) struct Hidden {
    /// `true` if a value has a command in its text.
    in_value: bool,
    /// `true` if an argument has a command in its text. Functions take it for a value.
    in_argument: bool,
    /// `true` if the text defines functions.
    pub(crate) has_functions: bool,
    /// `true` if the subscript of an array has a command, in any text.
    in_subscript: bool,
}

impl Hidden {
    /// Returns `true` if the value of a variable may have a command in its text.
    pub(crate) fn may_be_a_value(&self) -> bool {
        self.in_value || self.has_functions && self.in_argument
    }

    /// Returns `true` if the subscript of an array, in any text, may have a command.
    pub(crate) fn may_be_a_subscript(&self) -> bool {
        self.in_subscript
    }
}

impl Found {
    /// Notes a text that bash may evaluate as it is, without the expansions that were read in it.
    pub(crate) fn hides(&mut self, text: &str) {
        self.hidden.in_value |= has_command(text);
    }

    /// Notes words that bash may evaluate.
    pub(crate) fn hides_in(&mut self, words: &[Word]) {
        for word in words {
            self.hides(&word.written());
        }
    }

    /// Notes the arguments of a command, which may be a function, or write them to where they are read as values.
    pub(crate) fn hides_as_argument(&mut self, words: &[Word]) {
        for word in words {
            let text = word.written();
            self.hidden.in_argument |= has_command(&text);
            self.has_subscripts(&text);
            if text.contains('\\') {
                self.has_subscripts(&unescaped(&text));
            }
        }
    }

    /// Notes a text with subscripts that may have commands.
    pub(crate) fn has_subscripts(&mut self, text: &str) {
        self.hidden.in_subscript |= has_command_in_subscript(text);
    }

    /// Notes the arguments of `printf`, which replaces escapes.
    pub(crate) fn hides_escaped(&mut self, words: &[Word]) {
        for word in words {
            let text = word.written();
            self.hides(&text);
            self.hides(&unescaped(&text));
            // An octal number may have another zero in front.
            self.hides(&unescaped(&text.replace("\\0", "\\")));
        }
    }

    /// Notes an assignment to a variable that bash evaluates.
    pub(crate) fn evaluates(&mut self, name: &str) {
        self.has_arithmetic |= NUMBERS.contains(&name);
    }
}

fn has_command(text: &str) -> bool {
    let has = |text: &str| BEGINNINGS.iter().any(|begin| text.contains(begin));
    // A part that is not known may be empty.
    has(text) || text.contains(ANY) && has(&text.replace(ANY, ""))
}

/// Returns `true` if a text has the name of an array and a command in the subscript after it, with or without quotes.
fn has_command_in_subscript(text: &str) -> bool {
    let (mut open, mut is_after_name) = (0_usize, false);
    let mut chars = text.chars().filter(|c| *c != '\\' && *c != ANY).peekable();
    while let Some(c) = chars.next() {
        match c {
            '[' if open > 0 || is_after_name => open += 1,
            ']' => open = open.saturating_sub(1),
            // No arithmetic has it.
            ';' => open = 0,
            '`' if open > 0 => return true,
            '$' if open > 0 && chars.peek() == Some(&'(') => return true,
            _ => {}
        }
        is_after_name = c.is_ascii_alphanumeric() || c == '_';
    }
    false
}

/// Returns the text of `$'…'`, as far as its escapes write characters of ASCII.
pub(crate) fn unescaped(text: &str) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        found.push_str(before);
        let mut chars = after.chars();
        let (radix, most, begin) = match chars.next() {
            Some('x') => (16, 2, 1),
            Some('u') => (16, 4, 1),
            Some('U') => (16, 8, 1),
            Some('0'..='7') => (8, 3, 0),
            Some(c) => {
                found.push(c);
                rest = chars.as_str();
                continue;
            }
            None => return found,
        };
        // Bash also takes a brace around hexadecimal digits.
        let braced = after[begin..].starts_with('{') && radix == 16;
        let digits = &after[begin + usize::from(braced)..];
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let end = if braced { end } else { end.min(most) };
        // Bash takes the lowest byte of a larger number, which three digits tell.
        let code = u32::from_str_radix(&digits[end.saturating_sub(3)..end], radix).unwrap_or_default();
        found.push(char::from((code & 0xff) as u8));
        rest = &digits[end..];
        rest = rest.strip_prefix('}').filter(|_| braced).unwrap_or(rest);
    }
    found.push_str(rest);
    found
}
