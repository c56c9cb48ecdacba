//! Detects tables: lines whose gaps are aligned.

use super::fragment::Fragment;
use super::line::{Chain, Line, Span, spans};
use super::rules::Rule;

/// Minimum gap within a line of a table, and minimum gap between columns, in font sizes.
const GAP: f64 = 0.85;
const BETWEEN: f64 = 0.45;
/// Maximum distance of a line that continues a cell, in font sizes.
const NEAR: f64 = 1.45;
/// Minimum distance between lines that ends a table without rules, in font sizes.
const FAR: f64 = 3.5;
/// Minimum ratio between row distance and line distance at which the distance shows where rows begin.
const APART: f64 = 1.15;
/// Maximum distance of lines in the same row, whose cells are centered vertically, in font sizes.
const BESIDE: f64 = 0.85;
/// Maximum number of consecutive lines that only continue cells. It bounds the search for a table.
const MAX_OTHERS: usize = 12;
/// Maximum number of columns.
const MAX_COLUMNS: usize = 64;

/// Cells by row and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) rows: Vec<Vec<Vec<Span>>>,
}

/// Start and end of a table's column.
type Column = (f64, f64);

/// Returns the table that begins with the first line, and its number of lines.
pub(super) fn table(lines: &[Line], rules: &[Rule]) -> Option<(Table, usize)> {
    let first = lines.first()?;
    let begins = is_gappy(first) || is_beside_next(lines) && lines.get(1).is_some_and(is_gappy);
    if !begins {
        return None;
    }
    let columns = covered(Vec::new(), &first.chains(BETWEEN * first.size));
    let mut grown = Grown { columns, gappy: usize::from(is_gappy(first)), others: 0, count: 1 };
    for at in 1..lines.len() {
        if !grown.takes(lines, at, rules) {
            break;
        }
    }
    let Grown { columns, gappy, count, .. } = grown;
    let lines = lines.get(..count)?;
    let columns = refined(lines, columns);
    let has_rules = lines.first().zip(lines.last()).is_some_and(|(one, two)| {
        is_ruled(rules, &columns, one.base - 2.0 * one.size, two.base + 2.0 * two.size)
    });
    let is_table = columns.len() >= 2 && (gappy >= 3 || gappy == 2 && (columns.len() >= 3 || has_rules));
    is_table.then(|| (Table { rows: rows(lines, &columns, rules) }, count))
}

/// A table that grows line by line.
struct Grown {
    columns: Vec<Column>,
    /// Number of lines with gaps. `others` is the number of lines since the last of them.
    gappy: usize,
    others: usize,
    /// Number of lines of the table.
    count: usize,
}

impl Grown {
    /// Adds a line if it may belong to the table.
    fn takes(&mut self, lines: &[Line], at: usize, rules: &[Rule]) -> bool {
        let (Some(line), Some(last)) = (lines.get(at), lines.get(at - 1)) else { return false };
        let is_gappy = is_gappy(line);
        let found = line.chains(BETWEEN * line.size);
        let columns = covered(self.columns.clone(), &found);
        let step = line.base - last.base;
        let is_beside = step < BESIDE * line.size || is_beside_next(lines.get(at..).unwrap_or_default());
        let has_rule = |from: f64, to: f64| is_ruled(rules, &self.columns, from, to);
        let is_parted = || has_rule(last.base, line.base);
        let is_count = columns.len() <= MAX_COLUMNS && (columns.len() >= 2 || at == 1 && is_beside);
        let is_narrower = at > 1 && columns.len() * 2 < self.columns.len() + 1;
        let is_spanning = is_narrower || !is_gappy && columns.len() < self.columns.len();
        let is_far = step > FAR * line.size || !is_gappy && !is_beside && step > NEAR * line.size;
        if !is_count
            || is_far && !is_parted()
            || line.is_mono && !is_gappy
            || is_spanning && !has_rule(last.base, last.base + 4.0 * line.size)
        {
            return false;
        }
        self.others = if is_gappy { 0 } else { self.others + 1 };
        self.gappy += usize::from(is_gappy);
        // Text in the first column may also follow the table; only another row decides.
        let is_last = !is_gappy
            && !is_beside
            && in_first(&found, &self.columns)
            && !has_rule(line.base, line.base + 1.5 * line.size);
        if !is_last {
            self.count = at + 1;
        }
        if !is_spanning {
            self.columns = columns;
        }
        self.others <= MAX_OTHERS
    }
}

