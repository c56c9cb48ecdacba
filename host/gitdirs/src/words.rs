//! The words of a command for a shell, roughly: what may be the name of a file.

/// A word of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Without quotes and variables; what stood behind a variable is relative.
    pub text: String,
    /// It names a program or a script, if anything does: it counts before there is such a file.
    pub is_program: bool,
}

/// Words of one command that may name a program: itself, and what an interpreter is given.
const PROGRAM_WORDS: usize = 2;

/// Takes a command apart, each character of which is a byte. What is quoted counts as one word and as the words in it.
pub(crate) fn words(command: &str) -> Vec<Word> {
    let mut split = Split::default();
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        split.note_quoted(c);
        match c {
            '"' | '\'' => split.quote(c),
            '$' => {
                let name = variable(&mut chars);
                split.variable(&name);
            }
            ';' | '|' | '&' | '(' | '!' | '\n' => split.next_command(),
            ')' | '`' => {
                split.next_command();
                // What a command printed stands for the beginning of a path.
                split.is_behind_variable = true;
            }
            '=' => {
                // What is set for a command is none of its words.
                let count = split.count;
                split.end_word();
                (split.count, split.is_value) = (count, true);
            }
            c if c.is_ascii_whitespace() || "<>".contains(c) => split.end_word(),
            c => split.word.push(c),
        }
    }
    split.next_command();
    split.words
}

/// The name of a variable, after its `$`; none for `$(`.
fn variable(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    if chars.next_if_eq(&'{').is_some() {
        return chars.by_ref().take_while(|c| *c != '}').collect();
    }
    let mut name = String::new();
    while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
        name.push(c);
    }
    name
}

#[derive(Default)]
struct Split {
    words: Vec<Word>,
    word: String,
    is_behind_variable: bool,
    /// The word is what something is set to.
    is_value: bool,
    /// Words of the present command that were no options.
    count: usize,
    quote: Option<(char, String)>,
}

impl Split {
    fn note_quoted(&mut self, c: char) {
        if let Some((open, quoted)) = &mut self.quote
            && *open != c
        {
            quoted.push(c);
        }
    }

    fn quote(&mut self, c: char) {
        match self.quote.take() {
            None => self.quote = Some((c, String::new())),
            Some((open, quoted)) if open == c => {
                if quoted.contains(|c: char| c.is_ascii_whitespace()) {
                    self.words.push(Word { text: quoted, is_program: false });
                }
            }
            Some(open) => self.quote = Some(open),
        }
    }

    fn variable(&mut self, name: &str) {
        if !self.word.is_empty() {
            self.end_word();
        }
        if name == "HOME" {
            self.word.push('~');
        } else {
            self.is_behind_variable = true;
        }
    }

    fn end_word(&mut self) {
        let is_behind_variable = std::mem::take(&mut self.is_behind_variable);
        let is_value = std::mem::take(&mut self.is_value);
        let word = std::mem::take(&mut self.word);
        let inside = word.strip_prefix('/').filter(|_| is_behind_variable);
        let text = inside.unwrap_or(&word);
        if text.is_empty() {
            return;
        }
        let is_path = inside.is_some() || ["./", "../", "~/"].iter().any(|start| text.starts_with(start));
        let is_program = is_path || (text.contains('/') && self.count < PROGRAM_WORDS && !is_value);
        self.count += usize::from(!text.starts_with('-') && !is_value);
        self.words.push(Word { text: text.to_owned(), is_program });
    }

    fn next_command(&mut self) {
        self.end_word();
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(command: &str) -> Vec<(String, bool)> {
        words(command).into_iter().map(|word| (word.text, word.is_program)).collect()
    }

    #[track_caller]
    fn has(command: &str, word: &str, is_program: bool) {
        let words = split(command);
        assert!(words.contains(&(word.to_owned(), is_program)), "{command}: {words:?}");
    }

    #[test]
    fn programs_and_scripts_are_known_wherever_they_stand() {
        for (command, word) in [
            (".tools/fsm", ".tools/fsm"),
            ("./tocmd.sh", "./tocmd.sh"),
            ("!\"$PWD\"/bin/x.sh", "bin/x.sh"),
            ("!${PWD}/bin/x.sh a", "bin/x.sh"),
            ("!f() { cd sub; tools/run \"$@\"; }; f", "tools/run"),
            ("!\"$(git rev-parse --show-toplevel)\"/bin/x", "bin/x"),
            ("!`git rev-parse --show-toplevel`/bin/x", "bin/x"),
            ("sh -e tools/x.sh", "tools/x.sh"),
            ("a && tools/y", "tools/y"),
            ("X=1 tools/z", "tools/z"),
            ("$HOME/bin/x", "~/bin/x"),
            ("log --since x ~/bin/x", "~/bin/x"),
        ] {
            has(command, word, true);
        }
    }

    #[test]
    fn what_names_something_else_is_none() {
        for (command, word) in [
            ("!git log --format=%h origin/main", "origin/main"),
            ("!git log --format=%h/%s", "%h/%s"),
            ("make all test", "test"),
            ("run 'my tool.sh'", "my tool.sh"),
            ("run 'my tool.sh'", "tool.sh"),
        ] {
            has(command, word, false);
        }
        assert_eq!(split("  \"\" '' $ ${ $( "), []);
    }
}
