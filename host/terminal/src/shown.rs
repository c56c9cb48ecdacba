//! Text from untrusted sources in output that users base decisions on.
//!
//! Invariant: untrusted text cannot imitate this program's output. It is on a single row, or each of its rows
//! is marked. No row is wider than the terminal, which would wrap it without a mark, even if the terminal
//! draws its characters wider than usual. Invisible characters are escaped. Only [`wrapped`] allows wider
//! rows, since it is for this program's own text.

use std::io::IsTerminal;
use std::ops::Range;
#[cfg(unix)]
use std::os::fd::AsFd as AsTerminal;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsTerminal;

use scorpiox_text::line::{escaped_json, is_unsafe};
use scorpiox_text::{MAX_MARKS, is_mark, most_columns};
use unicode_width::UnicodeWidthChar as _;

use scorpiox_text::clean;

use crate::style::Style;

/// Number of columns if it is unknown.
const COLUMNS: usize = 80;
/// Minimum number of columns. Narrower terminals are not supported.
const LEAST_COLUMNS: usize = 20;

/// Printable text: nothing in it controls the terminal, or hides or reverses text. Only this module creates
/// it. Parts of it can have a [`Style`], which is not part of the text.
#[derive(Default)]
pub struct Shown {
    text: String,
    /// Ranges of the text with a style, in order and apart from each other.
    styles: Vec<(Range<usize>, Style)>,
}

impl Shown {
    /// Escapes this program's own text of several lines. Untrusted parts must already be on a single line or
    /// in marked rows.
    pub fn text(text: &str) -> Self {
        Self::plain(visible(text))
    }

    /// Escapes a part of a line, with a style for terminals that have colors.
    pub fn styled(style: Style, text: &str) -> Self {
        let text = visible(&text.replace('\n', "\\n"));
        let styles = vec![(0..text.len(), style)];
        Self { text, styles }
    }

    /// Like [`text`](Self::text), with a style for the first line, such as the headings of a table.
    pub fn headed(text: &str) -> Self {
        let text = visible(text);
        let end = text.find('\n').unwrap_or(text.len());
        Self { styles: vec![(0..end, Style::Heading)], text }
    }

    fn plain(text: String) -> Self {
        Self { text, styles: Vec::new() }
    }

    /// Escapes a sentence that contains untrusted names. Line feeds in it are escaped, so that no row can
    /// imitate another sentence. On a terminal, long sentences continue on indented rows; elsewhere they stay
    /// on a line.
    pub fn line(text: &str) -> Self {
        Self::plain(fitted(&visible(&text.replace('\n', "\\n")), terminal_columns(&std::io::stdout())))
    }

    /// Like [`line`](Self::line), with a style for the first occurrence of `part`, if it stays in one row.
    pub fn line_with(text: &str, part: &str, style: Style) -> Self {
        let mut shown = Self::line(text);
        if let Some(at) = shown.text.find(part).filter(|_| !part.is_empty()) {
            shown.styles.push((at..at + part.len(), style));
        }
        shown
    }

    /// Applies [`line`](Self::line) to each line of a text.
    pub fn lines(text: &str) -> Self {
        text.lines().fold(Self::default(), |shown, line| shown.and(&Self::line(line)))
    }

    /// Output of a tool or a component, in the form that models receive: line breaks and the invisible
    /// characters needed by scripts and emoji are preserved.
    pub fn said(text: &str) -> Self {
        Self::plain(format!("{}\n", clean(text).trim_end()))
    }

    /// Escapes JSON without changing its meaning.
    pub fn json(json: &str) -> Self {
        // Raw line feeds occur only between tokens.
        let lines: Vec<_> = json.lines().map(|line| format!("{}\n", escaped_json(line))).collect();
        Self::plain(lines.concat())
    }

    /// Appends another text.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        let at = self.text.len();
        self.text.push_str(&other.text);
        let moved = other.styles.iter().map(|(range, style)| (range.start + at..range.end + at, *style));
        self.styles.extend(moved);
        self
    }

    /// Returns the text, without styles.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text with escape sequences for its styles.
    pub(crate) fn with_colors(&self) -> String {
        let mut colored = String::with_capacity(self.text.len() + self.styles.len() * 12);
        let mut done = 0;
        for (range, style) in &self.styles {
            colored.push_str(&self.text[done..range.start]);
            style.paint(&mut colored, &self.text[range.clone()]);
            done = range.end;
        }
        colored.push_str(&self.text[done..]);
        colored
    }

    /// Returns `true` if a part has a style.
    pub(crate) fn has_styles(&self) -> bool {
        !self.styles.is_empty()
    }
}