/// Returns `true` if the first line is in the same row as the second one, because they are too close.
fn is_beside_next(lines: &[Line]) -> bool {
    match lines {
        [one, two, ..] => two.base - one.base < BESIDE * one.size.min(two.size),
        _ => false,
    }
}

/// Returns `true` if the line has a gap as between cells.
pub(super) fn is_gappy(line: &Line) -> bool {
    if line.is_mono {
        return false;
    }
    let chains = line.chains(GAP * line.size);
    let is_leader = |chain: &Chain<'_>| is_leader(chain.pieces);
    if chains.len() < 2 || chains.iter().any(is_leader) {
        return false;
    }
    // The mark or number of a list item is not a cell.
    let [first, second, ..] = chains.as_slice() else { return false };
    let is_mark = first.pieces.len() == 1
        && first.pieces.first().is_some_and(|piece| super::block::is_item_mark(&piece.text))
        && second.start - first.end < 2.5 * line.size;
    chains.len() > 2 || !is_mark
}

/// Returns `true` for dots that lead from a title to its page number.
pub(super) fn is_leader(pieces: &[Fragment]) -> bool {
    let dots = |piece: &Fragment| {
        let count = piece.text.chars().filter(|c| matches!(c, '.' | '…' | '·')).count();
        if count == piece.text.chars().count() { count } else { 0 }
    };
    let mut run = 0;
    pieces.iter().any(|piece| {
        run = if dots(piece) > 0 { run + dots(piece) } else { 0 };
        run >= 3 || piece.text.contains("....")
    })
}

