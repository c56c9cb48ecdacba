//! Arguments of a skill, filled into its instructions.
//!
//! | written | becomes |
//! | --- | --- |
//! | `$ARGUMENTS` | the arguments as given |
//! | `$ARGUMENTS[N]`, `$N` | the word number N from 0; as written when there is none |
//! | `\$1`, `\$1.00`, `\$ARGUMENTS` | the same without the backslash |
//! | `${CLAUDE_SKILL_DIR}` | the skill's folder |
//!
//! `$N` must not be taken from prices, cells, formulas and shell code, which skills
//! are full of. It has one or two digits, and stays as written
//! - after a letter, a digit or `$` (`$B$6`, `US$5`, `$$1`), but not after another
//!   placeholder (`$0$1`),
//! - before a letter, a digit, `_` or the `$` that ends a formula (`$5k`, `$100`,
//!   `$1_a`, `$5$`),
//! - before `.` or `,` with a digit (`$1.50`, `$5,000`),
//! - inside an awk program in single quotes on the same line (`awk '{print $1}'`).
//!
//! Substituted text is not looked at again. Where no argument found a place, the
//! arguments follow the instructions as `ARGUMENTS: …`. Without arguments only
//! `$ARGUMENTS` (then empty), the folder and the backslashes are treated.
//! Commands (`` !`date` ``) are never run: they stay as written.

const FOLDER: &str = "${CLAUDE_SKILL_DIR}";
const ARGUMENTS: &str = "$ARGUMENTS";
/// How far before a `$N` an awk program may start, in bytes.
const AWK_REACH: usize = 256;

/// The text would be larger than allowed.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// What stands at a `$`, and its length in bytes.
#[derive(Debug, PartialEq, Eq)]
enum Placeholder {
    All(usize),
    Word(usize, usize),
    Folder(usize),
}

/// Fills `arguments` and `folder` into `body`; the result has at most `limit` bytes.
pub fn fill(body: &str, arguments: &str, folder: &str, limit: usize) -> Result<String, TooLarge> {
    let given = !arguments.trim().is_empty();
    let words = if given { words(arguments) } else { Vec::new() };
    let mut filled = Filled { text: String::with_capacity(body.len()), limit };
    let (mut copied, mut from, mut used) = (0, 0, false);
    while let Some(found) = body[from..].find('$') {
        let dollar = from + found;
        from = dollar + 1;
        if is_escaped(body, dollar) {
            filled.push(&body[copied..dollar - 1])?;
            copied = dollar;
            continue;
        }
        let (value, length) = match placeholder(body, copied, dollar) {
            Some(Placeholder::All(length)) => (if given { arguments } else { "" }, length),
            Some(Placeholder::Folder(length)) => (folder, length),
            Some(Placeholder::Word(index, length)) if index < words.len() => (words[index].as_str(), length),
            _ => continue,
        };
        used |= !body[dollar..].starts_with(FOLDER);
        filled.push(&body[copied..dollar])?;
        filled.push(value)?;
        from = dollar + length;
        copied = from;
    }
    filled.push(&body[copied..])?;
    if given && !used {
        filled.push(if body.is_empty() || body.ends_with('\n') { "\n" } else { "\n\n" })?;
        filled.push("ARGUMENTS: ")?;
        filled.push(arguments)?;
    }
    Ok(filled.text)
}

struct Filled {
    text: String,
    limit: usize,
}

impl Filled {
    fn push(&mut self, text: &str) -> Result<(), TooLarge> {
        if self.text.len() + text.len() > self.limit {
            return Err(TooLarge);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// One backslash before the `$` of `$1` or `$ARGUMENTS`. Two do not escape it.
fn is_escaped(body: &str, dollar: usize) -> bool {
    let before = &body[..dollar];
    let after = &body[dollar + 1..];
    before.ends_with('\\')
        && !before.ends_with("\\\\")
        && (after.starts_with(|c: char| c.is_ascii_digit()) || body[dollar..].starts_with(ARGUMENTS))
}

/// What stands at `dollar`; the last substitution ended at `copied`.
fn placeholder(body: &str, copied: usize, dollar: usize) -> Option<Placeholder> {
    let text = &body[dollar..];
    if text.starts_with(FOLDER) {
        return Some(Placeholder::Folder(FOLDER.len()));
    }
    match text.strip_prefix(ARGUMENTS) {
        Some(after) => all_or_word(after),
        None => word(body, copied, dollar),
    }
}

/// `$ARGUMENTS` or `$ARGUMENTS[N]`, with what comes after `$ARGUMENTS`.
fn all_or_word(after: &str) -> Option<Placeholder> {
    if let Some((index, length)) = after.strip_prefix('[').and_then(index) {
        return Some(Placeholder::Word(index, ARGUMENTS.len() + length + 1));
    }
    let longer_name = after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (!longer_name).then_some(Placeholder::All(ARGUMENTS.len()))
}

/// A number that ends in `]`, and its length with that.
fn index(text: &str) -> Option<(usize, usize)> {
    let digits = leading_digits(text, 6);
    let is_index = digits > 0 && text[digits..].starts_with(']');
    is_index.then(|| text[..digits].parse().ok()).flatten().map(|index| (index, digits + 1))
}

fn leading_digits(text: &str, most: usize) -> usize {
    text.bytes().take(most).take_while(u8::is_ascii_digit).count()
}

fn word(body: &str, copied: usize, dollar: usize) -> Option<Placeholder> {
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
    let preceded = body[copied..dollar].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '$');
    if !(1..=2).contains(&digits) || continued || preceded || in_awk(body, dollar) {
        return None;
    }
    Some(Placeholder::Word(text[..digits].parse().ok()?, digits + 1))
}

/// Whether the position is inside single quotes that opened after `awk`.
fn in_awk(body: &str, at: usize) -> bool {
    let reach = body.as_bytes()[at.saturating_sub(AWK_REACH)..at].iter().rev();
    let line = reach.take_while(|b| **b != b'\n').count();
    let line = &body.as_bytes()[at - line..at];
    let awk = line.windows(4).rposition(|w| w.starts_with(b"awk") && !w[3].is_ascii_alphanumeric());
    awk.is_some_and(|awk| line[awk..].split(|b| *b == b'\'').count() % 2 == 0)
}

/// Splits as a shell does. Single quotes keep everything; inside double quotes a
/// backslash keeps `"`, `\`, `$` and `` ` ``; outside quotes it keeps white space,
/// quotes and itself, and is an ordinary character before anything else, so that
/// `C:\dir` survives. A quote that is never closed is an ordinary character.
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
