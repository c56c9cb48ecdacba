//! Splits long texts into pages, each cut at the end of a block.
//!
//! The same text always yields the same pages, so a page number is sufficient to continue reading.

use std::borrow::Cow;

use crate::Format;

/// Maximum number of headings in an outline. `HEADING_CHARS` is the maximum length of each.
const MAX_HEADINGS: usize = 60;
const HEADING_CHARS: usize = 80;
/// Maximum share of a page (one fifth) for a table's header that is repeated on the next page.
const HEAD_PART: usize = 5;
/// Minimum share of a page (a quarter) that is filled before a cut at a better position.
const MIN_PART: usize = 4;

/// A text divided into pages.
#[derive(Debug)]
pub(crate) struct Pages<'a> {
    text: &'a str,
    /// Start of each page.
    starts: Vec<Start<'a>>,
    /// Length of the complete text.
    pub(crate) total_chars: usize,
}

#[derive(Debug, Clone, Copy)]
struct Start<'a> {
    at: usize,
    /// The code block in which the page begins.
    inside: Option<Fence<'a>>,
    /// The header lines of the table in which the page begins.
    head: Option<&'a str>,
}

impl Start<'_> {
    fn plain(at: usize) -> Self {
        Self { at, inside: None, head: None }
    }
}

/// The line that opens a code block.
#[derive(Debug, Clone, Copy)]
struct Fence<'a> {
    line: &'a str,
    ticks: &'a str,
}

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        let line = line.trim_end();
        let from = line.find("```")?;
        // List and quotation marks may precede the fence.
        let is_mark = |c: char| matches!(c, ' ' | '>' | '-' | '*' | '.' | ')') || c.is_ascii_digit();
        let info = line[from..].trim_start_matches('`');
        let ticks = &line[from..line.len() - info.len()];
        (line[..from].chars().all(is_mark) && !info.contains('`')).then_some(Self { line, ticks })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim_start_matches([' ', '>']).trim_end();
        line.len() >= self.ticks.len() && line.bytes().all(|byte| byte == b'`')
    }

    /// Returns the closing fence with the same indentation.
    fn closing(self) -> String {
        let before = &self.line[..self.line.len() - self.line.trim_start_matches([' ', '>']).len()];
        format!("\n{before}{}", self.ticks)
    }
}

impl<'a> Pages<'a> {
    /// Divides a text into pages of at most `limit` characters.
    pub(crate) fn of(text: &'a str, format: Format, limit: usize) -> Self {
        let mut start = Start::plain(0);
        let mut starts = vec![start];
        loop {
            let head = start.head.map_or(0, |head| head.chars().count());
            let Some((end, _)) = text[start.at..].char_indices().nth(limit.saturating_sub(head)) else {
                break;
            };
            let next = next_start(text, start, start.at + end, format);
            // A long header on each page would produce many pages.
            let head = next.head.filter(|head| head.len() <= limit / HEAD_PART);
            let next = Start { head, ..next };
            starts.push(next);
            start = next;
        }
        Self { text, starts, total_chars: text.chars().count() }
    }

