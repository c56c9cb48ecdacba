//! Converts the content of a page to blocks in reading order.

use super::block::{self, Block, Role, Text};
use super::columns::{self, Budget};
use super::content::Found;
use super::fragment::Fragment;
use super::large;
use super::line::{self, Kind, Line, Span};
use super::links::Links;
use super::rules::Rule;
use super::running::is_number;

/// Maximum number of lines at each edge that may be running heads.
const MAX_EDGES: usize = 2;
/// Minimum distance of running heads from the text, in font sizes. `FARTHER` is the minimum relative to the
/// usual line distance.
const APART: f64 = 1.4;
const FARTHER: f64 = 1.3;
/// Maximum number of text directions on a page. Text in further directions is decoration.
const MAX_DIRECTIONS: usize = 16;
/// Font size below which text is a note, relative to the main text.
const NOTE: f64 = 0.93;

/// A page before its layout.
#[derive(Debug)]
pub(super) struct Draft {
    /// Page number, counted from 1.
    pub(super) number: usize,
    /// Text of each direction, the main direction first, with the rules along and across it.
    directions: Vec<(Vec<Fragment>, Vec<Rule>)>,
    links: Links,
    notes: Vec<String>,
    /// `true` if parts of the page are damaged or exceed the limits.
    pub(super) is_cut: bool,
    /// Lines that may be running heads, from the edge to the text.
    pub(super) edges: Vec<Edge>,
}

/// A line at an edge of a page.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) is_top: bool,
    pub(super) base: f64,
    pub(super) size: f64,
    pub(super) text: String,
    fragments: Vec<Fragment>,
}

/// Text of a page.
#[derive(Debug)]
pub(super) struct PageText {
    pub(super) number: usize,
    pub(super) body: Vec<Block>,
    pub(super) links: Links,
    pub(super) notes: Vec<String>,
}

impl Draft {
    pub(super) fn of(number: usize, found: Found) -> Self {
        let Found { fragments, paths, links, notes, is_cut, has_picture: _ } = found;
        let found = fragments.finish();
        let main = found.first().map_or(0, |(angle, _)| *angle);
        let directions = found.into_iter().take(MAX_DIRECTIONS);
        let mut directions: Vec<_> =
            directions.map(|(angle, fragments)| (fragments, paths.rules(angle))).collect();
        if let Some((fragments, _)) = directions.first_mut() {
            paths.dots.mark(main, fragments);
            let usual = columns::median_size(fragments);
            let behind = large::settle(fragments, usual);
            if !behind.is_empty() {
                directions.push((behind, Vec::new()));
            }
        }
        let edges = directions.first_mut().map(|(fragments, _)| edges(fragments)).unwrap_or_default();
        Self { number, directions, links, notes, is_cut, edges }
    }

    /// Returns all fragments except those at the edges.
    pub(super) fn fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.directions.iter().flat_map(|(fragments, _)| fragments)
    }

    /// Returns the blocks of the page, without running heads.
    pub(super) fn lay_out(mut self, budget: &mut Budget, is_running: impl Fn(&Edge) -> bool) -> PageText {
        let edges = std::mem::take(&mut self.edges);
        if let Some((fragments, _)) = self.directions.first_mut() {
            // On a page without other text, the longest line is the text.
            let longest = edges.iter().map(|edge| edge.text.len()).max().filter(|_| fragments.is_empty());
            let kept = edges.into_iter().filter(|edge| {
                !is_running(edge) || Some(edge.text.len()) == longest && !is_number(edge, self.number)
            });
            fragments.extend(kept.flat_map(|edge| edge.fragments));
        }
        let (number, links, notes) = (self.number, self.links, self.notes);
        let mut page = PageText { number, body: Vec::new(), links, notes };
        for (fragments, rules) in self.directions {
            let size = columns::median_size(&fragments);
            let regions: Vec<Vec<Line>> =
                columns::regions(fragments, &rules, budget).into_iter().map(line::lines).collect();
            let step = block::usual_step(regions.iter().map(Vec::as_slice));
            for lines in regions {
                let mut blocks = block::blocks(&lines, &rules, step);
                find_notes(&mut blocks, size, &rules);
                add(&mut page.body, blocks);
            }
        }
        page
    }
}

impl PageText {
    /// Returns the size of the text, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let of = |spans: &[Span]| spans.iter().map(|span| span.text.len()).sum::<usize>();
        let bytes = self.body.iter().map(|block| match block {
            Block::Text(text) => of(&text.spans),
            Block::Code(lines) => lines.iter().map(|line| line.len() + 1).sum(),
            Block::Table(table) => table.rows.iter().flatten().map(|cell| of(cell)).sum(),
        });
        bytes.chain(self.notes.iter().map(String::len)).sum()
    }
}

