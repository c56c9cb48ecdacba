//! Splits a shell command into words that may name files, approximately.

/// A word of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Word without quotes and variables; text after a variable becomes a relative path.
    pub text: String,
    /// `true` if the word, if it is a file at all, names a program or a script. It then counts even if the
    /// file does not exist yet.
    pub is_program: bool,
}

/// Number of words of an alias that may name a program: the command itself, and the argument of an
/// interpreter. In commands that nobody types, every word may name one: `timeout 5 tools/x`.
const PROGRAM_WORDS: usize = 2;
/// Programs and shell commands that run the file given as their first word, regardless of its name. A version
/// number may follow.
const RUNNERS: [&str; 55] = [
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
    "awk",
    "clojure",
    "csh",
    "dotnet",
    "elixir",
    "escript",
    "expect",
    "gawk",
    "groovy",
    "guile",
    "java",
    "julia",
    "kotlin",
    "nu",
    "ocaml",
    "octave",
    "racket",
    "Rscript",
    "runghc",
    "runhaskell",
    "sbcl",
    "scala",
    "swift",
    "tclsh",
    "tcsh",
    "ts-node",
    "tsx",
    "wish",
    "xonsh",
];
/// Names in `RUNNERS` that stand for something else behind another word.
const ONLY_FIRST: [&str; 4] = [".", "source", "exec", "command"];
/// Endings that some of `RUNNERS` add to a path, so that it also names files in a folder.
const ENDINGS: [(&str, &[&str]); 5] = [
    ("java", &[".class"]),
    ("python", &["/__main__.py"]),
    ("pypy", &["/__main__.py"]),
    ("node", &[".js", ".mjs", ".cjs", ".json", ".node", "/package.json", "/index.js", "/index.node"]),
    ("bun", &[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", "/index.js", "/index.ts"]),
];
/// Ending of a file that Python runs as it is.
const PYTHON_FILE: &str = ".py";
/// Options followed by a file that many programs obey: `ssh -F`, `make -f`, `gpg --options`.
const FILE_OPTIONS: [&str; 9] = ["-F", "-f", "-c", "-i", "-o", "--config", "--file", "--rcfile", "--options"];
/// Words followed by a folder in which later words are resolved.
const FOLDER_WORDS: [&str; 4] = ["cd", "pushd", "-C", "--directory"];
/// Maximum number of folders in which the words of one command are resolved; the first ones count.
const MAX_FOLDERS: usize = 8;

/// Splits a command, in which each character stands for a byte. A quoted text counts as one word and also as
/// its words. `is_alias` is `true` if the command runs only when the user types it.
pub(crate) fn words(command: &str, is_alias: bool) -> Vec<Word> {
    let mut split = Split { is_alias, ..Split::default() };
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
                // The output of a command may be the start of a path.
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
                // An empty value does not extend to the next word.
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

/// Reads the name of a variable after `$`; empty for `$(`.
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

/// Role of the next word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Word,
    /// Value of a variable.
    Value,
    /// Value of an option.
    OptionValue,
    /// File that is read or run, regardless of its name.
    File,
    /// File after `=`.
    FileValue,
    /// Folder in which later words are resolved.
    Folder,
    /// Folders of `PATH`, in which later words are resolved.
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
    /// Number of words of the current command that are not options.
    count: usize,
    /// `true` behind the first word of the current command that is neither an option nor an assignment.
    has_begun: bool,
    /// Folders in which the command may resolve its words, in addition to the initial one.
    folders: Vec<String>,
    /// Endings that the current command may add to its words.
    endings: &'static [&'static str],
    is_alias: bool,
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

    /// Ends a name before `=`; a variable assignment does not count as a word of the command.
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
            // A format of `git log` is not a path.
            Next::OptionValue => text.contains('/') && !text.contains('%'),
            Next::Folders | Next::Folder => false,
            Next::Value => self.may_be_program(text),
            Next::Word => {
                text.contains('/') && self.count < PROGRAM_WORDS
                    || self.may_be_program(text)
                    // The first word is looked up in `PATH`.
                    || !self.is_alias && self.has_begun && is_file_name(text)
            }
        };
        let is_path = inside.is_some() || ["./", "../", "~/"].iter().any(|start| text.starts_with(start));
        let is_first = self.count == 0 && !next.is_value() && !is_option;
        self.add(text, next != Next::Folder && (is_program || is_path), is_first);
        if is_program && !is_option {
            self.add_endings(text);
        }
        if let Some((option, value)) = option_and_value(text) {
            self.add(value, FILE_OPTIONS.contains(&option) || value.contains('/'), false);
            if FOLDER_WORDS.contains(&option) {
                self.look_in(value);
            }
        }
        self.has_begun |= is_first;
        let may_run =
            is_first || !self.is_alias && !is_option && !next.is_value() && !ONLY_FIRST.contains(&text);
        if may_run && let Some(runner) = runner(text) {
            self.endings =
                ENDINGS.iter().find(|(name, _)| *name == runner).map_or(&[], |(_, endings)| endings);
            // Options may precede the file to run.
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

    /// Returns `true` if a word of a command that nobody types may be a program, wherever it stands: it is a
    /// path, and neither an option, a format, an address nor a refspec.
    fn may_be_program(&self, text: &str) -> bool {
        let is_ref = || text.starts_with("refs/") || text.starts_with('+') || text.contains(":refs/");
        !self.is_alias
            && text.contains('/')
            && !text.starts_with('-')
            && !text.contains('%')
            && !text.contains("://")
            && !is_ref()
    }

    /// Adds the files that an interpreter may run instead of the one that it is given.
    fn add_endings(&mut self, text: &str) {
        let endings = self.endings;
        if text.ends_with(PYTHON_FILE) || endings.iter().any(|ending| text.ends_with(ending)) {
            return;
        }
        let text = text.trim_end_matches('/');
        for ending in endings {
            self.add(&format!("{text}{ending}"), true, false);
        }
    }

    fn look_in(&mut self, folder: &str) {
        if self.folders.len() < MAX_FOLDERS {
            self.folders.push(folder.to_owned());
        }
    }

    /// Adds a word as it is, and once for each folder in which the command may resolve it.
    fn add(&mut self, text: &str, is_program: bool, is_first: bool) {
        self.words.push(Word { text: text.to_owned(), is_program });
        if text.starts_with(['/', '~', '-']) {
            return;
        }
        // Programs in folders from `cd` or `PATH` have no other distinguishing feature.
        let is_program = is_program || is_first;
        let inside = self.folders.iter().map(|folder| format!("{}/{text}", folder.trim_end_matches('/')));
        self.words.extend(inside.map(|text| Word { text, is_program }));
    }

    fn next_command(&mut self) {
        self.end_word();
        (self.count, self.next, self.endings) = (0, Next::Word, &[]);
        self.has_begun = false;
    }
}

/// Returns `true` if a word has the form of a file name with an ending, such as `Differ.java`: interpreters are too
/// many to list.
fn is_file_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    let Some((stem, ending)) = text.rsplit_once('.') else { return false };
    let is_ending = (1..=8).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    !text.starts_with('-') && !stem.is_empty() && is_ending && text.chars().all(is_plain)
}

