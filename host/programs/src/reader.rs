//! Reads words, and everything inside of words, as bash does.

use crate::hidden::unescaped;
use crate::word::{ANY, Count, Word, is_name};
use crate::{Found, MAX_DEPTH, TOO_DEEP};

/// Reason why a text cannot be read. A noun.
pub(crate) type Why = &'static str;
/// Result of reading.
pub(crate) type Parsed<T> = Result<T, Why>;

pub(crate) const INCOMPLETE: Why = "an incomplete command";
pub(crate) const NO_SHELL: Why = "a text that is not valid for a shell";

/// Reason for lines that are joined where the parts would mean something else.
pub(crate) const JOINT: Why = "lines that are joined in the middle of a construct";

/// Characters that end a word unless they are quoted.
const METACHARACTERS: [char; 10] = [' ', '\t', '\n', '|', '&', ';', '(', ')', '<', '>'];
/// Length of a text beyond which a brace or a bracket in it counts as an expansion, in bytes: looking for its end again
/// and again takes time.
const LOOKAHEAD_BYTES: usize = 8 << 10;
/// Parameters with a name of one character.
const SPECIAL: &str = "@*#?-$!0123456789";

/// Here-document whose body follows the line.
#[derive(Debug)]
pub(crate) struct Heredoc {
    delimiter: String,
    is_indented: bool,
    is_quoted: bool,
}

/// Reader of a text.
pub(crate) struct Reader<'t, 'f> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    pub(crate) depth: usize,
    pub(crate) found: &'f mut Found,
    pub(crate) heredocs: Vec<Heredoc>,
}

pub(crate) fn is_metacharacter(c: char) -> bool {
    METACHARACTERS.contains(&c)
}

impl<'t, 'f> Reader<'t, 'f> {
    pub(crate) fn new(text: &'t str, depth: usize, found: &'f mut Found) -> Self {
        Self { text, at: 0, depth, found, heredocs: Vec::new() }
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips a character.
    pub(crate) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips a text, if it is next.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    pub(crate) fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.eat(text) { Ok(()) } else { Err(INCOMPLETE) }
    }

    /// Reads something that may contain itself.
    pub(crate) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Returns `true` before a line break after a backslash.
    pub(crate) fn is_at_joint(&self) -> bool {
        self.rest().starts_with("\\\n")
    }

    /// Skips blanks, and line breaks after a backslash.
    pub(crate) fn skip_blanks(&mut self) {
        while self.eat(" ") || self.eat("\t") || self.eat("\\\n") {}
    }

    /// Skips a comment, if the next word is one.
    pub(crate) fn skip_comment(&mut self) {
        if self.peek() == Some('#') {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Skips blanks, comments and lines, and reads the here-documents that begin after a line.
    pub(crate) fn skip_lines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            self.skip_comment();
            if !self.eat("\n") {
                return Ok(());
            }
            for heredoc in std::mem::take(&mut self.heredocs) {
                self.body(&heredoc)?;
            }
        }
    }

