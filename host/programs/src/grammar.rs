//! Reads commands, lists of commands, and the constructs around them.

use crate::builtins::is_declaration;
use crate::reader::{INCOMPLETE, JOINT, NO_SHELL, Parsed, Reader, is_metacharacter};
use crate::word::{Count, Word, is_name};

/// Words with a meaning at the beginning of a command.
const RESERVED: [&str; 22] = [
    "!", "time", "{", "}", "[[", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for",
    "select", "case", "in", "esac", "function", "coproc", "((",
];
/// Ends of branches of `case`.
const BRANCH_ENDS: [&str; 3] = [";;&", ";;", ";&"];
/// Operators of redirections, longer ones first.
const REDIRECTIONS: [&str; 12] = ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">"];

/// End of a list of commands. The caller skips it.
#[derive(Debug, Clone, Copy)]
enum End {
    Text,
    Parenthesis,
    Words(&'static [&'static str]),
    Branch,
}

impl Reader<'_, '_> {
    /// Reads the whole text.
    pub(crate) fn whole(mut self) -> Parsed<()> {
        self.list(End::Text)
    }

    /// Reads commands and the closing parenthesis.
    pub(crate) fn in_parentheses(&mut self) -> Parsed<()> {
        if self.is_at_joint() {
            return Err(JOINT);
        }
        self.list(End::Parenthesis)?;
        self.expect(")")
    }

    fn list(&mut self, end: End) -> Parsed<()> {
        loop {
            self.skip_lines()?;
            if self.is_at(end)? {
                return Ok(());
            }
            self.chain()?;
            self.skip_blanks();
            self.skip_comment();
            let ends_branch = BRANCH_ENDS.iter().any(|end| self.rest().starts_with(end));
            match self.peek() {
                Some(';') if !ends_branch => _ = self.bump(),
                Some('&') => _ = self.bump(),
                None | Some('\n') => {}
                _ if self.is_at(end)? => {}
                _ => return Err(NO_SHELL),
            }
        }
    }

    fn is_at(&self, end: End) -> Parsed<bool> {
        match (end, self.peek()) {
            (End::Text, None) | (End::Parenthesis, Some(')')) => Ok(true),
            (_, None) => Err(INCOMPLETE),
            (End::Words(words), _) => Ok(self.reserved().is_some_and(|word| words.contains(&word))),
            (End::Branch, _) => {
                let ends = BRANCH_ENDS.iter().any(|end| self.rest().starts_with(end));
                Ok(ends || self.reserved() == Some("esac"))
            }
            _ => Ok(false),
        }
    }

