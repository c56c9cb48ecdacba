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
/// Programs and commands of the shell that run the file which is their first word, whatever its name. Numbers of a version may
/// follow.
const RUNNERS: [&str; 26] = [
    ".",
    "source",
    "exec",
    "command",
    "env",
    "nice",
    "nohup",
    "sudo",
    "sh",
    "ash",
    "bash",
    "dash",
    "ksh",
    "zsh",
    "fish",
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "lua",
    "osascript",
    "pwsh",
];
/// Options that a file follows, which many programs obey: `ssh -F`, `make -f`, `gpg --options`.
const FILE_OPTIONS: [&str; 9] = ["-F", "-f", "-c", "-i", "-o", "--config", "--file", "--rcfile", "--options"];
/// Words before a folder in which the rest is looked for.
const FOLDER_WORDS: [&str; 4] = ["cd", "pushd", "-C", "--directory"];
/// Most folders in which the words of one command are looked for; the first count.
const MAX_FOLDERS: usize = 8;

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
            '=' => split.begin_value(),
            ':' if split.next == Next::Folders => {
                split.end_word();
                split.next = Next::Folders;
            }
            '<' => {
                split.end_word();
                split.next = Next::File;
            }
            '>' => split.end_word(),
            c if c.is_ascii_whitespace() => {
                split.end_word();
                // What nothing stood for is not waited for.
                if split.next.is_value() {
                    split.next = Next::Word;
                }
            }
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

/// The place of a word among the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Word,
    /// The value of a variable.
    Value,
    /// The value of an option.
    OptionValue,
    /// A file that is read or run, whatever it is called.
    File,
    /// The same, behind `=`.
    FileValue,
    /// A folder in which later words are looked for.
    Folder,
    /// The folders of `PATH`, likewise.
    Folders,
}

impl Next {
    fn is_value(self) -> bool {
        matches!(self, Self::Value | Self::OptionValue | Self::FileValue | Self::Folders)
    }
}

#[derive(Default)]
struct Split {
    words: Vec<Word>,
    word: String,
    is_behind_variable: bool,
    next: Next,
    /// Words of the present command that were no options.
    count: usize,
    /// Folders in which the command may look for its words, beside that in which it begins.
    folders: Vec<String>,
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

    /// Ends a name before `=`: a variable that is set for a command is none of its words.
    fn begin_value(&mut self) {
        let (count, name) = (self.count, std::mem::take(&mut self.word));
        self.word.clone_from(&name);
        self.end_word();
        self.count = count;
        self.next = match &*name {
            "PATH" => Next::Folders,
            option if FILE_OPTIONS.contains(&option) => Next::FileValue,
            option if option.starts_with('-') => Next::OptionValue,
            _ => Next::Value,
        };
    }

    fn end_word(&mut self) {
        let is_behind_variable = std::mem::take(&mut self.is_behind_variable);
        let word = std::mem::take(&mut self.word);
        let inside = word.strip_prefix('/').filter(|_| is_behind_variable);
        let text = inside.unwrap_or(&word);
        if text.is_empty() {
            return;
        }
        let next = std::mem::take(&mut self.next);
        let is_option = text.starts_with('-');
        if matches!(next, Next::Folder | Next::Folders) {
            self.look_in(text);
        }
        let is_program = match next {
            Next::File | Next::FileValue => true,
            // A format of `git log` is no path.
            Next::OptionValue => text.contains('/') && !text.contains('%'),
            Next::Value | Next::Folders | Next::Folder => false,
            Next::Word => text.contains('/') && self.count < PROGRAM_WORDS,
        };
        let is_path = inside.is_some() || ["./", "../", "~/"].iter().any(|start| text.starts_with(start));
        let is_first = self.count == 0 && !next.is_value() && !is_option;
        self.add(text, next != Next::Folder && (is_program || is_path), is_first);
        if let Some((option, value)) = option_and_value(text) {
            self.add(value, FILE_OPTIONS.contains(&option) || value.contains('/'), false);
            if FOLDER_WORDS.contains(&option) {
                self.look_in(value);
            }
        }
        if is_first && is_runner(text) {
            // Options may stand before the file that it runs.
            self.next = Next::File;
            return;
        }
        self.count += usize::from(!is_option && !next.is_value());
        if FOLDER_WORDS.contains(&text) {
            self.next = Next::Folder;
        } else if FILE_OPTIONS.contains(&text) || (is_option && next == Next::File) {
            self.next = Next::File;
        }
    }

    fn look_in(&mut self, folder: &str) {
        if self.folders.len() < MAX_FOLDERS {
            self.folders.push(folder.to_owned());
        }
    }

    /// Adds a word, as it is and in each folder in which the command may look for it.
    fn add(&mut self, text: &str, is_program: bool, is_first: bool) {
        self.words.push(Word { text: text.to_owned(), is_program });
        if text.starts_with(['/', '~', '-']) {
            return;
        }
        // Of a folder that `cd` or `PATH` names, programs have no other sign.
        let is_program = is_program || is_first;
        let inside = self.folders.iter().map(|folder| format!("{}/{text}", folder.trim_end_matches('/')));
        self.words.extend(inside.map(|text| Word { text, is_program }));
    }

    fn next_command(&mut self) {
        self.end_word();
        (self.count, self.next) = (0, Next::Word);
    }
}

/// An option of one letter and what follows it without a blank, as in `-Fconfig`.
fn option_and_value(word: &str) -> Option<(&str, &str)> {
    let letter = word.strip_prefix('-')?.chars().next().filter(char::is_ascii_alphabetic)?;
    let (option, value) = word.split_at_checked(1 + letter.len_utf8())?;
    (!value.is_empty()).then_some((option, value))
}

/// Reports whether a program runs the file that it is given.
fn is_runner(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    RUNNERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
        || RUNNERS.contains(&name)
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
    fn files_are_known_behind_options_folders_and_redirections() {
        for (command, word) in [
            ("ssh -Fcfg", "cfg"),
            ("ssh -F cfg", "cfg"),
            ("ssh -i.keys/x host", ".keys/x"),
            ("tool --config=rc", "rc"),
            ("tool --config rc", "rc"),
            ("ssh -oProxyCommand=tools/x", "tools/x"),
            ("cd tools && ./a.sh", "tools/./a.sh"),
            ("!cd 'tools' && a.sh", "tools/a.sh"),
            ("!f() { cd sub/; sh run; }; f", "sub/run"),
            ("make -Ctools/ -frules all", "tools/rules"),
            ("!PATH=\"tools:$PATH\" lint", "tools/lint"),
            ("!PATH=$PWD/bin:$PATH; lint", "bin/lint"),
            ("!sh -s < setup", "setup"),
            ("!sh <setup", "setup"),
            ("!. lib", "lib"),
            ("!/usr/bin/python3.12 -u run", "run"),
            ("!env -i sh run", "run"),
            ("!bash -e run", "run"),
        ] {
            has(command, word, true);
        }
        has("make -C tools test", "tools/test", false);
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
