//! Combines fragments into lines.

use super::bidi;
use super::fragment::{Fragment, SPACE};

/// Minimum distance between baselines of different lines, relative to the font size. Raised and lowered
/// characters are closer.
const APART: f64 = 0.45;
/// Maximum relative size of a note mark or an exponent. `RAISED` is the minimum relative distance from the
/// baseline.
const SMALL: f64 = 0.8;
const RAISED: f64 = 0.2;

/// Text on one line.
#[derive(Debug)]
pub(super) struct Line {
    /// Fragments from left to right.
    pub(super) pieces: Vec<Fragment>,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) base: f64,
    pub(super) size: f64,
    pub(super) is_bold: bool,
    pub(super) is_mono: bool,
    pub(super) is_right_to_left: bool,
}

/// Text between wide gaps of a line.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    pub(super) pieces: &'a [Fragment],
    pub(super) start: f64,
    pub(super) end: f64,
}

/// A run of text of one kind in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Code,
    /// A raised number or sign.
    Mark,
    /// A link with the address at this index.
    Link(usize),
}

/// Returns lines from top to bottom.
pub(super) fn lines(mut fragments: Vec<Fragment>) -> Vec<Line> {
    fragments.sort_by(|one, two| one.base.total_cmp(&two.base));
    let mut lines = Vec::new();
    let mut row: Vec<Fragment> = Vec::new();
    let mut base = 0.0;
    let mut size: f64 = 0.0;
    for fragment in fragments {
        if !row.is_empty() && fragment.base - base > APART * fragment.size.max(size) {
            lines.extend(Line::of(std::mem::take(&mut row)));
            size = 0.0;
        }
        if fragment.size > size {
            (base, size) = (fragment.base, fragment.size);
        }
        row.push(fragment);
    }
    lines.extend(Line::of(row));
    lines
}

impl Line {
    /// Returns `None` if there are no pieces.
    pub(super) fn of(mut pieces: Vec<Fragment>) -> Option<Self> {
        pieces.sort_by(|one, two| one.start.total_cmp(&two.start));
        // Some programs draw text twice to make it bold.
        pieces.dedup_by(|two, one| {
            two.text == one.text
                && (two.start - one.start).abs() < 0.2 * one.size
                && (two.base - one.base).abs() < 0.2 * one.size
        });
        let main = pieces.iter().max_by(|one, two| one.size.total_cmp(&two.size))?;
        // The size of most of the text, so that a large initial or a mathematical sign does not count.
        let mut sizes: Vec<(f64, usize)> = pieces.iter().map(|piece| (piece.size, piece.weight())).collect();
        sizes.sort_by(|one, two| one.0.total_cmp(&two.0));
        let all: usize = sizes.iter().map(|(_, weight)| weight).sum();
        let size = weighted_median(&sizes, all).unwrap_or(main.size);
        let base = pieces.iter().find(|piece| piece.size >= 0.9 * size).unwrap_or(main).base;
        let part = |is: fn(&Fragment) -> bool| {
            let weight: usize = pieces.iter().filter(|piece| is(piece)).map(Fragment::weight).sum();
            weight * 10 >= all * 9
        };
        let (is_bold, is_mono) = (part(|piece| piece.style.is_bold), part(|piece| piece.style.is_mono));
        let is_right_to_left = is_right_to_left(&pieces);
        let left = pieces.iter().map(|piece| piece.start).fold(f64::INFINITY, f64::min);
        let right = pieces.iter().map(|piece| piece.end).fold(f64::NEG_INFINITY, f64::max);
        Some(Self { pieces, left, right, base, size, is_bold, is_mono, is_right_to_left })
    }

    /// Splits the text at gaps of at least this width.
    pub(super) fn chains(&self, gap: f64) -> Vec<Chain<'_>> {
        chains(&self.pieces, gap)
    }

    pub(super) fn spans(&self) -> Vec<Span> {
        spans(&self.pieces, self.size, self.base)
    }

    pub(super) fn weight(&self) -> usize {
        self.pieces.iter().map(Fragment::weight).sum()
    }
}

pub(super) fn weighted_median(sizes: &[(f64, usize)], all: usize) -> Option<f64> {
    let mut seen = 0;
    sizes.iter().find_map(|(size, weight)| {
        seen += weight;
        (seen * 2 >= all).then_some(*size)
    })
}

pub(super) fn chains(pieces: &[Fragment], gap: f64) -> Vec<Chain<'_>> {
    let mut chains = Vec::new();
    let (mut from, mut start, mut end) = (0, f64::NAN, f64::NEG_INFINITY);
    for (at, piece) in pieces.iter().enumerate() {
        if at == 0 {
            start = piece.start;
        } else if piece.start - end >= gap {
            chains.push(Chain { pieces: pieces.get(from..at).unwrap_or_default(), start, end });
            (from, start, end) = (at, piece.start, f64::NEG_INFINITY);
        }
        end = end.max(piece.end);
    }
    if from < pieces.len() {
        chains.push(Chain { pieces: pieces.get(from..).unwrap_or_default(), start, end });
    }
    chains
}