/// Merges columns with the chains of a line, from left to right.
fn covered(mut columns: Vec<Column>, chains: &[Chain<'_>]) -> Vec<Column> {
    let gap = |chain: &Chain<'_>| chain.pieces.first().map_or(1.0, |piece| piece.size) * BETWEEN;
    let least = chains.first().map_or(1.0, gap);
    columns.extend(chains.iter().map(|chain| (chain.start, chain.end)));
    columns.sort_by(|one, two| one.0.total_cmp(&two.0));
    let mut joined: Vec<Column> = Vec::with_capacity(columns.len());
    for (start, end) in columns {
        match joined.last_mut() {
            Some(before) if start - before.1 < least => before.1 = before.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// Recomputes columns without the few lines that extend across others.
fn refined(lines: &[Line], columns: Vec<Column>) -> Vec<Column> {
    let mut edges: Vec<(f64, i32)> = Vec::new();
    for line in lines {
        for chain in line.chains(BETWEEN * line.size) {
            edges.extend([(chain.start, 1), (chain.end, -1)]);
        }
    }
    edges.sort_by(|one, two| one.0.total_cmp(&two.0).then(two.1.cmp(&one.1)));
    let few = i32::try_from(lines.len() / 6).unwrap_or_default();
    let least = lines.first().map_or(1.0, |line| line.size) * BETWEEN;
    let mut found: Vec<Column> = Vec::new();
    let (mut depth, mut start) = (0, None);
    for (x, change) in edges {
        depth += change;
        match start {
            None if depth > few => start = Some(x),
            Some(from) if depth <= few => {
                match found.last_mut() {
                    Some(before) if from - before.1 < least => before.1 = x,
                    _ => found.push((from, x)),
                }
                start = None;
            }
            _ => {}
        }
    }
    if found.len() > columns.len() && found.len() <= MAX_COLUMNS { found } else { columns }
}

fn in_first(chains: &[Chain<'_>], columns: &[Column]) -> bool {
    chains.first().zip(columns.first()).is_some_and(|(chain, column)| chain.start <= column.1)
}

/// Returns `true` if a rule crosses most of the columns in a range of heights.
fn is_ruled(rules: &[Rule], columns: &[Column], from: f64, to: f64) -> bool {
    between(rules, columns, from, to).next().is_some()
}

fn between<'a>(rules: &'a [Rule], columns: &[Column], from: f64, to: f64) -> impl Iterator<Item = f64> + 'a {
    let left = columns.first().map_or(0.0, |column| column.0);
    let right = columns.last().map_or(0.0, |column| column.1);
    // The rules are sorted by position.
    let begin = rules.partition_point(|rule| rule.at < from);
    let near = rules.get(begin..).unwrap_or_default().iter().take_while(move |rule| rule.at <= to);
    near.filter(move |rule| {
        !rule.is_across && rule.end.min(right) - rule.start.max(left) >= 0.6 * (right - left)
    })
    .map(|rule| rule.at)
}

/// Groups lines into rows: by rules if all rows are separated by rules, else by lines that continue the cells
/// above.
fn rows(lines: &[Line], columns: &[Column], rules: &[Rule]) -> Vec<Vec<Vec<Span>>> {
    let mut rows: Vec<Vec<Vec<Span>>> = Vec::new();
    let cells: Vec<Vec<&[Fragment]>> = lines.iter().map(|line| cells(line, columns)).collect();
    let is_grid = is_grid(lines, &cells, columns, rules);
    let steps = steps(lines, columns, rules);
    let mut before: Option<&Line> = None;
    for (line, cells) in lines.iter().zip(&cells) {
        let goes_on = before.zip(rows.last()).is_some_and(|(before, row)| {
            let is_parted = is_ruled(rules, columns, before.base, line.base);
            let is_beside = line.base - before.base < BESIDE * line.size.min(before.size);
            !is_parted
                && (is_beside || is_grid || goes_on(line.base - before.base, line.size, cells, row, steps))
        });
        let texts = cells.iter().map(|cell| spans(cell, line.size, line.base));
        match rows.last_mut() {
            Some(row) if goes_on => {
                for (above, below) in row.iter_mut().zip(texts) {
                    super::block::join_spans(above, below);
                }
            }
            _ => rows.push(texts.collect()),
        }
        before = Some(line);
    }
    rows
}

/// Returns `true` if a line continues the cells of a row.
fn goes_on(
    step: f64,
    size: f64,
    cells: &[&[Fragment]],
    row: &[Vec<Span>],
    (small, large): (f64, f64),
) -> bool {
    let fits = cells.iter().zip(row).all(|(cell, above)| cell.is_empty() || !above.is_empty());
    let has_first = cells.first().is_some_and(|cell| !cell.is_empty());
    let is_full = cells.iter().all(|cell| !cell.is_empty());
    let are_apart = large > small * APART;
    let is_near = step <= NEAR * size && (!are_apart || step <= small * APART);
    fits && is_near && (are_apart || !has_first && !is_full)
}

/// Returns the small and the large distance between lines, if there are two.
fn steps(lines: &[Line], columns: &[Column], rules: &[Rule]) -> (f64, f64) {
    let steps = lines.windows(2).filter_map(|two| {
        let (one, two) = (two.first()?, two.get(1)?);
        let step = two.base - one.base;
        (step >= BESIDE * two.size && !is_ruled(rules, columns, one.base, two.base)).then_some(step)
    });
    let mut steps: Vec<f64> = steps.collect();
    steps.sort_by(f64::total_cmp);
    let small = steps.get(steps.len() / 10).copied().unwrap_or_default();
    let large = steps.get(steps.len() * 8 / 10).copied().unwrap_or_default();
    (small, large)
}

/// Returns `true` if rules separate all rows, so that the band between two rules is one row.
fn is_grid(lines: &[Line], cells: &[Vec<&[Fragment]>], columns: &[Column], rules: &[Rule]) -> bool {
    let Some((first, last)) = lines.first().zip(lines.last()) else { return false };
    let mut found: Vec<f64> = between(rules, columns, first.base, last.base).collect();
    found.dedup_by(|two, one| *two - *one < 3.0);
    if found.len() < 2 || lines.len() <= found.len() + 1 {
        return false;
    }
    // A band with two full lines is a part of a table, not a row.
    let band = |line: &Line| found.partition_point(|at| *at < line.base);
    let is_full = |cells: &[&[Fragment]]| cells.iter().all(|cell| !cell.is_empty());
    let full: Vec<usize> =
        lines.iter().zip(cells).filter(|(_, cells)| is_full(cells)).map(|(line, _)| band(line)).collect();
    full.windows(2).all(|two| two.first() != two.get(1))
}

/// Returns the pieces of a line by the column in which they begin.
fn cells<'a>(line: &'a Line, columns: &[Column]) -> Vec<&'a [Fragment]> {
    let mut cells: Vec<&[Fragment]> = vec![&[]; columns.len()];
    let mut rest = line.pieces.as_slice();
    for (at, cell) in cells.iter_mut().enumerate() {
        // A piece that begins in the gap before the next column belongs to that column if it is closer to it.
        let end = columns.get(at + 1).map_or(f64::INFINITY, |next| {
            let own = columns.get(at).map_or(next.0, |column| column.1);
            f64::midpoint(own.min(next.0), next.0)
        });
        let count = rest
            .iter()
            .take_while(|piece| {
                f64::midpoint(piece.start, piece.end) < end || piece.start < end - 0.1 * piece.size
            })
            .count();
        let (own, others) = rest.split_at(count);
        *cell = own;
        rest = others;
    }
    cells
}
