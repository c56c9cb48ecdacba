//! Decides which programs a simple command starts: its own, and those that it starts as its arguments say.

use crate::builtins::{SET_OPTIONS, SHOPT_OPTIONS};
use crate::starting::may_start;
use crate::word::{ANY, Count, Word};
use crate::wrappers::{Kind, Usage, Wrapper, kind};
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
/// Options after which an interpreter runs nothing.
const HARMLESS: [&str; 5] = ["--version", "-V", "-v", "--help", "-h"];
/// Tests of `find` with a value.
const FIND_VALUED: [&str; 18] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-regex",
    "-iregex",
    "-newer",
    "-type",
    "-maxdepth",
    "-mindepth",
    "-mtime",
    "-mmin",
    "-ctime",
    "-atime",
    "-size",
    "-user",
    "-group",
    "-perm",
];
/// Letters of options of shells that do not change which programs a text starts.
const SHELL_LETTERS: &str = "abcefhlmnprstuvxBCEPT";

impl Found {
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
        self.hides_as_argument(words.get(1..).unwrap_or_default());
        self.started.push(Started { words: words.clone() });
        match kind(&name) {
            Kind::Wrapper(wrapper) => self.wrapped(wrapper, &words, depth),
            Kind::Runner => {
                self.doubt(format!("`{name}`"));
                if let Some(text) = words.get(1..).filter(|_| name == "eval").and_then(joined) {
                    self.read(&text, depth + 1);
                }
            }
            Kind::Awk => self.awk(&name, &words),
            Kind::Shell { is_bash } => {
                if !is_bash {
                    self.doubt(format!("a text for `{name}`"));
                }
                self.shell(&name, &words, depth);
            }
            Kind::Interpreter if words.len() > 1 && words[1..].iter().all(is_harmless) => {}
            Kind::Interpreter => self.doubt(format!("a script of `{name}`")),
            Kind::Other if name == "find" => self.run_by_find(&words, depth),
            Kind::Other if name == "git" => self.run_by_git(&words),
            Kind::Other if name.starts_with("git-") => {
                self.doubt(format!("`{name}`, a command of git by a name of its own"));
            }
            Kind::Other => {
                if may_start(&name, words.get(1..).unwrap_or_default()) {
                    self.doubt(format!("an option of `{name}` that starts a program"));
                }
                self.builtin(&name, &words, depth);
            }
        }
    }

    /// Returns the name of a program without its folder.
    fn named(&mut self, path: &str) -> String {
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        let name = if path.contains('/') { name } else { path };
        if path.contains('/') && !SYSTEM.contains(&folder) {
            self.doubt(format!("`{}`, a program by its path", shortened(path)));
        }
        let name = name.strip_suffix(".exe").unwrap_or(name);
        if cfg!(any(target_os = "macos", windows)) { name.to_ascii_lowercase() } else { name.to_owned() }
    }

    /// Adds the program that a wrapper starts.
    fn wrapped(&mut self, wrapper: &'static Wrapper, words: &[Word], depth: usize) {
        let (mut at, mut operands, mut is_after_options) = (1, wrapper.operands, false);
        let mut replaced = None;
        while let Some(word) = words.get(at) {
            if !is_after_options && word.text.starts_with('-') && word.text != "-" {
                let text = word.text().unwrap_or_default();
                match wrapper.usage(text) {
                    Usage::Inert => return,
                    Usage::End => is_after_options = true,
                    Usage::Valued { letter: Some('I'), inside: None } if wrapper.adds => {
                        at += 1;
                        replaced = words.get(at).and_then(Word::text);
                    }
                    Usage::Valued { letter: Some('I'), inside } if wrapper.adds => replaced = inside,
                    Usage::Alone | Usage::Valued { inside: Some(_), .. } => {}
                    Usage::Valued { .. }
                        if words.get(at + 1).is_none_or(|value| value.count == Count::One) =>
                    {
                        at += 1;
                    }
                    _ => return self.doubt(format!("`{} {}`", wrapper.name, shortened(&word.shown()))),
                }
                at += 1;
            } else if let Some(name) = wrapper.assigned(word) {
                if is_after_options && wrapper.name == "sudo" {
                    self.doubt("an assignment after `sudo --`");
                }
                self.assigns_value(name, word, depth);
                at += 1;
            } else if word.text == "-" && wrapper.name == "env" {
                at += 1;
            } else {
                let is_open = !is_after_options && word.text.starts_with(ANY);
                if is_open || !matches!(word.count, Count::One) {
                    self.doubt(format!("arguments of `{}` that are not written out", wrapper.name));
                }
                if operands == 0 || word.count != Count::One {
                    break;
                }
                operands -= 1;
                at += 1;
            }
        }
        let mut inner: Vec<_> = words.get(at..).unwrap_or_default().to_vec();
        match replaced {
            // Each line of the input is one argument.
            Some(text) if !text.is_empty() => inner.iter_mut().for_each(|word| word.replace(text)),
            _ if wrapper.adds && !inner.is_empty() => inner.push(Word::any_number()),
            _ => {}
        }
        let is_mixed = |word: &Word| word.text.starts_with("-n") || word.text.starts_with("-L");
        if replaced.is_some() && words.iter().take(at).any(is_mixed) {
            self.doubt("options of `xargs` that exclude each other");
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
            let mut inner = rest[..end].to_vec();
            for word in &mut inner {
                word.replace("{}");
            }
            self.start(inner, depth + 1);
            rest = &rest[end..];
        }
        let is_test = |at: usize| words.get(at).is_some_and(|word| is(word, &FIND_VALUED));
        let is_option = |word: &Word| word.text().is_some_and(|text| text.starts_with('-'));
        for (at, word) in words.iter().enumerate().skip(1) {
            let is_folder = at == 1 && words.get(2).is_none_or(is_option);
            let is_value = is_test(at - 1) && !is_test(at.saturating_sub(2));
            let may_act = word.text.starts_with(ANY) && !is_folder && !is_value;
            if may_act || matches!(word.count, Count::Any | Count::Some) {
                self.doubt("arguments of `find` that are not written out");
            }
        }
    }

    /// Judges a program of awk.
    fn awk(&mut self, name: &str, words: &[Word]) {
        let mut at = 1;
        while let Some(text) = words.get(at).and_then(Word::text) {
            match text {
                "-F" | "-v" => at += 2,
                "--version" | "--help" => return,
                _ if text.starts_with("-F") || text.starts_with("-v") => at += 1,
                _ => break,
            }
        }
        let values = words.get(1..at).unwrap_or_default();
        let is_split = values.iter().any(|word| word.count != Count::One);
        let script = words.get(at).and_then(Word::text).filter(|text| !text.starts_with('-'));
        let starts =
            |text: &str| ["system", "|", "getline", "@", "extension"].iter().any(|way| text.contains(way));
        if is_split || script.is_none_or(starts) {
            self.doubt(format!("a script of `{name}`"));
        }
    }

    /// Adds the programs of a text that a shell gets as an argument.
    fn shell(&mut self, name: &str, words: &[Word], depth: usize) {
        let (mut at, mut has_text) = (1, false);
        while let Some(text) = words.get(at).and_then(Word::text) {
            if at == 1 && matches!(text, "--version" | "--help") {
                return;
            }
            if !text.starts_with(['-', '+']) || text == "--" || text == "-" {
                at += usize::from(text.starts_with('-'));
                break;
            }
            let value = words.get(at + 1).and_then(Word::text);
            let Some(has_value) = shell_options(text, value) else {
                return self.doubt(format!("`{name} {}`", shortened(text)));
            };
            has_text |= !text.starts_with("--") && text.contains('c');
            at += 1 + usize::from(has_value);
        }
        match words.get(at).filter(|_| has_text) {
            Some(word) => match word.text() {
                Some(text) => {
                    self.hides_in(words.get(at + 1..).unwrap_or_default());
                    self.read(text, depth + 1);
                }
                None => self.doubt(format!("`{name} -c` with a text that is not written out")),
            },
            None => self.doubt(format!("a script of `{name}`")),
        }
    }
}

/// Returns `true` if options of a shell have their value in the next word. `None` if they are not known here.
fn shell_options(text: &str, value: Option<&str>) -> Option<bool> {
    if text.starts_with("--") {
        return matches!(text, "--login" | "--noprofile" | "--norc").then_some(false);
    }
    let (sign, letters) = text.split_at(1);
    let (letters, name) = match letters.strip_suffix(['o', 'O']) {
        Some(others) => (others, &letters[others.len()..]),
        None => (letters, ""),
    };
    let are_known = letters.chars().all(|c| SHELL_LETTERS.contains(c) && !(sign == "+" && c == 'c'));
    let is_known = match name {
        "o" => SET_OPTIONS.contains(&value?),
        "O" => SHOPT_OPTIONS.contains(&value?),
        _ => true,
    };
    (are_known && is_known).then_some(!name.is_empty())
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
