//! Decides which programs a simple command starts: its own, and those that it starts as its arguments say.

use crate::word::{ANY, Count, Word};
use crate::wrappers::{Kind, Wrapper, kind};
use crate::{Found, MAX_DEPTH, MAX_WORDS, Started, TOO_DEEP};

/// Folders of the system's programs.
const SYSTEM: [&str; 8] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/sbin",
    "/usr/sbin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/mingw64/bin",
];
/// Variables that decide which program a name means, or run code.
const DECISIVE: [&str; 6] = ["PATH", "ENV", "BASH_ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "PROMPT_COMMAND"];
/// Builtins whose arguments are assignments.
const DECLARATIONS: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];
/// Options after which an interpreter runs nothing.
const HARMLESS: [&str; 5] = ["--version", "-V", "-v", "--help", "-h"];
/// Global options of git with a value in the next word, and without one.
const GIT_VALUED: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--attr-source"];
const GIT_FLAGS: [&str; 12] = [
    "-p",
    "--paginate",
    "-P",
    "--no-pager",
    "--no-replace-objects",
    "--bare",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--no-optional-locks",
    "--no-advice",
];

/// Returns `true` for a builtin whose arguments are assignments.
pub(crate) fn is_declaration(word: &Word) -> bool {
    word.text().is_some_and(|text| DECLARATIONS.contains(&text))
}

impl Found {
    /// Notes an assignment to a variable.
    pub(crate) fn assigns(&mut self, name: &str) {
        if DECISIVE.contains(&name) {
            self.doubt(format!("a change of {name}"));
        }
    }

    /// Adds a simple command.
    pub(crate) fn start(&mut self, mut words: Vec<Word>, depth: usize) {
        let Some(first) = words.first() else { return };
        self.words += words.len();
        if self.words > MAX_WORDS {
            return self.doubt("a command with too many words");
        }
        if depth > MAX_DEPTH {
            return self.doubt(TOO_DEEP);
        }
        let Some(path) = first.text().map(str::to_owned) else {
            self.doubt("a program whose name is not written out");
            return self.started.push(Started { words });
        };
        let name = self.named(&path);
        words[0] = Word::of(&name);
        if name == "git" {
            self.without_git_options(&mut words);
        }
        self.started.push(Started { words: words.clone() });
        match kind(&name) {
            Kind::Wrapper(wrapper) => self.wrapped(wrapper, &words, depth),
            Kind::Runner => {
                self.doubt(format!("`{name}`"));
                if let Some(text) = words.get(1..).filter(|_| name == "eval").and_then(joined) {
                    self.read(&text, depth + 1);
                }
            }
            Kind::Shell => self.shell(&name, &words, depth),
            Kind::Interpreter if words.len() > 1 && words[1..].iter().all(is_harmless) => {}
            Kind::Interpreter => self.doubt(format!("a script of `{name}`")),
            Kind::Other => self.by_name(&name, &words, depth),
        }
    }

    /// Returns the name of a program without its folder.
    fn named(&mut self, path: &str) -> String {
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        let name = if path.contains('/') { name } else { path };
        if path.contains('/') && !SYSTEM.contains(&folder) {
            self.doubt(format!("`{}`, a program by its path", shortened(path)));
        }
        name.strip_suffix(".exe").unwrap_or(name).to_owned()
    }

    fn by_name(&mut self, name: &str, words: &[Word], depth: usize) {
        let texts = || words.iter().skip(1).filter_map(Word::text);
        match name {
            "find" => self.run_by_find(words, depth),
            "trap" => {
                let word = words.iter().skip(1).find(|word| word.text() != Some("--"));
                match word.map(Word::text) {
                    Some(None) => self.doubt("`trap` with a text that is not written out"),
                    Some(Some(text)) if !text.starts_with('-') => self.read(text, depth + 1),
                    _ => {}
                }
            }
            "mapfile" | "readarray" if texts().any(|text| text.starts_with("-C")) => {
                self.doubt(format!("`{name} -C`"));
            }
            "hash" if texts().any(|text| text.starts_with("-p")) => self.doubt("`hash -p`"),
            "shopt" if texts().any(|text| text == "extglob" || text == "expand_aliases") => {
                self.doubt("another syntax by `shopt`");
            }
            name if DECLARATIONS.contains(&name) => {
                words.iter().filter_map(Word::assigned).for_each(|name| self.assigns(name));
            }
            "git" => {
                let runs = match words.get(1).and_then(Word::text) {
                    Some("submodule") => texts().any(|text| text == "foreach"),
                    Some("bisect") => texts().any(|text| text == "run"),
                    Some("rebase") => {
                        texts().any(|text| text.starts_with("-x") || text.starts_with("--exec"))
                    }
                    Some("filter-branch" | "difftool" | "mergetool") => true,
                    _ => false,
                };
                if runs {
                    self.doubt("a program that git starts");
                }
            }
            _ => {}
        }
    }