    /// Returns the number of pages; at least one.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns a page, counted from 1. A code block that is cut is closed before the cut and reopened after
    /// it. A table that is cut repeats its header.
    pub(crate) fn page(&self, number: usize) -> Option<Cow<'a, str>> {
        let start = *self.starts.get(number.checked_sub(1)?)?;
        let next = self.starts.get(number).copied().unwrap_or(Start::plain(self.text.len()));
        let text = self.text[start.at..next.at].trim_matches('\n');
        let opening = start.inside.map(|fence| format!("{}\n", fence.line));
        let opening = opening.or_else(|| start.head.map(str::to_owned));
        let closing = next.inside.map(Fence::closing);
        if opening.is_none() && closing.is_none() {
            return Some(Cow::Borrowed(text));
        }
        let around = (opening.unwrap_or_default(), closing.unwrap_or_default());
        Some(Cow::Owned(format!("{}{text}{}", around.0, around.1)))
    }

    /// Returns the Markdown headings with their page numbers, in at most `most` characters and as deep as
    /// they fit. Returns `None` for fewer than two headings.
    pub(crate) fn outline(&self, most: usize) -> Option<String> {
        let headings = self.headings();
        let deepest = headings.iter().map(|heading| heading.level).max()?;
        (1..=deepest).rev().find_map(|level| {
            let kept: Vec<_> = headings.iter().filter(|heading| heading.level <= level).collect();
            let lines: Vec<_> = kept.iter().map(|heading| heading.line()).collect();
            let text = lines.join("\n");
            let fits = kept.len() <= MAX_HEADINGS && text.chars().count() <= most;
            (kept.len() > 1 && fits).then_some(text)
        })
    }

    fn headings(&self) -> Vec<Heading<'a>> {
        let mut found = Vec::new();
        let mut inside: Option<Fence<'_>> = None;
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            inside = match inside {
                Some(fence) if fence.is_closed_by(line) => None,
                None => {
                    let text = line.trim_start_matches('#');
                    let level = line.len() - text.len();
                    if (1..=6).contains(&level) && text.starts_with(' ') && !text.trim().is_empty() {
                        let page = self.starts.partition_point(|start| start.at <= at);
                        found.push(Heading { level, text: text.trim(), page });
                    }
                    Fence::opened_by(line)
                }
                same => same,
            };
            at += line.len();
        }
        found
    }
}

struct Heading<'a> {
    level: usize,
    text: &'a str,
    page: usize,
}

impl Heading<'_> {
    fn line(&self) -> String {
        let mut text: String = self.text.chars().take(HEADING_CHARS).collect();
        if self.text.chars().nth(HEADING_CHARS).is_some() {
            text.push('…');
        }
        format!("{}- {text} (page {})", "  ".repeat(self.level - 1), self.page)
    }
}

/// Returns the start of the page after `start`: the last end of a block before `end`, or else of a line or a
/// word.
fn next_start<'a>(text: &'a str, start: Start<'a>, end: usize, format: Format) -> Start<'a> {
    let earliest = start.at + (end - start.at) / MIN_PART;
    let mut inside = start.inside;
    let (mut block, mut line_end) = (None, None);
    let mut table = Table { head: start.head, last: None };
    let mut at = start.at;
    for line in text[start.at..end].split_inclusive('\n') {
        let is_text = inside.is_none() && format == Format::Markdown;
        let here = Start { at, inside, head: table.head.filter(|_| is_text && line.starts_with('|')) };
        if at > earliest {
            line_end = Some(here);
            if inside.is_none() && (at == 0 || text[..at].ends_with("\n\n")) {
                block = Some(here);
            }
        }
        inside = match inside {
            Some(fence) if fence.is_closed_by(line) => None,
            None if format == Format::Markdown => Fence::opened_by(line),
            same => same,
        };
        if is_text {
            table.pass(text, at, line);
        }
        at += line.len();
    }
    let earliest = (earliest..end).find(|at| text.is_char_boundary(*at)).unwrap_or(end);
    let word = || {
        let space = text[earliest..end].rfind(' ')?;
        Some(Start::plain(earliest + space + 1))
    };
    block.or(line_end).or_else(word).unwrap_or(Start::plain(end))
}

/// The table of the current lines.
struct Table<'a> {
    head: Option<&'a str>,
    /// Start of the previous line if it is a row.
    last: Option<usize>,
}

impl<'a> Table<'a> {
    fn pass(&mut self, text: &'a str, at: usize, line: &str) {
        if !line.starts_with('|') {
            (self.head, self.last) = (None, None);
            return;
        }
        // The line below the column names.
        let is_rule = line.starts_with("| ")
            && line.contains("---")
            && line.trim_end().bytes().all(|b| matches!(b, b'|' | b' ' | b'-' | b':'));
        if let Some(first) = self.last.filter(|_| is_rule && self.head.is_none()) {
            self.head = text.get(first..at + line.len()).filter(|head| head.ends_with('\n'));
        }
        self.last = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, limit: usize) -> Vec<String> {
        let pages = Pages::of(text, Format::Markdown, limit);
        (1..=pages.count()).filter_map(|page| pages.page(page)).map(Cow::into_owned).collect()
    }