/// Returns the number of columns of standard output; 80 if it is not a terminal.
pub fn columns() -> usize {
    terminal_columns(&std::io::stdout()).unwrap_or(COLUMNS)
}

/// Returns the number of columns of an output stream, or `None` if it is not a terminal.
pub(crate) fn terminal_columns<T: IsTerminal + AsTerminal>(printed: &T) -> Option<usize> {
    if !printed.is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size_of(printed);
    Some(size.map_or(COLUMNS, |(width, _)| usize::from(width.0).max(LEAST_COLUMNS)))
}

/// Wraps a line to the given number of columns, indenting the following rows.
pub fn fitted(line: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns.filter(|columns| width(line) > *columns) else { return format!("{line}\n") };
    let indent = line.len() - line.trim_start().len();
    let rows = wrapped(line, columns.saturating_sub(indent + 2)).into_iter().enumerate();
    let row = |(index, row)| format!("{}{row}\n", " ".repeat(if index == 0 { indent } else { indent + 2 }));
    rows.map(row).collect()
}

/// Returns the text as a single row of at most `columns` columns, with `…` where it is cut.
pub fn one_line(text: &str, columns: usize) -> String {
    let whole = visible(&text.replace('\n', "\\n"));
    if width(&whole) <= columns {
        return whole;
    }
    let mut taken = 1;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken <= columns
    };
    let cut: String = whole.chars().take_while(fits).collect();
    cut + "…"
}

/// Appends the text as rows that begin with `before` and `| `. After `most` rows, only counts the rest.
pub fn rows(out: &mut String, before: &str, text: &str, most: usize) {
    let columns = columns().saturating_sub(width(before) + 2).max(2);
    let text = visible(text);
    let mut rows = text.lines().filter(|line| !line.trim().is_empty()).flat_map(|line| pieces(line, columns));
    for row in rows.by_ref().take(most) {
        push_row(out, before, '|', row.trim_end());
    }
    match rows.count() {
        0 => {}
        1 => push_row(out, before, ' ', "(and 1 row more)"),
        more => push_row(out, before, ' ', &format!("(and {more} rows more)")),
    }
}

fn push_row(out: &mut String, before: &str, mark: char, row: &str) {
    out.push_str(before);
    out.push(mark);
    out.push(' ');
    out.push_str(row);
    out.push('\n');
}

/// Wraps this program's own text, which may contain untrusted names, to rows of at most `columns` columns. A
/// longer word is never broken, because a broken path cannot be copied. Untrusted text must also be cut by
/// [`one_line`].
///
/// Each row begins where one space stood. All other spaces stay, since a text with fewer is another text.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    visible(text).lines().flat_map(|line| wrapped_line(line.trim(), columns)).collect()
}

fn wrapped_line(line: &str, columns: usize) -> Vec<String> {
    let mut words = line.split(' ');
    let mut row = words.next().unwrap_or_default().to_owned();
    let mut rows = Vec::new();
    for word in words {
        if width(&row) + 1 + width(word) > columns {
            rows.push(std::mem::take(&mut row));
        } else {
            row.push(' ');
        }
        row.push_str(word);
    }
    rows.push(row);
    rows
}

/// Escapes deceptive characters, and all without ink but spaces and line feeds.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        match c {
            '\t' => shown.push(' '),
            '\n' => shown.push(c),
            c if is_unsafe(c) || marks > MAX_MARKS => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Splits a line into pieces that fit, between words if possible.
fn pieces(line: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut left = line;
    while most_width(left) > columns {
        let most = take(left, columns);
        let most = if most.is_empty() { first(left) } else { most };
        let cut =
            most.trim_end().rfind(' ').filter(|at| *at > most.len() / 2).map_or(most, |at| &most[..=at]);
        pieces.push(cut);
        left = left[cut.len()..].trim_start();
    }
    if !left.is_empty() || pieces.is_empty() {
        pieces.push(left);
    }
    pieces
}

fn first(text: &str) -> &str {
    &text[..text.chars().next().map_or(0, char::len_utf8)]
}