    /// Reads a word, which may be empty if none is next.
    pub(crate) fn word(&mut self) -> Parsed<Word> {
        let mut word = Word::default();
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.rest().get(1..).is_some_and(|rest| rest.starts_with('(')) => {
                    self.at += 2;
                    self.substitution()?;
                    word.end_plain();
                    word.text.push(ANY);
                }
                '(' if word.plain.is_none() && word.text.ends_with('=') && word.assigned().is_some() => {
                    self.array()?;
                }
                '(' if word.text.ends_with(['?', '*', '+', '@', '!', ANY]) => return Err("an extended glob"),
                _ if is_metacharacter(c) => break,
                _ => self.piece(c, &mut word)?,
            }
        }
        Ok(word)
    }

    /// Reads a part of a word that begins with a character.
    pub(crate) fn piece(&mut self, c: char, word: &mut Word) -> Parsed<()> {
        match c {
            '\\' => {
                if self.eat("\\\n") {
                    return Ok(());
                }
                self.bump();
                word.end_plain();
                word.text.push(self.bump().unwrap_or('\\'));
            }
            '\'' => {
                self.bump();
                word.end_plain();
                word.text.push_str(self.until('\'')?);
            }
            '"' => {
                self.bump();
                word.end_plain();
                self.double_quoted(word)?;
            }
            '$' => self.expansion(word, false)?,
            '`' => self.backquoted(word, false)?,
            '[' if is_name(&word.text) && word.plain.is_none() => self.subscript(word)?,
            // Several words, or names of files.
            '{' | '[' if self.is_expanded(c) => {
                self.bump();
                word.loses(c.encode_utf8(&mut [0; 4]));
                word.widen(Count::Some);
            }
            '*' | '?' => {
                self.bump();
                word.end_plain();
                word.text.push(ANY);
                word.count = if word.count == Count::One { Count::Alike } else { word.count };
            }
            _ => word.text.extend(self.bump()),
        }
        Ok(())
    }

    /// Returns `true` if a brace or a bracket, which is next, may begin an expansion.
    fn is_expanded(&self, c: char) -> bool {
        let rest = self.rest();
        if rest.len() > LOOKAHEAD_BYTES {
            return true;
        }
        let is_sought = |other: char| if c == '[' { other == ']' } else { other == ',' || other == '.' };
        let mut chars = rest.chars().skip(1).peekable();
        if c == '{' && chars.peek() == Some(&'}') {
            return false;
        }
        while let Some(other) = chars.next() {
            match other {
                '\\' => _ = chars.next(),
                '\'' => _ = chars.find(|end| *end == '\''),
                // Their ends depend on their content.
                '"' | '$' | '`' | '<' | '>' | '(' => return rest.contains(is_sought),
                _ if is_sought(other) => return true,
                _ if is_metacharacter(other) => return false,
                _ => {}
            }
        }
        false
    }

    /// Skips a text and the character that ends it. Returns the text.
    pub(crate) fn until(&mut self, end: char) -> Parsed<&'t str> {
        let rest = self.rest();
        let (inside, _) = rest.split_once(end).ok_or(INCOMPLETE)?;
        self.at += inside.len() + end.len_utf8();
        Ok(inside)
    }

    /// Reads text in double quotes, after the first one.
    fn double_quoted(&mut self, word: &mut Word) -> Parsed<()> {
        loop {
            match self.peek().ok_or(INCOMPLETE)? {
                '"' => {
                    self.bump();
                    return Ok(());
                }
                '\\' => {
                    self.bump();
                    match self.peek() {
                        Some('\n') => _ = self.bump(),
                        Some('$' | '`' | '"' | '\\') => word.text.extend(self.bump()),
                        _ => word.text.push('\\'),
                    }
                }
                '$' => self.expansion(word, true)?,
                '`' => self.backquoted(word, true)?,
                _ => word.text.extend(self.bump()),
            }
        }
    }

    /// Reads an expansion that begins with `$`, or the `$` itself.
    pub(crate) fn expansion(&mut self, word: &mut Word, is_quoted: bool) -> Parsed<()> {
        self.bump();
        if self.is_at_joint() {
            return Err(JOINT);
        }
        word.end_plain();
        let mut is_list = false;
        match self.peek() {
            Some('(') => {
                let end = self.rest().starts_with("((").then(|| self.arithmetic_end()).flatten();
                if let Some(end) = end {
                    self.arithmetic(end)?;
                } else {
                    self.bump();
                    self.substitution()?;
                }
            }
            Some('{') => {
                let begin = self.at;
                self.deeper(|reader| reader.braced(is_quoted))?;
                let inside = self.text.get(begin + 1..self.at).unwrap_or_default();
                is_list = inside.contains('@');
                self.judge_expansion(inside)?;
            }
            Some('[') => return Err("an old form of arithmetic"),
            Some('\'') if !is_quoted => {
                self.bump();
                self.ansi_quoted(word)?;
                word.text.push(ANY);
                return Ok(());
            }
            // The quotes follow.
            Some('"') if !is_quoted => return Ok(()),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let rest = self.rest();
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                self.at += end.unwrap_or(rest.len());
            }
            Some(c) if SPECIAL.contains(c) => {
                is_list = c == '@';
                self.bump();
            }
            _ => {
                word.text.push('$');
                return Ok(());
            }
        }
        if is_quoted && !is_list {
            word.text.push(ANY);
        } else {
            let count = if word.may_vanish() { Count::Any } else { Count::Some };
            word.widen(count);
        }
        Ok(())
    }

    /// Judges the text between the braces of an expansion: some assign, or run the value of a variable.
    fn judge_expansion(&mut self, inside: &str) -> Parsed<()> {
        if inside.contains("\\\n") {
            return Err(JOINT);
        }
        if inside.contains("@P") {
            return Err("a prompt that is expanded");
        }
        self.found.has_arithmetic |= inside.contains([':', '[']) || inside.starts_with('!');
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
        let (name, operator) = inside.split_at(end);
        if operator.contains('=') {
            self.found.assigns(name);
        }
        if inside.starts_with('!') && operator.contains('=') {
            return Err("an assignment to a variable that is not written out");
        }
        Ok(())
    }

    /// Reads the commands of a substitution, after its opening parenthesis.
    pub(crate) fn substitution(&mut self) -> Parsed<()> {
        let outer = std::mem::take(&mut self.heredocs);
        self.deeper(Self::in_parentheses)?;
        if !self.heredocs.is_empty() {
            return Err("a here-document without its text");
        }
        self.heredocs = outer;
        Ok(())
    }

    /// Reads `${…}`.
    fn braced(&mut self, is_quoted: bool) -> Parsed<()> {
        self.bump();
        if self.rest().starts_with([' ', '\t', '\n', '|']) {
            return Err("commands in `${ }`");
        }
        let mut word = Word::default();
        loop {
            match self.peek().ok_or(INCOMPLETE)? {
                '}' => {
                    self.bump();
                    self.found.hides(&word.written());
                    return Ok(());
                }
                '\\' => {
                    self.bump();
                    word.text.extend(self.bump());
                }
                // Their meaning depends on the operator.
                '\'' if is_quoted => return Err("single quotes in `\"${ }\"`"),
                '\'' => {
                    self.bump();
                    word.text.push_str(self.until('\'')?);
                }
                '"' => {
                    self.bump();
                    self.double_quoted(&mut word)?;
                }
                '$' => self.deeper(|reader| reader.expansion(&mut word, is_quoted))?,
                '`' => self.backquoted(&mut word, is_quoted)?,
                '<' | '>' if self.rest().get(1..).is_some_and(|rest| rest.starts_with('(')) => {
                    return Err("a process substitution in `${ }`");
                }
                _ => word.text.extend(self.bump()),
            }
        }
    }

    /// Skips text in `$'…'`, after the first quote.
    fn ansi_quoted(&mut self, word: &mut Word) -> Parsed<()> {
        let begin = self.at;
        loop {
            match self.bump().ok_or(INCOMPLETE)? {
                '\'' => break,
                '\\' => _ = self.bump(),
                _ => {}
            }
        }
        let text = self.text.get(begin..self.at - 1).unwrap_or_default();
        let text = unescaped(text);
        self.found.hides(&text);
        word.loses(&text);
        Ok(())
    }

    /// Reads commands in backquotes.
    pub(crate) fn backquoted(&mut self, word: &mut Word, is_quoted: bool) -> Parsed<()> {
        self.bump();
        let mut inside = String::new();
        loop {
            match self.bump().ok_or(INCOMPLETE)? {
                '`' => break,
                '\\' => match self.peek() {
                    Some('$' | '`' | '\\') => inside.extend(self.bump()),
                    Some('"') if is_quoted => inside.extend(self.bump()),
                    _ => inside.push('\\'),
                },
                c => inside.push(c),
            }
        }
        self.found.read(&inside, self.depth + 1);
        word.end_plain();
        if is_quoted {
            word.text.push(ANY);
        } else {
            let count = if word.may_vanish() { Count::Any } else { Count::Some };
            word.widen(count);
        }
        Ok(())
    }

    /// Reads the subscript of an array's name; without an assignment after it, the word is a glob. Before a program, bash
    /// reads blanks and operators as parts of a subscript, too.
    fn subscript(&mut self, word: &mut Word) -> Parsed<()> {
        self.bump();
        let mut inside = Word::default();
        loop {
            match self.peek().ok_or(INCOMPLETE)? {
                ']' => break,
                c if is_metacharacter(c) => return Err("a subscript with a blank or an operator"),
                '[' => return Err("an array in the subscript of an array"),
                c => self.deeper(|reader| reader.piece(c, &mut inside))?,
            }
        }
        self.bump();
        if self.rest().starts_with('=') || self.rest().starts_with("+=") {
            self.found.has_arithmetic = true;
            self.found.hides(&inside.written());
            word.text.push_str("[]");
        } else {
            word.loses(&format!("[{}]", inside.written()));
            word.widen(Count::Some);
        }
        Ok(())
    }

    /// Returns `true` if the text since a position has quotes.
    fn has_quotes(&self, begin: usize) -> bool {
        self.text.get(begin..self.at).is_some_and(|read| read.contains(['\'', '\\']))
    }

    /// Reads the values of an array.
    fn array(&mut self) -> Parsed<()> {
        self.bump();
        loop {
            self.skip_lines()?;
            if self.eat(")") {
                return Ok(());
            }
            let before = self.at;
            let has_subscript = self.peek() == Some('[');
            let value = self.deeper(Self::word)?;
            if self.at == before {
                return Err(NO_SHELL);
            }
            self.found.has_arithmetic |= has_subscript;
            // A subscript makes the word unknown.
            let read = self.text.get(before..self.at).filter(|_| has_subscript && self.has_quotes(before));
            self.found.hides(read.unwrap_or_default());
            self.found.hides(&value.written());
        }
    }

    /// Returns the position of `))` that ends the arithmetic after `((`, which is next. `None` if it is no arithmetic
    /// but a subshell in another one. Bash decides in the same way.
    pub(crate) fn arithmetic_end(&self) -> Option<usize> {
        let begin = self.at + 2;
        let mut open = 0_usize;
        let mut reader = self.text.get(begin..)?.char_indices();
        while let Some((at, c)) = reader.next() {
            match c {
                '\\' => _ = reader.next(),
                '\'' | '`' => _ = reader.find(|(_, other)| *other == c)?,
                '"' => loop {
                    match reader.next()?.1 {
                        '"' => break,
                        '\\' => _ = reader.next(),
                        _ => {}
                    }
                },
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' => {
                    let end = begin + at;
                    return self.text.get(end..)?.starts_with("))").then_some(end);
                }
                _ => {}
            }
        }
        None
    }

    /// Reads arithmetic to its end, from the `((` before it.
    pub(crate) fn arithmetic(&mut self, end: usize) -> Parsed<()> {
        self.at += 2;
        self.found.has_arithmetic = true;
        let inside = self.text.get(self.at..end).unwrap_or_default();
        if inside.contains('=') {
            let names = inside.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            names.for_each(|name| self.found.assigns(name));
        }
        self.expansions_to(end, true)?;
        self.expect("))")
    }

    /// Reads the expansions in a text.
    fn expansions_to(&mut self, end: usize, has_quotes: bool) -> Parsed<()> {
        let mut word = Word::default();
        while self.at < end {
            match self.peek() {
                Some('\\') => {
                    self.bump();
                    word.text.extend(self.bump());
                }
                Some('$') => self.deeper(|reader| reader.expansion(&mut word, true))?,
                Some('`') => self.backquoted(&mut word, true)?,
                Some('\'') if has_quotes => {
                    self.bump();
                    word.text.push_str(self.until('\'')?);
                }
                Some('"') if has_quotes => {
                    self.bump();
                    self.deeper(|reader| reader.double_quoted(&mut word))?;
                }
                _ => word.text.extend(self.bump()),
            }
        }
        if has_quotes {
            self.found.hides(&word.written());
        }
        if self.at == end { Ok(()) } else { Err(NO_SHELL) }
    }

    /// Reads the delimiter of a here-document.
    pub(crate) fn heredoc(&mut self, is_indented: bool) -> Parsed<()> {
        self.skip_blanks();
        let begin = self.at;
        let word = self.word()?;
        let raw = self.text.get(begin..self.at).unwrap_or_default();
        if raw.is_empty() || raw.contains(['$', '`', '(', '\n', '*', '?', '[', '{']) {
            return Err("an unusual delimiter of a here-document");
        }
        let is_quoted = raw.contains(['\'', '"', '\\']);
        self.heredocs.push(Heredoc { delimiter: word.text, is_indented, is_quoted });
        Ok(())
    }

    /// Reads the text of a here-document. It ends with the text of the command at the latest.
    fn body(&mut self, heredoc: &Heredoc) -> Parsed<()> {
        let mut body = String::new();
        while !self.rest().is_empty() {
            let line = self.line(heredoc);
            if line == heredoc.delimiter {
                break;
            }
            body.push_str(&line);
            body.push('\n');
        }
        self.found.has_subscripts(&body);
        if heredoc.is_quoted {
            return Ok(());
        }
        let depth = self.depth;
        self.deeper(|reader| {
            let mut inside = Reader::new(&body, depth + 1, reader.found);
            inside.expansions_to(body.len(), false)
        })
    }

    /// Returns a line of a here-document, joined with those that follow after a backslash.
    fn line(&mut self, heredoc: &Heredoc) -> String {
        let mut line = String::new();
        loop {
            let rest = self.rest();
            let next = rest.split('\n').next().unwrap_or_default();
            self.at = (self.at + next.len() + 1).min(self.text.len());
            line.push_str(next);
            let slashes = line.len() - line.trim_end_matches('\\').len();
            if heredoc.is_quoted || slashes.is_multiple_of(2) || self.rest().is_empty() {
                // Bash joins lines first.
                let tabs =
                    if heredoc.is_indented { line.len() - line.trim_start_matches('\t').len() } else { 0 };
                return line.split_off(tabs);
            }
            line.pop();
        }
    }
}
