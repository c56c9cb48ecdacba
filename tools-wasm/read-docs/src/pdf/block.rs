//! Groups lines into paragraphs, list items, code and tables.

use super::bidi;
use super::code;
use super::line::{Kind, Line, Span};
use super::rules::Rule;
use super::table::{self, Table};

/// Minimum line distance that begins a paragraph, relative to the usual distance.
const PARAGRAPH: f64 = 1.15;
/// The same if the previous line is full and its sentence continues: formulas need more space.
const ROOM: f64 = 1.5;
/// Minimum indentation of a line that begins a paragraph, in font sizes.
const INDENT: f64 = 0.8;
/// Marks a word that was split at the end of a line, until it is known if the hyphen belongs to the word.
pub(super) const PARTED: char = '\u{ad}';
/// Signs that begin list items.
const BULLETS: [&str; 18] =
    ["•", "◦", "▪", "‣", "●", "○", "■", "□", "–", "—", "-", "*", "·", "►", "▶", "✓", "✔", "∗"];

/// A part of a page's text.
#[derive(Debug)]
pub(super) enum Block {
    Text(Text),
    Code(Vec<String>),
    Table(Table),
}

/// A paragraph, a heading, or a list item.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) spans: Vec<Span>,
    pub(super) size: f64,
    pub(super) is_bold: bool,
    pub(super) lines: usize,
    /// Start of the first line.
    pub(super) left: f64,
    pub(super) base: f64,
    pub(super) item: Option<Item>,
    /// `true` if the first line is farther to the right than the second.
    pub(super) is_indented: bool,
    pub(super) role: Role,
    /// `true` if the last line is full, so that the text may continue in the next column.
    pub(super) is_open: bool,
}

/// Role of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Body,
    /// Smaller text below the page's main text.
    Note,
    /// A line of a table of contents.
    Entry,
}

/// Mark of a list item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Bullet,
    Number(u32),
    /// A mark that Markdown lists do not have, such as `a)`.
    Other(String),
}

impl Text {
    pub(super) fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

/// Returns the blocks of one column.
pub(super) fn blocks(lines: &[Line], rules: &[Rule], step: Option<f64>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let shape = Shape::of(lines, step);
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let rest = lines.get(at..).unwrap_or_default();
        if line.is_mono {
            let count = rest.iter().take_while(|line| line.is_mono).count();
            blocks.push(Block::Code(code::lines(rest.get(..count).unwrap_or_default())));
            at += count.max(1);
        } else if let Some((table, count)) = table::table(rest, rules) {
            blocks.push(Block::Table(table));
            at += count.max(1);
        } else {
            let is_table = |from: usize| table::table(rest.get(from..).unwrap_or_default(), rules).is_some();
            let count = 1 + rest
                .windows(2)
                .enumerate()
                .take_while(|(at, two)| match two {
                    [one, two] => !two.is_mono && shape.goes_on(one, two, line) && !is_table(at + 1),
                    _ => false,
                })
                .count();
            blocks.push(Block::Text(shape.text(rest.get(..count).unwrap_or_default())));
            at += count;
        }
    }
    blocks
}

/// Common properties of a column's lines.
struct Shape {
    left: f64,
    right: f64,
    /// Usual distance between lines, in font sizes.
    step: f64,
}

impl Shape {
    fn of(lines: &[Line], page_step: Option<f64>) -> Self {
        // Default if there are too few lines.
        const NARROW: f64 = 1.25;
        let step = usual_step(std::iter::once(lines)).or(page_step).unwrap_or(NARROW);
        let mut rights: Vec<f64> = lines.iter().map(|line| line.right).collect();
        rights.sort_by(f64::total_cmp);
        let right = rights.get(rights.len() * 9 / 10).or(rights.last()).copied().unwrap_or_default();
        let left = lines.iter().map(|line| line.left).fold(f64::INFINITY, f64::min);
        Self { left, right, step }
    }