/// Converts pieces in left-to-right order to text in reading order.
pub(super) fn spans(pieces: &[Fragment], size: f64, base: f64) -> Vec<Span> {
    let space = space(pieces);
    let mut spans = Vec::new();
    let mut before: Option<&Fragment> = None;
    if !is_right_to_left(pieces) {
        for piece in pieces {
            let has_space = before.is_some_and(|before| is_apart(before, piece, space));
            push(piece, has_space, kind(piece, size, base), &mut spans);
            before = Some(piece);
        }
        return spans;
    }
    // Runs of left-to-right text keep their order.
    for run in pieces.chunk_by(|one, two| is_foreign(one) && is_foreign(two)).rev() {
        for (at, piece) in run.iter().enumerate() {
            let end = run.last().map_or(piece.end, |last| last.end);
            let gap = before.map(|before| if at > 0 { piece.start - before.end } else { before.start - end });
            let has_space = gap.is_some_and(|gap| gap > space * piece.size);
            push(piece, has_space, kind(piece, size, base), &mut spans);
            before = if at + 1 == run.len() { run.first() } else { Some(piece) };
        }
    }
    spans
}

/// Appends a piece to the text. A space between them belongs to the plain text.
fn push(piece: &Fragment, has_space: bool, kind: Kind, spans: &mut Vec<Span>) {
    let space = if has_space { " " } else { "" };
    match spans.last_mut() {
        Some(last) if last.kind == kind => {
            last.text.push_str(space);
            last.text.push_str(&piece.text);
        }
        Some(last) if last.kind == Kind::Plain => {
            last.text.push_str(space);
            spans.push(Span { text: piece.text.clone(), kind });
        }
        Some(_) if has_space && kind != Kind::Plain => {
            spans.push(Span { text: space.to_owned(), kind: Kind::Plain });
            spans.push(Span { text: piece.text.clone(), kind });
        }
        Some(_) => spans.push(Span { text: format!("{space}{}", piece.text), kind }),
        None => spans.push(Span { text: piece.text.clone(), kind }),
    }
}

/// Returns `true` if most letters are of a right-to-left script.
fn is_right_to_left(pieces: &[Fragment]) -> bool {
    let letters = |piece: &Fragment| piece.text.chars().filter(|c| c.is_alphabetic()).count();
    let (mut right, mut left) = (0, 0);
    for piece in pieces {
        if bidi::is_right_to_left(&piece.text) {
            right += letters(piece);
        } else {
            left += letters(piece);
        }
    }
    right > left
}

fn is_foreign(piece: &Fragment) -> bool {
    !bidi::is_right_to_left(&piece.text) && piece.text.chars().any(char::is_alphanumeric)
}

fn is_apart(before: &Fragment, piece: &Fragment, space: f64) -> bool {
    let gap = piece.start - before.end;
    let unit = piece.size.min(before.size);
    if gap > 2.0 * unit {
        return true;
    }
    let is_wide = |c: Option<char>| c.is_some_and(bidi::is_wide);
    if is_wide(before.text.chars().next_back()) && is_wide(piece.text.chars().next()) {
        return false;
    }
    gap > space * unit || before.space_after && gap > -0.1 * unit
}

/// Returns the minimum width of a space relative to the font size; larger if letters are spaced out.
fn space(pieces: &[Fragment]) -> f64 {
    const LEAST: usize = 6;
    let single = pieces
        .iter()
        .filter(|piece| piece.text.chars().nth(1).is_none() && piece.text.chars().all(char::is_alphabetic))
        .count();
    if single < LEAST || single * 10 < pieces.len() * 8 {
        return SPACE;
    }
    let mut gaps: Vec<f64> = pieces
        .windows(2)
        .filter_map(|two| Some((two.get(1)?.start - two.first()?.end) / two.first()?.size))
        .collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).map_or(SPACE, |middle| (middle * 1.6).max(SPACE))
}

fn kind(piece: &Fragment, size: f64, base: f64) -> Kind {
    let is_mark = piece.size <= SMALL * size
        && base - piece.base >= RAISED * size
        && piece.text.chars().all(|c| c.is_ascii_digit() || matches!(c, '*' | '†' | '‡' | '§'));
    match piece.link {
        _ if is_mark => Kind::Mark,
        Some(link) => Kind::Link(link),
        None if piece.style.is_mono => Kind::Code,
        None => Kind::Plain,
    }
}
