//! Substitution of arguments in a skill's instructions.
//!
//! | written | becomes |
//! | --- | --- |
//! | `$ARGUMENTS` | the arguments as given |
//! | `$ARGUMENTS[N]`, `$N` | word number N, counted from 0; unchanged if there is no such word |
//! | `\$1`, `\$1.00`, `\$ARGUMENTS` | the same without the backslash |
//! | `$name` | the word at the position of this name in the front matter's `arguments` |
//! | `${CLAUDE_SKILL_DIR}`, … | the value of the variable; unchanged if it is unknown |
//!
//! Skills contain many prices, cell references, formulas and shell code, in which `$N` is not a placeholder.
//! `$N` therefore has one or two digits, and stays unchanged
//! - after a letter, a digit or `$` (`$B$6`, `US$5`, `$$1`), but not after another placeholder (`$0$1`),
//! - before a letter, a digit, `_` or the `$` that ends a formula (`$5k`, `$100`, `$1_a`, `$5$`),
//! - before `.` or `,` with a digit (`$1.50`, `$5,000`),
//! - inside an awk program in single quotes on the same line (`awk '{print $1}'`).
//!
//! Substituted text is not scanned again. If no placeholder uses the arguments, they are appended to the
//! instructions as `ARGUMENTS: …`. Without arguments, only `$ARGUMENTS` (which becomes empty), variables and
//! backslashes are processed. Commands (`` !`date` ``) are never executed and stay unchanged.

const ARGUMENTS: &str = "$ARGUMENTS";
/// Maximum distance between the start of an awk program and a `$N`, in bytes.
const AWK_REACH: usize = 256;
/// Prefix of known variables. Other names in braces belong to the shell.
const OURS: &str = "CLAUDE_";
/// Maximum length of a variable's name, in bytes.
const MAX_VARIABLE: usize = 64;
/// Maximum number of unknown variables that are reported.
const MAX_UNKNOWN: usize = 8;

/// Values for the placeholders.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    /// The arguments as given.
    pub arguments: &'a str,
    /// Names of the arguments, in order.
    pub names: &'a [String],
    /// Values of `${NAME}` variables.
    pub variables: &'a [(String, String)],
}

/// Instructions with all placeholders filled in.
#[derive(Debug, PartialEq, Eq)]
pub struct Filled {
    /// The filled text.
    pub text: String,
    /// Variables without a value, which stay unchanged in the text.
    pub unknown: Vec<String>,
}

