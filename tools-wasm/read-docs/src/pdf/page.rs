//! What is found on a page, as blocks in the order of reading.

use super::block::{self, Block, Text};
use super::columns;
use super::content::Found;
use super::fragment::Fragment;
use super::line;
use super::links::Links;
use super::rules::Rule;

/// Lines at each edge that may be a running head.
const MAX_EDGES: usize = 2;
/// They are farther from the text than this, in sizes, and than this part of the usual distance of lines.
const APART: f64 = 1.4;
const FARTHER: f64 = 1.3;
/// Directions of text on one page. What is turned otherwise is decoration.
const MAX_DIRECTIONS: usize = 4;
/// Smaller text than this part of the size is a note.
pub(super) const NOTE: f64 = 0.93;

/// The text of a page.
#[derive(Debug)]
pub(super) struct PageText {
    /// From 1.
    pub(super) number: usize,
    /// Lines at the edges that may be running heads, from the edge to the text.
    pub(super) top: Vec<Edge>,
    pub(super) bottom: Vec<Edge>,
    pub(super) body: Vec<Block>,
    pub(super) links: Links,
}

/// A line at an edge of a page.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) base: f64,
    pub(super) text: Text,
}

impl PageText {
    /// Bytes of its text.
    pub(super) fn bytes(&self) -> usize {
        let of = |spans: &[line::Span]| spans.iter().map(|span| span.text.len()).sum::<usize>();
        let edges = self.top.iter().chain(&self.bottom).map(|edge| of(&edge.text.spans));
        let body = self.body.iter().map(|block| match block {
            Block::Text(text) => of(&text.spans),
            Block::Code(lines) => lines.iter().map(|line| line.len() + 1).sum(),
            Block::Table(table) => table.rows.iter().flatten().map(|cell| of(cell)).sum(),
        });
        edges.chain(body).sum()
    }
}

pub(super) fn read(number: usize, found: Found) -> PageText {
    let Found { fragments, paths, links } = found;
    let mut page = PageText { number, top: Vec::new(), bottom: Vec::new(), body: Vec::new(), links };
    for (at, (angle, fragments)) in fragments.finish().into_iter().take(MAX_DIRECTIONS).enumerate() {
        let rules = paths.rules(angle);
        let mut fragments = fragments;
        if at == 0 {
            (page.top, page.bottom) = edges(&mut fragments);
        }
        for region in columns::regions(fragments, &rules) {
            add(&mut page.body, region, &rules);
        }
    }
    page
}

/// Adds the blocks of a region. A paragraph may go on in it that began in the one before.
fn add(body: &mut Vec<Block>, region: Vec<Fragment>, rules: &[Rule]) {
    let lines = line::lines(region);
    let mut blocks = block::blocks(&lines, rules).into_iter().peekable();
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

/// The paragraph that a text goes on with: the last one but notes.
fn open<'a>(body: &'a mut [Block], next: &Text) -> Option<&'a mut Text> {
    const NOTES: usize = 6;
    let is_note = |block: &Block| matches!(block, Block::Text(text) if text.size < NOTE * next.size);
    let at = body.len().checked_sub(1 + body.iter().rev().take(NOTES).take_while(|block| is_note(block)).count())?;
    let last = body.get_mut(at).and_then(as_text_mut)?;
    let end = last.spans.last()?.text.chars().next_back()?;
    let start = next.spans.first()?.text.chars().next()?;
    let is_indented = next.lines > 1 && !next.is_indented && indents(body);
    let last = body.get_mut(at).and_then(as_text_mut)?;
    let is_alike = (last.size - next.size).abs() < 0.05 * next.size && last.is_bold == next.is_bold;
    let goes_on = !matches!(end, '.' | ':' | '!' | '?' | '。' | '！' | '？' | '：') && !start.is_uppercase()
        || end == ',';
    (is_alike && last.is_open && (goes_on || is_indented) && next.item.is_none() && !next.is_entry && !last.is_entry).then_some(last)
}

fn as_text_mut(block: &mut Block) -> Option<&mut Text> {
    match block {
        Block::Text(text) => Some(text),
        _ => None,
    }
}

/// Whether paragraphs begin with an indented line, but for those below headings.
fn indents(body: &[Block]) -> bool {
    let texts = body.iter().rev().take(40).filter_map(|block| match block {
        Block::Text(text) if text.lines > 1 && text.item.is_none() => Some(text),
        _ => None,
    });
    let (count, indented) = texts.fold((0, 0), |(count, indented), text| (count + 1, indented + usize::from(text.is_indented)));
    indented >= 2 && indented * 2 >= count
}

/// Takes the lines at the upper and lower edge that stand apart from the text.
fn edges(fragments: &mut Vec<Fragment>) -> (Vec<Edge>, Vec<Edge>) {
    fragments.sort_by(|one, two| one.base.total_cmp(&two.base));
    let step = usual_step(fragments);
    let top = take(fragments, step, false);
    fragments.reverse();
    let bottom = take(fragments, step, true);
    fragments.reverse();
    (top, bottom)
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

fn take(fragments: &mut Vec<Fragment>, step: f64, is_bottom: bool) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut from = 0;
    while edges.len() < MAX_EDGES {
        let Some(first) = fragments.get(from) else { break };
        let (base, size) = (first.base, first.size);
        let rest = fragments.get(from..).unwrap_or_default();
        let count = rest.iter().take_while(|one| (one.base - base).abs() <= 0.45 * size.max(one.size)).count();
        let gap = rest.get(count).map_or(f64::INFINITY, |next| (next.base - base).abs());
        let height = if is_bottom { size } else { rest.get(count).map_or(size, |next| next.size.max(size)) };
        if gap < (APART * height).max(FARTHER * step) || rest.len() == count {
            break;
        }
        let row = rest.get(..count).unwrap_or_default().to_vec();
        let Some(line) = line::Line::of(row) else { break };
        let Some(Block::Text(text)) = block::blocks(&[as_text(line)], &[]).into_iter().next() else { break };
        edges.push(Edge { base, text });
        from += count;
    }
    fragments.drain(..from.min(fragments.len()));
    edges
}

/// A line at an edge is text in any font.
fn as_text(line: line::Line) -> line::Line {
    line::Line { is_mono: false, ..line }
}