    #[test]
    fn pages_end_where_blocks_end() {
        let text = "first block\n\nsecond block\n\nthird block";
        assert_eq!(split(text, 30), ["first block\n\nsecond block", "third block"]);
        assert_eq!(split(text, 100), [text]);
        assert_eq!(split("", 10), [""]);
    }

    #[test]
    fn a_long_block_is_cut_between_lines_and_a_long_line_between_words() {
        assert_eq!(split("aaaa\nbbbb\ncccc\ndddd", 12), ["aaaa\nbbbb", "cccc\ndddd"]);
        assert_eq!(split("one two three four", 10), ["one two ", "three four"]);
        assert_eq!(split(&"é".repeat(25), 10), ["é".repeat(10), "é".repeat(10), "é".repeat(5)]);
    }

    #[test]
    fn a_code_block_is_closed_and_opened_again() {
        let text = "```rust\nlet a;\nlet b;\n\nlet c;\nlet d;\n```\n\nend";
        assert_eq!(split(text, 30), ["```rust\nlet a;\nlet b;\n```", "```rust\nlet c;\nlet d;\n```\n\nend"]);
    }

    #[test]
    fn a_table_that_is_cut_has_its_head_again() {
        let rows: String = (0..20).fold(String::new(), |rows, n| rows + &format!("| {n} | row |\n"));
        let text = format!("Text.\n\n| a | b |\n| --- | :--- |\n{rows}\nAfter.");
        let pages = split(&text, 150);
        assert!(pages.len() > 2, "{pages:?}");
        for page in &pages[1..pages.len() - 1] {
            assert!(page.starts_with("| a | b |\n| --- | :--- |\n| "), "{page}");
            assert!(page.chars().count() <= 150, "{page}");
        }
        let all = pages.join("\n");
        assert!((0..20).all(|n| all.matches(&format!("| {n} | row |")).count() == 1), "{all}");
        // The header is not repeated in code, nor if it would fill the pages.
        assert!(!split(&format!("```\n{text}\n```"), 150)[1].contains("| a | b |"));
        let wide = format!("| {} | b |\n| --- | --- |\n{rows}", "a".repeat(100));
        assert!(!split(&wide, 150)[1].contains("aaa"));
    }

    #[test]
    fn an_outline_says_on_which_page_each_heading_is_and_is_as_deep_as_it_may() {
        let text = "# A\n\ntext\n\n## B\n\n```\n# no heading\n```\n\n# C\n\n#hash\n\nend";
        let pages = Pages::of(text, Format::Markdown, 30);
        assert_eq!(pages.outline(100).as_deref(), Some("- A (page 1)\n  - B (page 1)\n- C (page 2)"));
        assert_eq!(pages.outline(30).as_deref(), Some("- A (page 1)\n- C (page 2)"));
        assert_eq!(pages.outline(10), None);
        assert_eq!(Pages::of("# Only one\n\ntext", Format::Markdown, 5).outline(100), None);
    }

    #[test]
    fn nothing_is_lost_and_no_page_is_too_long() {
        let words: String = (0..4000).fold(String::new(), |text, n| {
            let gap = match n {
                n if n % 7 == 0 => "\n\n",
                n if n % 3 == 0 => "\n",
                _ => " ",
            };
            text + &format!("w{n}{gap}")
        });
        let pages = Pages::of(&words, Format::Text, 500);
        assert_eq!(pages.total_chars, words.chars().count());
        let all: Vec<_> = (1..=pages.count()).filter_map(|n| pages.page(n)).collect();
        assert!(all.iter().all(|page| page.chars().count() <= 500));
        let kept: Vec<&str> = all.iter().flat_map(|page| page.split_whitespace()).collect();
        assert_eq!(kept, words.split_whitespace().collect::<Vec<_>>());
    }
}