    /// Returns `true` if `two` continues the text of the previous line `one`. `first` is the first line of
    /// the text.
    fn goes_on(&self, one: &Line, two: &Line, first: &Line) -> bool {
        let size = one.size.max(two.size);
        let same_size = (one.size - two.size).abs() <= 0.07 * size;
        let step = (two.base - one.base) / size;
        let is_near =
            step <= self.step * PARAGRAPH + 0.03 || step <= self.step * ROOM && self.is_amid(one, two);
        if !same_size || one.is_bold != two.is_bold || !is_near {
            return false;
        }
        if item(two).is_some() && !is_amid(one, self.right) || is_entry(one) || is_entry(two) {
            return false;
        }
        if item(first).is_some() {
            // The lines of an item begin at its text, or at least not before its mark.
            return two.left > first.left - INDENT * size
                && (two.left > first.left + 0.3 * size
                    || first.left > two.left - 0.3 * size && !self.is_short(one, two));
        }
        let is_indented = two.left > one.left + INDENT * size;
        let is_centred = one.left > self.left + INDENT * size
            && (f64::midpoint(one.left, one.right) - f64::midpoint(two.left, two.right)).abs() < size;
        if is_indented && !is_centred && !two.is_right_to_left {
            return false;
        }
        !self.is_short(one, two) || is_centred
    }

    /// Returns `true` if a sentence continues from a full line to the next.
    fn is_amid(&self, one: &Line, two: &Line) -> bool {
        let starts = two.pieces.first().and_then(|piece| piece.text.chars().next());
        self.right - one.right < one.size && !ends_sentence(one) && starts.is_some_and(char::is_lowercase)
    }

    /// Returns `true` if the first word of the next line would have fit on this one.
    fn is_short(&self, one: &Line, two: &Line) -> bool {
        let word = two.pieces.first().map_or(0.0, |piece| piece.end - piece.start);
        if two.is_right_to_left {
            return one.left - self.left - word > one.size;
        }
        let ends = ends_sentence(one);
        let starts =
            two.pieces.first().and_then(|piece| piece.text.chars().next()).is_some_and(char::is_lowercase);
        let room = self.right - one.right - word;
        room > 0.3 * one.size && (ends || !starts) && (ends || room > 3.0 * one.size)
    }

    fn text(&self, lines: &[Line]) -> Text {
        let mut spans: Vec<Span> = Vec::new();
        for line in lines {
            join_spans(&mut spans, line.spans());
        }
        let first = lines.first();
        let item = first.and_then(item);
        if item.is_some() {
            cut_mark(&mut spans);
        }
        let is_entry = first.is_some_and(is_entry);
        if is_entry {
            for span in &mut spans {
                span.text = without_leaders(&span.text);
            }
        }
        let weight: usize = lines.iter().map(Line::weight).sum();
        let size = first.map_or(0.0, |line| line.size);
        Text {
            size,
            is_bold: weight > 0 && lines.iter().all(|line| line.is_bold),
            lines: lines.len(),
            left: first.map_or(0.0, |line| line.left),
            base: first.map_or(0.0, |line| line.base),
            item,
            is_indented: first
                .zip(lines.get(1))
                .is_some_and(|(one, two)| one.left > two.left + INDENT * size),
            role: if is_entry { Role::Entry } else { Role::Body },
            is_open: lines.last().is_some_and(|line| self.right - line.right < 2.0 * line.size),
            spans,
        }
    }
}

fn ends_sentence(line: &Line) -> bool {
    const ENDS: [char; 9] = ['.', '!', '?', ':', ';', '”', '"', ')', '。'];
    line.pieces.last().is_some_and(|piece| piece.text.ends_with(ENDS))
}

/// Returns the usual distance between lines of a paragraph, in font sizes, or `None` for a few lines.
pub(super) fn usual_step<'a>(regions: impl Iterator<Item = &'a [Line]>) -> Option<f64> {
    const FEW: usize = 6;
    const LIMITS: (f64, f64) = (0.9, 2.0);
    let steps = regions.flat_map(|lines| lines.windows(2)).filter_map(|two| {
        let (one, two) = (two.first()?, two.get(1)?);
        let step = (two.base - one.base) / one.size.max(two.size);
        (step > 0.95 && step < 2.2 && (one.size - two.size).abs() < 0.05 * one.size).then_some(step)
    });
    let mut steps: Vec<f64> = steps.collect();
    steps.sort_by(f64::total_cmp);
    // Most lines are within paragraphs, unless every line is a paragraph.
    let step = steps.get(steps.len() / 5)?;
    (steps.len() >= FEW).then(|| step.clamp(LIMITS.0, LIMITS.1))
}

