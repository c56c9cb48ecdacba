//! Decides which builtins change the meaning of names, or run text, and which programs git starts.

use crate::Found;
use crate::starting::may_git_start;
use crate::word::{ANY, Count, Word};

/// Variables that decide which program a name means, how a text is read, or that have code. Those with the beginnings
/// below do so, too.
const DECISIVE: [&str; 15] = [
    "PATH",
    "ENV",
    "BASH_ENV",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "BASH_CMDS",
    "BASH_ALIASES",
    "SHELLOPTS",
    "BASHOPTS",
    "POSIXLY_CORRECT",
    "EXECIGNORE",
    "GIT_EXEC_PATH",
];
const DECISIVE_BEGINNINGS: [&str; 4] = ["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG"];
/// Variables whose values are commands that programs start.
const COMMANDS: [&str; 6] = ["FCEDIT", "GIT_EXTERNAL_DIFF", "LESSCLOSE", "LESSOPEN", "SHELL", "VISUAL"];
/// Endings of the names of further such variables, of whatever program.
const COMMAND_ENDINGS: [&str; 7] = ["EDITOR", "PAGER", "ASKPASS", "BROWSER", "_SSH", "_RSH", "_COMMAND"];
/// Builtins whose arguments are assignments.
const DECLARATIONS: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];
/// Letters of their options that do not change how values are read.
const DECLARATION_LETTERS: &str = "aAfFgIlprtux";
/// Options of `set -o` and of `shopt` that do not change how a text is read.
pub(crate) const SET_OPTIONS: [&str; 18] = [
    "allexport",
    "braceexpand",
    "errexit",
    "errtrace",
    "functrace",
    "hashall",
    "ignoreeof",
    "monitor",
    "noclobber",
    "noexec",
    "noglob",
    "notify",
    "nounset",
    "onecmd",
    "physical",
    "pipefail",
    "verbose",
    "xtrace",
];
pub(crate) const SHOPT_OPTIONS: [&str; 10] = [
    "checkwinsize",
    "dotglob",
    "failglob",
    "globstar",
    "inherit_errexit",
    "lastpipe",
    "nocaseglob",
    "nocasematch",
    "nullglob",
    "globasciiranges",
];
const SET_LETTERS: &str = "abefhmnptuvxBCEPT";
/// Options of `read` with a value.
const READ_VALUED: [&str; 7] = ["-d", "-i", "-n", "-N", "-p", "-t", "-u"];

/// Global options of git with a value in the next word, without one, and those after which it starts nothing.
const GIT_VALUED: [&str; 8] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--attr-source",
    "--shallow-file",
];
const GIT_FLAGS: [&str; 13] = [
    "-p",
    "--paginate",
    "-P",
    "--no-pager",
    "--no-replace-objects",
    "--no-lazy-fetch",
    "--bare",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--no-optional-locks",
    "--no-advice",
];
const GIT_INERT: [&str; 7] = ["--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path"];

/// Endings of git's settings that name commands or their folder.
const GIT_COMMANDS: [&str; 17] = [
    "askpass",
    "clean",
    "cmd",
    "command",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "helper",
    "hookspath",
    "pager",
    "process",
    "program",
    "smudge",
    "textconv",
    "difffilter",
    "gitproxy",
];

/// Returns `true` for an argument of `compgen` with which it runs nothing: it expands word lists, and calls functions.
fn is_plain_compgen(argument: &Word) -> bool {
    argument.text().is_some_and(|text| !text.starts_with('-') || !text.contains(['C', 'F', 'G', 'W', 'X']))
}

/// Returns `true` for a builtin whose arguments are assignments.
pub(crate) fn is_declaration(word: &Word) -> bool {
    word.text().is_some_and(|text| DECLARATIONS.contains(&text))
}