/// Marks the notes at the end of a column: small text below a short rule, or text that begins with a raised
/// mark.
fn find_notes(blocks: &mut [Block], size: f64, rules: &[Rule]) {
    let is_small = |block: &&mut Block| matches!(block, Block::Text(text) if text.size < NOTE * size);
    let small = blocks.iter_mut().rev().take_while(is_small).count();
    let from = blocks.len() - small;
    let mut is_below = false;
    for block in blocks.iter_mut().skip(from) {
        let Block::Text(text) = block else { continue };
        let is_marked = text.spans.first().is_some_and(|span| span.kind == Kind::Mark);
        let begin = rules.partition_point(|rule| rule.at < text.base - 2.5 * text.size);
        let above = rules.get(begin..).unwrap_or_default().iter().take_while(|rule| rule.at < text.base);
        let is_ruled =
            above.filter(|rule| !rule.is_across).any(|rule| (rule.start - text.left).abs() < 3.0 * text.size);
        is_below |= is_ruled || is_marked;
        if is_below {
            text.role = Role::Note;
        }
    }
}

/// Appends the blocks of a region. Its first paragraph may continue one of the previous region.
fn add(body: &mut Vec<Block>, blocks: Vec<Block>) {
    let mut blocks = blocks.into_iter().peekable();
    if let Some(Block::Text(next)) = blocks.peek()
        && let Some(last) = open(body, next)
    {
        block::join_spans(&mut last.spans, next.spans.clone());
        last.lines += next.lines;
        last.is_open = next.is_open;
        blocks.next();
    }
    body.extend(blocks);
}

/// Returns the paragraph that a text may continue: the last one that is not a note.
fn open<'a>(body: &'a mut [Block], next: &Text) -> Option<&'a mut Text> {
    const NOTES: usize = 6;
    let is_note = |block: &&Block| matches!(block, Block::Text(text) if text.role == Role::Note && next.role != Role::Note);
    let notes = body.iter().rev().take(NOTES).take_while(is_note).count();
    let at = body.len().checked_sub(1 + notes)?;
    let is_indented = next.lines > 1 && !next.is_indented && indents(body);
    let Block::Text(last) = body.get_mut(at)? else { return None };
    let end = last.spans.last()?.text.chars().next_back()?;
    let start = next.spans.first()?.text.chars().next()?;
    let is_alike = (last.size - next.size).abs() < 0.05 * next.size && last.is_bold == next.is_bold;
    let is_amid = !matches!(end, '.' | ':' | '!' | '?' | '。' | '！' | '？' | '：');
    let goes_on = is_amid && !start.is_uppercase() || end == ',' || is_indented;
    let are_texts = next.item.is_none() && next.role != Role::Entry && last.role != Role::Entry;
    (is_alike && last.is_open && goes_on && are_texts).then_some(last)
}

/// Returns `true` if paragraphs begin with an indented line, except those below headings.
fn indents(body: &[Block]) -> bool {
    const NEAR: usize = 40;
    let texts = body.iter().rev().take(NEAR).filter_map(|block| match block {
        Block::Text(text) if text.lines > 1 && text.item.is_none() => Some(text),
        _ => None,
    });
    let (count, indented) =
        texts.fold((0, 0), |(count, indented), text| (count + 1, indented + usize::from(text.is_indented)));
    indented >= 2 && indented * 2 >= count
}

/// Extracts the lines at the top and bottom edges that are separated from the text.
fn edges(fragments: &mut Vec<Fragment>) -> Vec<Edge> {
    fragments.sort_by(|one, two| one.base.total_cmp(&two.base));
    let step = usual_step(fragments);
    let mut edges = take(fragments, step, true);
    fragments.reverse();
    edges.extend(take(fragments, step, false));
    edges
}

fn usual_step(fragments: &[Fragment]) -> f64 {
    let steps = fragments.windows(2).filter_map(|two| {
        let (one, two) = (two.first()?, two.get(1)?);
        let step = two.base - one.base;
        (step > 0.5 * two.size && step < 3.0 * two.size).then_some(step)
    });
    let mut steps: Vec<f64> = steps.collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or_default()
}

/// Extracts lines from the beginning of fragments that are sorted from an edge.
fn take(fragments: &mut Vec<Fragment>, step: f64, is_top: bool) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut from = 0;
    while edges.len() < MAX_EDGES {
        let rest = fragments.get(from..).unwrap_or_default();
        let Some(first) = rest.first() else { break };
        let (base, size) = (first.base, first.size);
        let is_in = |one: &&Fragment| (one.base - base).abs() <= 0.45 * size.max(one.size);
        let count = rest.iter().take_while(is_in).count();
        let next = rest.get(count);
        let gap = next.map_or(f64::INFINITY, |next| (next.base - base).abs());
        // The lower of two lines determines the space between them.
        let height = next.filter(|_| is_top).map_or(size, |next| next.size.max(size));
        if gap < (APART * height).max(FARTHER * step) {
            break;
        }
        let row = rest.get(..count).unwrap_or_default().to_vec();
        let Some(Line { size, pieces, base: line, .. }) = Line::of(row) else { break };
        let text = line::spans(&pieces, size, line).into_iter().map(|span| span.text).collect();
        edges.push(Edge { is_top, base, size, text, fragments: pieces });
        from += count;
    }
    fragments.drain(..from.min(fragments.len()));
    edges
}