/// Returns `true` if a line that begins like an item only continues a sentence.
fn is_amid(before: &Line, right: f64) -> bool {
    let is_full = right - before.right < 2.0 * before.size;
    let ends = before.pieces.last().is_some_and(|piece| piece.text.ends_with(['.', ':', ';', '!', '?']));
    is_full && !ends && item(before).is_none()
}

/// Returns `true` for a line that ends with a page number, after a wide gap or dots.
fn is_entry(line: &Line) -> bool {
    let chains = line.chains(2.0 * line.size);
    let is_number = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || matches!(c, 'i' | 'v' | 'x'))
    };
    let ends = line.pieces.last().is_some_and(|piece| is_number(&piece.text));
    let last = chains.last().is_some_and(|chain| chain.pieces.len() == 1);
    table::is_leader(&line.pieces) && line.pieces.len() > 4 || ends && chains.len() >= 2 && last
}

fn without_leaders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let is_dots = |word: &&str| word.chars().all(|c| matches!(c, '.' | '…' | '·')) && !word.is_empty();
    for run in text.split(' ').collect::<Vec<_>>().chunk_by(|one, two| is_dots(one) && is_dots(two)) {
        if !out.is_empty() || text.starts_with(' ') {
            out.push(' ');
        }
        match run.first() {
            Some(word) if is_dots(word) && run.iter().map(|word| word.len()).sum::<usize>() > 2 => {
                out.push('…');
            }
            Some(word) => out.push_str(word.trim_end_matches("....")),
            None => {}
        }
    }
    out
}

/// Appends a line to the text of the previous lines.
pub(super) fn join_spans(all: &mut Vec<Span>, line: Vec<Span>) {
    let first = line.first().and_then(|span| span.text.chars().next());
    if let (Some(last), Some(first)) = (all.last_mut(), first) {
        let mut ends = last.text.chars().rev();
        match (ends.next(), ends.next()) {
            (Some('-' | '‐'), Some(before)) if before.is_alphabetic() && first.is_lowercase() => {
                last.text.pop();
                last.text.push(PARTED);
            }
            (Some('-' | '‐'), Some(before)) if before.is_alphanumeric() && first.is_alphanumeric() => {}
            (Some(before), _) if bidi::is_wide(before) && bidi::is_wide(first) => {}
            _ if last.kind == Kind::Plain => last.text.push(' '),
            _ => all.push(Span { text: " ".to_owned(), kind: Kind::Plain }),
        }
    }
    for span in line {
        match all.last_mut() {
            Some(last) if last.kind == span.kind => last.text.push_str(&span.text),
            _ => all.push(span),
        }
    }
}

pub(super) fn is_item_mark(text: &str) -> bool {
    mark(text).is_some()
}

fn mark(text: &str) -> Option<Item> {
    if BULLETS.contains(&text)
        || text.chars().all(|c| matches!(c, '\u{f0a7}' | '\u{f0b7}' | '\u{f076}' | '\u{f0d8}'))
            && !text.is_empty()
    {
        return Some(Item::Bullet);
    }
    let inner = text.strip_prefix('(').unwrap_or(text);
    let inner = inner.strip_suffix([')', '.'])?;
    let is_number = (1..=3).contains(&inner.len()) && inner.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && !text.starts_with('(') {
        return inner.parse().ok().map(Item::Number);
    }
    let is_letter = inner.len() == 1 && inner.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_roman =
        inner.len() <= 4 && !inner.is_empty() && inner.bytes().all(|byte| matches!(byte, b'i' | b'v' | b'x'));
    (is_number || (is_letter || is_roman) && text.ends_with(')')).then(|| Item::Other(text.to_owned()))
}

/// Returns the mark if a line is an item: a sign or number followed by text.
fn item(line: &Line) -> Option<Item> {
    let [first, second, ..] = line.pieces.as_slice() else { return None };
    let gap = second.start - first.end;
    (gap > 0.15 * line.size && gap < 4.0 * line.size).then(|| mark(&first.text)).flatten()
}

fn cut_mark(spans: &mut Vec<Span>) {
    if let Some(first) = spans.first_mut() {
        if let Some((_, rest)) = first.text.split_once(' ') {
            first.text = rest.to_owned();
        } else {
            spans.remove(0);
            if let Some(first) = spans.first_mut() {
                first.text = first.text.trim_start().to_owned();
            }
        }
    }
    if spans.first().is_some_and(|span| span.text.is_empty()) {
        spans.remove(0);
    }
}