/// Error: the text would exceed the limit.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Placeholder that begins with `$`.
#[derive(Debug, PartialEq, Eq)]
enum Placeholder<'a> {
    All,
    Word(usize),
    Variable(&'a str),
    Unknown(&'a str),
}

/// Fills the placeholders of `body`. The result has at most `limit` bytes.
pub fn fill(body: &str, given: &Given<'_>, limit: usize) -> Result<Filled, TooLarge> {
    let arguments = given.arguments;
    let has_arguments = !arguments.trim().is_empty();
    let words = if has_arguments { words(arguments) } else { Vec::new() };
    let mut filled = Bounded { text: String::with_capacity(body.len()), limit };
    let mut unknown: Vec<String> = Vec::new();
    let (mut copied, mut from, mut used) = (0, 0, false);
    while let Some(found) = body[from..].find('$') {
        let dollar = from + found;
        from = dollar + 1;
        if is_escaped(body, dollar, given.names) {
            filled.push(&body[copied..dollar - 1])?;
            copied = dollar;
            continue;
        }
        let Some((placeholder, length)) = placeholder(body, copied, dollar, given) else { continue };
        let value = match placeholder {
            Placeholder::All if has_arguments => arguments,
            Placeholder::All => "",
            Placeholder::Word(index) if index < words.len() => words[index].as_str(),
            Placeholder::Word(_) => continue,
            Placeholder::Variable(value) => value,
            Placeholder::Unknown(name) => {
                if unknown.len() < MAX_UNKNOWN && unknown.iter().all(|known| known != name) {
                    unknown.push(name.to_owned());
                }
                continue;
            }
        };
        used |= !matches!(placeholder, Placeholder::Variable(_));
        filled.push(&body[copied..dollar])?;
        filled.push(value)?;
        from = dollar + length;
        copied = from;
    }
    filled.push(&body[copied..])?;
    if has_arguments && !used {
        filled.push(if body.is_empty() || body.ends_with('\n') { "\n" } else { "\n\n" })?;
        filled.push("ARGUMENTS: ")?;
        filled.push(arguments)?;
    }
    Ok(Filled { text: filled.text, unknown })
}

struct Bounded {
    text: String,
    limit: usize,
}

impl Bounded {
    fn push(&mut self, text: &str) -> Result<(), TooLarge> {
        if self.text.len() + text.len() > self.limit {
            return Err(TooLarge);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// Returns `true` if a single backslash precedes the `$` of `$1`, `$ARGUMENTS` or a name. Two backslashes do
/// not escape.
fn is_escaped(body: &str, dollar: usize, names: &[String]) -> bool {
    let before = &body[..dollar];
    let after = &body[dollar + 1..];
    let is_placeholder = || {
        after.starts_with(|c: char| c.is_ascii_digit())
            || body[dollar..].starts_with(ARGUMENTS)
            || name(after, names).is_some()
    };
    before.ends_with('\\') && !before.ends_with("\\\\") && is_placeholder()
}

/// Parses the placeholder at `dollar`, and returns it with its length in bytes. The last substitution ended
/// at `copied`.
fn placeholder<'a>(
    body: &'a str,
    copied: usize,
    dollar: usize,
    given: &Given<'a>,
) -> Option<(Placeholder<'a>, usize)> {
    let text = &body[dollar..];
    if let Some(braced) = text.strip_prefix("${") {
        let end = braced.bytes().take(MAX_VARIABLE).position(|byte| byte == b'}')?;
        let name = &braced[..end];
        let length = name.len() + "${}".len();
        let known = given.variables.iter().find(|(known, _)| known == name);
        return match known {
            Some((_, value)) => Some((Placeholder::Variable(value), length)),
            None if is_ours(name) => Some((Placeholder::Unknown(name), length)),
            None => None,
        };
    }
    if let Some(after) = text.strip_prefix(ARGUMENTS) {
        return all_or_word(after);
    }
    if is_preceded(body, copied, dollar) {
        return None;
    }
    match name(&text[1..], given.names) {
        Some((index, length)) => Some((Placeholder::Word(index), length + 1)),
        None => word(body, dollar),
    }
}

fn is_ours(name: &str) -> bool {
    name.strip_prefix(OURS).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
}

/// Returns `true` if a letter, a digit or `$` directly precedes, unless it belongs to another placeholder.
fn is_preceded(body: &str, copied: usize, dollar: usize) -> bool {
    body[copied..dollar].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '$')
}

/// Returns the index and length of the longest argument name that `text` starts with.
fn name(text: &str, names: &[String]) -> Option<(usize, usize)> {
    let ends =
        |name: &str| !text[name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '[');
    let found = names.iter().enumerate().filter(|(_, name)| text.starts_with(name.as_str()) && ends(name));
    found.map(|(index, name)| (index, name.len())).max_by_key(|(_, length)| *length)
}

/// Parses `$ARGUMENTS` or `$ARGUMENTS[N]` from the text after `$ARGUMENTS`.
fn all_or_word(after: &str) -> Option<(Placeholder<'static>, usize)> {
    if let Some((index, length)) = after.strip_prefix('[').and_then(index) {
        return Some((Placeholder::Word(index), ARGUMENTS.len() + length + 1));
    }
    let longer_name = after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (!longer_name).then_some((Placeholder::All, ARGUMENTS.len()))
}

/// Parses a number followed by `]`, and returns it with the length of both.
fn index(text: &str) -> Option<(usize, usize)> {
    let digits = leading_digits(text, 6);
    let is_index = digits > 0 && text[digits..].starts_with(']');
    is_index.then(|| text[..digits].parse().ok()).flatten().map(|index| (index, digits + 1))
}

fn leading_digits(text: &str, most: usize) -> usize {
    text.bytes().take(most).take_while(u8::is_ascii_digit).count()
}

fn word(body: &str, dollar: usize) -> Option<(Placeholder<'static>, usize)> {
    let text = &body[dollar + 1..];
    let digits = leading_digits(text, 3);
    let mut after = text[digits..].chars();
    let next = after.next();
    let second = after.next();
    let continued = match next {
        Some('.' | ',') => second.is_some_and(|c| c.is_ascii_digit()),
        Some('$') => !second.is_some_and(|c| c.is_alphanumeric() || c == '{'),
        Some(c) => c.is_alphanumeric() || c == '_',
        None => false,
    };
    if !(1..=2).contains(&digits) || continued || in_awk(body, dollar) {
        return None;
    }
    Some((Placeholder::Word(text[..digits].parse().ok()?), digits + 1))
}

/// Returns `true` if the position is inside single quotes that opened after `awk`.
fn in_awk(body: &str, at: usize) -> bool {
    let reach = body.as_bytes()[at.saturating_sub(AWK_REACH)..at].iter().rev();
    let line = reach.take_while(|b| **b != b'\n').count();
    let line = &body.as_bytes()[at - line..at];
    let awk = line.windows(4).rposition(|w| w.starts_with(b"awk") && !w[3].is_ascii_alphanumeric());
    awk.is_some_and(|awk| line[awk..].split(|b| *b == b'\'').count() % 2 == 0)
}

/// Splits text into words like a shell. Single quotes preserve everything. Inside double quotes a backslash
/// escapes `"`, `\`, `$` and `` ` ``. Outside quotes it escapes whitespace, quotes and itself, and is an
/// ordinary character before anything else, so that `C:\dir` is preserved. An unclosed quote is an ordinary
/// character.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        let quoted = match c {
            '\'' => single_quoted(rest),
            '"' => double_quoted(rest),
            '\\' => escaped(rest),
            _ => None,
        };
        match quoted {
            Some((text, length)) => {
                word.push_str(&text);
                rest = &rest[length..];
            }
            None => word.push(c),
        }
    }
    words.extend(word);
    words
}

fn single_quoted(rest: &str) -> Option<(String, usize)> {
    let end = rest.find('\'')?;
    Some((rest[..end].to_owned(), end + 1))
}

fn double_quoted(rest: &str) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((text, at + 1)),
            '\\' if rest[at + 1..].starts_with(['"', '\\', '$', '`']) => {
                text.extend(chars.next().map(|(_, kept)| kept));
            }
            _ => text.push(c),
        }
    }
    None
}

fn escaped(rest: &str) -> Option<(String, usize)> {
    let kept = rest.chars().next()?;
    let special = kept.is_whitespace() || matches!(kept, '\'' | '"' | '\\');
    special.then(|| (kept.to_string(), kept.len_utf8()))
}