fn is_decisive(name: &str) -> bool {
    DECISIVE.contains(&name) || DECISIVE_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

fn is_command(name: &str) -> bool {
    COMMANDS.contains(&name) || COMMAND_ENDINGS.iter().any(|end| name.ends_with(end))
}

impl Found {
    /// Notes an assignment to a variable.
    pub(crate) fn assigns(&mut self, name: &str) {
        self.evaluates(name);
        if is_decisive(name) {
            self.doubt(format!("a change of {name}"));
        }
    }

    /// Notes an assignment, and reads the command in the value of some variables.
    pub(crate) fn assigns_value(&mut self, name: &str, word: &Word, depth: usize) {
        self.assigns(name);
        self.hides(&word.written());
        if is_command(name) {
            match word.text().and_then(|text| text.split_once('=')) {
                Some((_, command)) => self.read(command, depth + 1),
                None => self.doubt(format!("a value of {name} that is not written out")),
            }
        }
    }

    /// Notes that a builtin assigns to the name at the beginning of a word.
    fn assigns_to(&mut self, word: &Word) {
        self.has_arithmetic = true;
        self.hides(&word.written());
        let end = word.text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = word.text.split_at(end.unwrap_or(word.text.len()));
        if rest.starts_with(ANY) {
            self.doubt("a variable whose name is not written out");
        }
        self.assigns(name);
    }

    /// Judges a builtin, or another program.
    pub(crate) fn builtin(&mut self, name: &str, words: &[Word], depth: usize) {
        let arguments = words.get(1..).unwrap_or_default();
        let texts = || arguments.iter().filter_map(Word::text);
        let has_option = |letter: char| texts().any(|text| text.starts_with('-') && text.contains(letter));
        match name {
            "trap" => self.trap(arguments, depth),
            "set" => self.set(arguments),
            "shopt" => {
                let is_known = |word: &Word| {
                    word.text().is_some_and(|text| text.starts_with('-') || SHOPT_OPTIONS.contains(&text))
                };
                if has_option('o') || !arguments.iter().all(is_known) {
                    self.doubt("another syntax by `shopt`");
                }
            }
            "mapfile" | "readarray" if has_option('C') => self.doubt(format!("`{name} -C`")),
            "compgen" if !arguments.iter().all(is_plain_compgen) => self.doubt("`compgen` with a command"),
            "jobs" if has_option('x') => self.doubt("`jobs -x`"),
            "hash" if has_option('p') => self.doubt("`hash -p`"),
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "wait" => self.assigning(arguments),
            "printf" => self.printf(arguments),
            "test" | "[" if texts().any(|text| text == "-v") => {
                self.has_arithmetic = true;
                self.hides_in(arguments);
            }
            "let" => {
                self.has_arithmetic = true;
                self.hides_in(arguments);
                let names =
                    texts().flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
                names.for_each(|name| self.assigns(name));
            }
            name if DECLARATIONS.contains(&name) => self.declaration(name, arguments, depth),
            _ => {}
        }
    }

    fn trap(&mut self, arguments: &[Word], depth: usize) {
        let is_after_options = arguments.first().is_some_and(|word| word.text() == Some("--"));
        match arguments.get(usize::from(is_after_options)).map(Word::text) {
            Some(None) => self.doubt("`trap` with a text that is not written out"),
            Some(Some("-")) | None => {}
            Some(Some("-l" | "-p")) if !is_after_options => {}
            Some(Some(text)) if is_after_options || !text.starts_with('-') => self.read(text, depth + 1),
            Some(Some(_)) => self.doubt("an option of `trap`"),
        }
    }

    /// Judges the options of `set`.
    fn set(&mut self, arguments: &[Word]) {
        self.hides_in(arguments);
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            let text = word.text().unwrap_or_default();
            if matches!(text, "--" | "-") || !word.text.starts_with(['-', '+', ANY]) {
                return;
            }
            let letters = text.get(1..).unwrap_or_default();
            let (letters, has_name) =
                letters.strip_suffix('o').map_or((letters, false), |others| (others, true));
            let name = arguments.get(at + 1).filter(|_| has_name);
            let is_named =
                name.is_none_or(|name| name.text().is_some_and(|name| SET_OPTIONS.contains(&name)));
            if text.is_empty() || !is_named || !letters.chars().all(|c| SET_LETTERS.contains(c)) {
                return self.doubt("another syntax by `set`");
            }
            at += 1 + usize::from(has_name);
        }
    }

    /// Judges arguments that may name variables.
    fn assigning(&mut self, arguments: &[Word]) {
        let mut is_value = false;
        for word in arguments {
            let is_option = word.text().is_some_and(|text| text.starts_with('-'));
            match word.text.strip_prefix('-') {
                _ if is_value && word.count == Count::One => {}
                Some(letters) if is_option => {
                    let at = letters.find(|c: char| c.is_ascii_uppercase()).unwrap_or(letters.len());
                    self.assigns(&letters[at..]);
                }
                _ => self.assigns_to(word),
            }
            is_value = !is_value && word.text().is_some_and(|text| READ_VALUED.contains(&text));
        }
    }

    fn printf(&mut self, arguments: &[Word]) {
        let Some(first) = arguments.first() else { return };
        if let Some(name) = first.written().strip_prefix("-v") {
            let name = Word::of(name);
            let named = if name.text.is_empty() { arguments.get(1) } else { Some(&name) };
            if let Some(word) = named {
                self.assigns_to(word);
            }
            self.hides_escaped(arguments);
        } else if first.text.starts_with(ANY) {
            arguments.iter().filter_map(Word::text).for_each(|text| self.assigns(text));
        }
    }

    fn declaration(&mut self, name: &str, arguments: &[Word], depth: usize) {
        for word in arguments {
            match word.text().and_then(|text| text.strip_prefix(['-', '+'])) {
                Some("-") => {}
                Some("n") if name == "export" => {}
                Some(letters) if letters.chars().all(|c| DECLARATION_LETTERS.contains(c)) => {}
                Some(_) => self.doubt(format!("an option of `{name}`")),
                None => {
                    self.assigns_to(word);
                    if let Some((name, _)) = word.text.split_once('=') {
                        self.assigns_value(name, word, depth);
                    }
                }
            }
        }
    }

    /// Judges git's commands that start programs.
    pub(crate) fn run_by_git(&mut self, words: &[Word]) {
        let arguments = words.get(2..).unwrap_or_default();
        let any = |is: &dyn Fn(&str) -> bool| arguments.iter().any(|word| word.text().is_none_or(is));
        let known = |is: &dyn Fn(&str) -> bool| arguments.iter().filter_map(Word::text).any(is);
        let command = words.get(1).and_then(Word::text).unwrap_or_default();
        let starts = match words.get(1).and_then(Word::text) {
            Some("submodule") => any(&|text| text == "foreach"),
            Some("bisect") => any(&|text| text == "run"),
            Some("config") => known(&|text| text.to_ascii_lowercase().starts_with("alias.")),
            Some("filter-branch" | "difftool" | "mergetool" | "for-each-repo" | "shell") => true,
            _ => false,
        };
        if starts || may_git_start(command, arguments) {
            self.doubt("a program that git starts");
        }
    }

    /// Removes the options before git's command.
    pub(crate) fn without_git_options(&mut self, words: &mut Vec<Word>) {
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let Some(option) = word.text() else {
                // An option, which may have a value or an alias after it.
                if word.text.starts_with(['-', ANY]) && words.len() > at + 1 {
                    self.doubt("an argument that is not written out");
                }
                break;
            };
            if !option.starts_with('-') || GIT_INERT.contains(&option) {
                break;
            }
            let (key, inside) =
                option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value.to_owned())));
            let is_valued = GIT_VALUED.contains(&key) && (inside.is_none() || key.starts_with("--"));
            if !is_valued && !GIT_FLAGS.contains(&option) {
                self.doubt("an option of `git`");
                break;
            }
            let (is_setting, is_next) = (matches!(key, "-c" | "--config-env"), is_valued && inside.is_none());
            let value = words.get(at + 1).filter(|_| is_next);
            if value.is_some_and(|value| value.count != Count::One) {
                self.doubt("arguments of `git` that are not written out");
            }
            let setting = inside.or_else(|| value?.text().map(str::to_ascii_lowercase));
            if is_setting && setting.is_none_or(|text| is_decisive_setting(&text.to_ascii_lowercase())) {
                self.doubt("an alias of git, or a command in its settings");
            }
            at += 1 + usize::from(is_next);
        }
        words.drain(1..at.min(words.len()));
    }
}

/// Returns `true` for a setting of git that adds aliases, or names a command.
fn is_decisive_setting(text: &str) -> bool {
    let key = text.split('=').next().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    ["alias.", "include.", "includeif.", "pager."].iter().any(|begin| key.starts_with(begin))
        || GIT_COMMANDS.iter().any(|end| last.ends_with(end))
}