    /// Removes the options before git's command.
    fn without_git_options(&mut self, words: &mut Vec<Word>) {
        let mut at = 1;
        while let Some(option) = words.get(at).and_then(Word::text).filter(|text| text.starts_with('-')) {
            let (key, value) =
                option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
            let is_valued = GIT_VALUED.contains(&key) && value.is_none() && option != "--exec-path";
            if !is_valued && value.is_none() && !GIT_FLAGS.contains(&option) {
                break;
            }
            if is_valued {
                at += 1;
            }
            if key == "-c" || key == "--config-env" {
                let setting = value.or_else(|| words.get(at)?.text());
                if setting.is_none_or(|text| text.to_ascii_lowercase().starts_with("alias.")) {
                    self.doubt("an alias of git");
                }
            }
            at += 1;
        }
        words.drain(1..at.min(words.len()));
    }

    /// Adds the program that a wrapper starts.
    fn wrapped(&mut self, wrapper: &'static Wrapper, words: &[Word], depth: usize) {
        let (mut at, mut operands, mut is_after_options) = (1, wrapper.operands, false);
        while let Some(word) = words.get(at) {
            let Some(text) = word.text() else {
                if operands > 0 && word.count == Count::One {
                    operands -= 1;
                    at += 1;
                    continue;
                }
                self.doubt(format!("arguments of `{}` that are not written out", wrapper.name));
                break;
            };
            if !is_after_options && text.starts_with('-') && text != "-" {
                is_after_options = text == "--";
                if wrapper.inert.contains(&text) {
                    return;
                }
                if wrapper.doubtful.iter().any(|option| text.starts_with(option)) {
                    return self.doubt(format!("`{} {}`", wrapper.name, shortened(text)));
                }
                at += 1 + usize::from(takes_next(wrapper, text));
            } else if text == "-" && wrapper.name == "env" || wrapper.assigns && word.assigned().is_some() {
                word.assigned().into_iter().for_each(|name| self.assigns(name));
                at += 1;
            } else if operands > 0 {
                operands -= 1;
                at += 1;
            } else {
                break;
            }
        }
        let mut inner: Vec<_> = words.get(at..).unwrap_or_default().to_vec();
        if wrapper.adds && !inner.is_empty() {
            inner.push(Word::any_number());
        }
        self.start(inner, depth + 1);
    }

    /// Adds the programs that `find` starts.
    fn run_by_find(&mut self, words: &[Word], depth: usize) {
        let is = |word: &Word, texts: &[&str]| word.text().is_some_and(|text| texts.contains(&text));
        let mut rest = words;
        while let Some(at) = rest.iter().position(|word| is(word, &["-exec", "-execdir", "-ok", "-okdir"])) {
            rest = &rest[at + 1..];
            let end = rest.iter().position(|word| is(word, &[";", "+"])).unwrap_or(rest.len());
            let named = |word: &Word| {
                let text = word.text.replace("{}", &ANY.to_string());
                Word { text, ..word.clone() }
            };
            self.start(rest[..end].iter().map(named).collect(), depth + 1);
            rest = &rest[end..];
        }
        if words.iter().skip(1).any(|word| word.count == Count::Any || word.count == Count::Some) {
            self.doubt("arguments of `find` that are not written out");
        }
    }

    /// Adds the programs of a text that a shell gets as an argument.
    fn shell(&mut self, name: &str, words: &[Word], depth: usize) {
        let (mut at, mut has_text) = (1, false);
        while let Some(text) = words.get(at).and_then(Word::text) {
            if HARMLESS[..1].contains(&text) || text == "--help" {
                return;
            }
            if !text.starts_with(['-', '+']) || text == "--" || text == "-" {
                at += usize::from(text.starts_with('-'));
                break;
            }
            let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            has_text |= letters.is_some_and(|letters| letters.contains('c'));
            let takes_value = text.ends_with(['o', 'O']) || text == "--rcfile" || text == "--init-file";
            at += 1 + usize::from(takes_value);
        }
        match words.get(at).filter(|_| has_text) {
            Some(word) => match word.text() {
                Some(text) => self.read(text, depth + 1),
                None => self.doubt(format!("`{name} -c` with a text that is not written out")),
            },
            None => self.doubt(format!("a script of `{name}`")),
        }
    }
}

/// Returns `true` if an option of a wrapper has its value in the next word.
fn takes_next(wrapper: &Wrapper, option: &str) -> bool {
    if option.starts_with("--") {
        return wrapper.long.contains(&option);
    }
    let letters = &option[1..];
    let at = letters.find(|c: char| wrapper.valued.contains(c));
    at.is_some_and(|at| letters[at..].chars().count() == 1)
}

fn is_harmless(word: &Word) -> bool {
    word.text().is_some_and(|text| HARMLESS.contains(&text))
}

/// Returns the text of words that are all known.
fn joined(words: &[Word]) -> Option<String> {
    let texts: Option<Vec<_>> = words.iter().map(Word::text).collect();
    texts.map(|texts| texts.join(" "))
}

/// Returns the beginning of a text, for a message.
fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(60).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