/// Returns the longest prefix of at most `columns` columns.
fn take(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += most_columns(*c);
        taken > columns
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Returns the maximum width of a text on any terminal.
fn most_width(text: &str) -> usize {
    text.chars().map(most_columns).sum()
}

/// Returns the usual width of a text on a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_others_is_one_row_and_shows_what_hides() {
        assert_eq!(one_line("a\nb\u{1b}[2J\u{202e}", 80), "a\\nb\\u{1b}[2J\\u{202e}");
        assert_eq!(one_line(&"é".repeat(100), 10), format!("{}…", "é".repeat(9)));
        assert_eq!(one_line("世界世界", 5), "世界…");
    }

    #[test]
    fn each_row_is_marked_and_fits() {
        let forged = format!("good{}It asks for\n  nothing\r\n{}", " ".repeat(300), "世".repeat(100));
        let mut out = String::new();
        rows(&mut out, "    ", &forged, 100);
        assert!(out.lines().all(|row| row.starts_with("    | ")), "{out}");
        assert!(out.lines().all(|row| width(row) <= COLUMNS), "{out}");
        assert!(out.lines().count() >= 6, "{out}");
        let mut few = String::new();
        rows(&mut few, "", &"word\n".repeat(10), 2);
        assert_eq!(few, "| word\n| word\n  (and 8 rows more)\n");
    }

    #[test]
    fn no_row_is_wider_than_any_terminal_draws_it() {
        for c in
            ["\u{3164}", "\u{ffa0}", "\u{a8fa}", "\u{d4e}", "\u{301}", "é", "世", "👍\u{1f3fd}", "\u{9be}"]
        {
            let mut out = String::new();
            rows(&mut out, "  ", &format!("{}In all, nothing", c.repeat(200)), 100);
            assert!(out.lines().all(|row| row.starts_with("  | ")), "{out}");
            assert!(out.lines().all(|row| most_width(row) <= COLUMNS), "{out}");
            assert!(!out.contains(['\u{3164}', '\u{ffa0}']), "{out}");
        }
        assert_eq!(
            visible(&format!("a{}", "\u{301}".repeat(6))),
            "a\u{301}\u{301}\u{301}\u{301}\\u{301}\\u{301}"
        );
    }

    #[test]
    fn whatever_is_printed_acts_on_no_terminal() {
        let bad = "a\u{1b}]52;c;eA==\u{7}\u{202e}b\u{9b}31m\rc\nallowed: this is fine";
        for shown in
            [Shown::text(bad), Shown::line(bad), Shown::said(bad), Shown::json(&format!("[{bad:?}]"))]
        {
            let shown = shown.as_str();
            assert!(
                !shown.contains(|c| c != '\n' && scorpiox_text::is_deceptive(c)),
                "{}",
                shown.escape_debug()
            );
        }
        assert_eq!(fitted("  a bb cc dd", Some(8)), "  a bb\n    cc\n    dd\n");
        assert_eq!(Shown::line(bad).as_str().lines().count(), 1);
        assert_eq!(Shown::line("a").and(&Shown::line("b")).as_str(), "a\nb\n");
    }

    #[test]
    fn styles_are_around_their_part_alone_and_let_nothing_through() {
        let bad = "x\u{1b}[2J\ny";
        let shown = Shown::text("  ").and(&Shown::styled(Style::Good, bad)).and(&Shown::text(" is\n"));
        assert_eq!(shown.as_str(), "  x\\u{1b}[2J\\ny is\n");
        assert_eq!(shown.with_colors(), "  \u{1b}[32mx\\u{1b}[2J\\ny\u{1b}[0m is\n");
        assert_eq!(Shown::headed("a  b\n1  2\n").with_colors(), "\u{1b}[1ma  b\u{1b}[0m\n1  2\n");
        let verdict = Shown::line_with("x: denied: denied", "denied", Style::Bad);
        assert_eq!(verdict.with_colors(), "x: \u{1b}[31mdenied\u{1b}[0m: denied\n");
    }

    #[test]
    fn own_texts_are_wrapped_between_words_alone() {
        assert_eq!(wrapped("one two /a/long/path three", 8), ["one two", "/a/long/path", "three"]);
        assert_eq!(wrapped("", 8), [""; 0]);
        assert_eq!(wrapped("a\n\n b ", 8), ["a", "", "b"]);
    }

    #[test]
    fn no_space_is_lost_where_a_row_ends() {
        let text = format!("echo{}a  b ;  {}rm -rf  x", " ".repeat(31), "  ".repeat(9));
        for columns in 1..60 {
            assert_eq!(wrapped(&text, columns).join(" "), text, "{columns}");
        }
        assert_eq!(wrapped("aa   bb", 4), ["aa  ", "bb"]);
        assert_eq!(wrapped("aa\u{3000}bb", 4), ["aa\\u{3000}bb"]);
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(pieces("aaaa bbbb cccc", 10), ["aaaa bbbb ", "cccc"]);
        assert_eq!(pieces("aaaaaaaaaaaa", 5), ["aaaaa", "aaaaa", "aa"]);
        assert_eq!(pieces("世", 1), ["世"]);
    }
}