    /// Returns the reserved word that is next.
    fn reserved(&self) -> Option<&'static str> {
        let rest = self.rest();
        let ends = |after: &str| after.chars().next().is_none_or(is_metacharacter);
        let is_next =
            |word: &&str| rest.strip_prefix(*word).is_some_and(|after| *word == "((" || ends(after));
        RESERVED.into_iter().find(is_next)
    }

    /// Skips a reserved word, if it is next.
    fn eat_word(&mut self, word: &str) -> bool {
        let is_next = self.reserved() == Some(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { Err(NO_SHELL) }
    }

    /// Reads pipelines with `&&` and `||` between them.
    fn chain(&mut self) -> Parsed<()> {
        loop {
            self.pipeline()?;
            self.skip_blanks();
            if !self.eat("&&") && !self.eat("||") {
                return Ok(());
            }
            self.skip_lines()?;
        }
    }

    fn pipeline(&mut self) -> Parsed<()> {
        loop {
            let mut is_prefixed = false;
            loop {
                self.skip_blanks();
                if self.eat_word("time") {
                    self.time_options()?;
                } else if !self.eat_word("!") {
                    break;
                }
                is_prefixed = true;
            }
            let is_over = self.peek().is_none_or(|c| matches!(c, ';' | '\n' | '&' | ')' | '#'));
            if is_prefixed && is_over {
                return Ok(());
            }
            self.command()?;
            self.skip_blanks();
            if self.rest().starts_with("||") || !self.eat("|") {
                return Ok(());
            }
            self.eat("&");
            self.skip_lines()?;
        }
    }

    fn time_options(&mut self) -> Parsed<()> {
        self.skip_blanks();
        let is_alone = |rest: &str| rest.chars().nth(2).is_none_or(is_metacharacter);
        while self.rest().starts_with("-p") || self.rest().starts_with("--") {
            if !is_alone(self.rest()) {
                break;
            }
            self.at += 2;
            self.skip_blanks();
        }
        if self.peek() == Some('-') { Err("an option of `time`") } else { Ok(()) }
    }

    fn command(&mut self) -> Parsed<()> {
        match self.reserved() {
            None if self.peek() != Some('(') => return self.simple(),
            Some("coproc") => return Err("`coproc`"),
            Some("function") => {
                self.eat_word("function");
                self.found.hidden.has_functions = true;
                self.skip_blanks();
                self.word()?;
                self.skip_blanks();
                if self.eat("(") {
                    self.skip_blanks();
                    self.expect(")")?;
                }
                self.skip_lines()?;
                return self.deeper(Self::command);
            }
            word => self.deeper(|reader| reader.compound(word))?,
        }
        self.redirections()
    }

    fn compound(&mut self, word: Option<&'static str>) -> Parsed<()> {
        self.at += word.filter(|word| *word != "((").map_or(0, str::len);
        match word {
            None => {
                self.expect("(")?;
                self.in_parentheses()
            }
            Some("((") => {
                if let Some(end) = self.arithmetic_end() {
                    return self.arithmetic(end);
                }
                self.expect("(")?;
                self.in_parentheses()
            }
            Some("{") => self.list_to("}"),
            Some("if") => self.if_branches(),
            Some("while" | "until") => {
                self.list_to("do")?;
                self.list_to("done")
            }
            Some("for" | "select") => self.for_loop(),
            Some("case") => self.case(),
            Some("[[") => self.test(),
            _ => Err(NO_SHELL),
        }
    }

    /// Reads a list and the word after it.
    fn list_to(&mut self, end: &'static str) -> Parsed<()> {
        const ENDS: [&[&str]; 3] = [&["}"], &["do"], &["done"]];
        let ends = ENDS.into_iter().find(|ends| ends.contains(&end)).unwrap_or_default();
        self.list(End::Words(ends))?;
        self.expect_word(end)
    }

    fn if_branches(&mut self) -> Parsed<()> {
        loop {
            self.list(End::Words(&["then"]))?;
            self.expect_word("then")?;
            self.list(End::Words(&["elif", "else", "fi"]))?;
            if self.eat_word("fi") {
                return Ok(());
            }
            if self.eat_word("else") {
                self.list(End::Words(&["fi"]))?;
                return self.expect_word("fi");
            }
            self.expect_word("elif")?;
        }
    }

    fn for_loop(&mut self) -> Parsed<()> {
        self.skip_blanks();
        if self.rest().starts_with("((") {
            let end = self.arithmetic_end().ok_or(NO_SHELL)?;
            self.arithmetic(end)?;
        } else {
            let name = self.word()?;
            self.found.assigns(name.text().ok_or(NO_SHELL)?);
            self.skip_lines()?;
            if self.eat_word("in") {
                loop {
                    self.skip_blanks();
                    self.skip_comment();
                    let before = self.at;
                    let value = self.word()?;
                    if self.at == before {
                        break;
                    }
                    self.found.hides(&value.written());
                }
            }
        }
        self.skip_blanks();
        self.eat(";");
        self.skip_lines()?;
        if self.eat_word("{") {
            return self.list_to("}");
        }
        self.expect_word("do")?;
        self.list_to("done")
    }

    fn case(&mut self) -> Parsed<()> {
        self.skip_blanks();
        self.word()?;
        self.skip_lines()?;
        self.expect_word("in")?;
        loop {
            self.skip_lines()?;
            if self.eat_word("esac") {
                return Ok(());
            }
            self.eat("(");
            loop {
                self.skip_blanks();
                let before = self.at;
                self.word()?;
                if self.at == before {
                    return Err(NO_SHELL);
                }
                self.skip_blanks();
                if self.eat(")") {
                    break;
                }
                self.expect("|")?;
            }
            self.list(End::Branch)?;
            let _ = BRANCH_ENDS.iter().any(|end| self.eat(end));
        }
    }

    /// Reads a test to its `]]`. Operators and patterns in it start nothing.
    fn test(&mut self) -> Parsed<()> {
        let mut word = Word::default();
        self.found.has_arithmetic = true;
        loop {
            if self.is_at_joint() {
                return Err(JOINT);
            }
            let before = self.at;
            self.skip_blanks();
            if self.peek() == Some('\n') {
                self.skip_lines()?;
            }
            let is_at_word = self.at != before;
            if is_at_word {
                word.text.push(' ');
            }
            if is_at_word && self.peek() == Some('#') {
                return Err("a comment in `[[ ]]`");
            }
            if is_at_word && self.rest().starts_with("]]") {
                let after = self.rest().chars().nth(2);
                if after.is_none_or(is_metacharacter) {
                    self.at += 2;
                    self.found.hides(&word.written());
                    return Ok(());
                }
            }
            match self.peek().ok_or(INCOMPLETE)? {
                // Its end, or part of a regular expression.
                ')' if self.rest().starts_with(")]]") => return Err("`)]]`"),
                '<' | '>' if self.rest().get(1..).is_some_and(|rest| rest.starts_with('(')) => {
                    self.at += 2;
                    self.substitution()?;
                }
                '\\' => {
                    self.bump();
                    word.text.extend(self.bump());
                }
                '\'' => {
                    self.bump();
                    word.text.push_str(self.until('\'')?);
                }
                '"' => self.piece('"', &mut word)?,
                '$' => self.expansion(&mut word, false)?,
                '`' => self.backquoted(&mut word, false)?,
                _ => word.text.extend(self.bump()),
            }
        }
    }

    /// Reads redirections after a compound command.
    fn redirections(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            let begin = self.at;
            self.skip_descriptor();
            if !self.redirection()? {
                self.at = begin;
                return Ok(());
            }
        }
    }

    /// Skips the descriptor before a redirection: a number, or a variable in braces.
    fn skip_descriptor(&mut self) {
        let before = self.rest().split([' ', '\t', '\n', '<', '>']).next().unwrap_or_default();
        let end = before.len();
        if !self.rest()[end..].starts_with(['<', '>']) {
            return;
        }
        let name = before.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        if let Some(name) = name {
            self.found.assigns(name);
        }
        let is_number = !before.is_empty() && before.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || name.is_some_and(is_name) {
            self.at += end;
        }
    }

    /// Reads a redirection, if one is next.
    fn redirection(&mut self) -> Parsed<bool> {
        let operator = REDIRECTIONS.into_iter().find(|operator| self.rest().starts_with(operator));
        let Some(operator) = operator else { return Ok(false) };
        self.at += operator.len();
        if operator == "<<" || operator == "<<-" {
            self.heredoc(operator == "<<-")?;
            return Ok(true);
        }
        self.skip_blanks();
        let before = self.at;
        let word = self.word()?;
        self.found.hides(&word.written());
        if self.at == before { Err(NO_SHELL) } else { Ok(true) }
    }

    /// Reads a simple command, or the definition of a function.
    fn simple(&mut self) -> Parsed<()> {
        let (begin, mut words) = (self.at, Vec::new());
        loop {
            self.skip_blanks();
            self.skip_comment();
            match self.peek() {
                Some('(') if words.len() == 1 => {
                    self.found.hidden.has_functions = true;
                    self.bump();
                    self.skip_blanks();
                    self.expect(")")?;
                    self.skip_lines()?;
                    return self.deeper(Self::command);
                }
                None | Some('\n' | ';' | '|' | ')') => break,
                Some('&') if !self.rest().starts_with("&>") => break,
                _ => {}
            }
            let before = self.at;
            self.skip_descriptor();
            let is_substitution = self.at == before && self.begins_substitution();
            if !is_substitution && self.redirection()? {
                continue;
            }
            self.at = before;
            let mut word = self.word()?;
            if self.at == before {
                return Err(NO_SHELL);
            }
            // Bash joins lines before it looks for these words.
            if words.is_empty() && word.plain.is_none() && RESERVED.contains(&word.text.as_str()) {
                return Err(NO_SHELL);
            }
            if word.splits && words.first().is_some_and(|first| !is_declaration(first)) {
                word.spread(Count::Some);
            }
            // A redirection may follow whose descriptor is an element of an array.
            if word.count != Count::One && self.rest().starts_with(['<', '>']) {
                self.found.has_arithmetic |= word.written().starts_with('{');
            }
            match word.assigned().filter(|_| words.is_empty()) {
                Some(name) => self.found.assigns_value(name, &word, self.depth),
                None => words.push(word),
            }
        }
        if self.at == begin {
            return Err(NO_SHELL);
        }
        self.found.start(words, self.depth);
        Ok(())
    }

    fn begins_substitution(&self) -> bool {
        self.rest().starts_with("<(") || self.rest().starts_with(">(")
    }
}