/// Splits an option of one letter from its value, as in `-Fconfig`.
fn option_and_value(word: &str) -> Option<(&str, &str)> {
    let letter = word.strip_prefix('-')?.chars().next().filter(char::is_ascii_alphabetic)?;
    let (option, value) = word.split_at_checked(1 + letter.len_utf8())?;
    (!value.is_empty()).then_some((option, value))
}

/// Returns the name of a program that runs the file that it is given.
fn runner(word: &str) -> Option<&'static str> {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNNERS.into_iter().find(|runner| [name, unversioned].contains(runner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(command: &str) -> Vec<(String, bool)> {
        words(command, command.starts_with('!'))
            .into_iter()
            .map(|word| (word.text, word.is_program))
            .collect()
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
            ("timeout 5 tools/fsm", "tools/fsm"),
            ("nice -n 5 timeout --signal KILL 5 sub/tools/fsm -x", "sub/tools/fsm"),
            ("timeout 5 sh run", "run"),
            ("GIT_SSH=tools/ssh timeout 5 x", "tools/ssh"),
            ("f() { timeout 5 tools/fsm; }; f", "tools/fsm"),
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
    fn scripts_of_any_interpreter_are_known_by_their_ending() {
        for (command, word) in [
            ("java Differ.java", "Differ.java"),
            ("java Differ", "Differ.class"),
            ("uv run differ.py", "differ.py"),
            ("unknown-interpreter -x --load differ.scm", "differ.scm"),
            ("php -d a=b w.php", "w.php"),
            ("Rscript --vanilla differ", "differ"),
            ("sbcl --script differ", "differ"),
        ] {
            has(command, word, true);
        }
        has("!git show v1.x", "v1.x", false);
        has("less -R", "-R", false);
        has("timeout 0.5 x", "0.5", false);
    }

    #[test]
    fn files_that_an_interpreter_finds_by_a_shorter_name_are_known() {
        for (command, word) in [
            ("python3 tools", "tools/__main__.py"),
            ("timeout 5 python3.12 -u tools/", "tools/__main__.py"),
            ("!env python tools", "tools/__main__.py"),
            ("node scripts/fsm", "scripts/fsm.js"),
            ("node scripts/fsm", "scripts/fsm.mjs"),
            ("node --require ./a scripts/fsm", "scripts/fsm.cjs"),
            ("node --require ./a scripts/fsm", "./a.js"),
            ("timeout 5 /usr/bin/node fsm", "fsm/index.js"),
            ("cd app && node fsm", "app/fsm.js"),
        ] {
            has(command, word, true);
        }
        for command in ["node fsm.js", "python3 x.py", "sh fsm", "node -v; tools/x"] {
            let words = split(command);
            assert!(
                !words.iter().any(|(word, _)| word.contains("__main__") || word.contains(".mjs")),
                "{words:?}"
            );
        }
    }

    #[test]
    fn what_names_something_else_is_none() {
        for (command, word) in [
            ("!git log --format=%h origin/main", "origin/main"),
            ("!git log --format=%h/%s", "%h/%s"),
            ("git fetch origin +refs/heads/a:refs/b", "+refs/heads/a:refs/b"),
            ("git push origin HEAD:refs/for/main", "HEAD:refs/for/main"),
            ("git push origin refs/heads/main", "refs/heads/main"),
            ("git log --format x %h/%s", "%h/%s"),
            ("git clone now https://example.com/x", "https://example.com/x"),
            ("!rm -rf build build/x", "build/x"),
            ("make all test", "test"),
            ("run 'my tool.sh'", "my tool.sh"),
            ("run 'my tool'", "tool"),
        ] {
            has(command, word, false);
        }
        assert_eq!(split("  \"\" '' $ ${ $( "), []);
    }
}
