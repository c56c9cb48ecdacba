//! Writes tables. A spanning cell leaves empty cells, so that every row has all columns at their positions.
//! Layout tables become blocks.

use super::{Place, Writer, apart, join};
use crate::html::tree::{Element, Node};

/// Maximum number of columns that a cell may span.
const MAX_SPAN: usize = 100;
/// Maximum number of cells of a table, including those added by spans. Larger tables are written row by row.
const MAX_CELLS: usize = 100_000;

struct Row<'a> {
    cells: Vec<&'a Element>,
    in_head: bool,
}

/// Texts by row and column; `None` for unfilled cells.
struct Grid<'a> {
    rows: Vec<Vec<Option<String>>>,
    alignment: Vec<&'a str>,
    cells: usize,
}

impl Writer {
    pub(super) fn table(&self, table: &Element) -> String {
        let mut rows = Vec::new();
        collect(table, false, &mut rows);
        let caption = table.elements().find(|element| &*element.name == "caption");
        let caption = caption.map(|caption| self.children(caption, Place::Block)).unwrap_or_default();
        let caption = apart(&caption);
        let body = match self.grid(&rows) {
            Some(grid) if !is_layout(table, &rows) => self.write_grid(&grid, &rows),
            _ => self.cells_as_blocks(&rows),
        };
        let mut out = if caption.trim().is_empty() { String::new() } else { caption };
        join(&mut out, &apart(&body));
        out
    }

    fn cells_as_blocks(&self, rows: &[Row<'_>]) -> String {
        let mut out = String::new();
        for cell in rows.iter().flat_map(|row| &row.cells) {
            join(&mut out, &apart(self.children(cell, Place::Block).trim()));
        }
        out
    }

    /// Returns `None` if the table is empty or too large.
    fn grid<'a>(&self, rows: &[Row<'a>]) -> Option<Grid<'a>> {
        let mut grid = Grid { rows: Vec::new(), alignment: Vec::new(), cells: 0 };
        grid.rows.resize_with(rows.len(), Vec::new);
        for (y, row) in rows.iter().enumerate() {
            let mut x = 0;
            for cell in &row.cells {
                while grid.rows[y].get(x).is_some_and(Option::is_some) {
                    x += 1;
                }
                let width = span(cell, "colspan");
                let height = span(cell, "rowspan").min(rows.len() - y);
                grid.put(x, y, width, height, self.cell(cell))?;
                grid.align(x, cell.attribute("data-x-align"));
                x += width;
            }
        }
        (grid.width() > 0).then_some(grid)
    }

    fn cell(&self, cell: &Element) -> String {
        let text = self.children(cell, Place::Cell);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.collect::<Vec<_>>();
        if self.is_plain { lines.join(" ") } else { lines.join("<br>").replace('|', "\\|") }
    }

    fn write_grid(&self, grid: &Grid<'_>, rows: &[Row<'_>]) -> String {
        let width = grid.width();
        let has_head = rows.first().is_some_and(|row| {
            row.in_head || !row.cells.is_empty() && row.cells.iter().all(|cell| &*cell.name == "th")
        });
        if self.is_plain {
            return grid.rows.iter().map(|row| plain_line(row)).collect::<Vec<_>>().join("\n");
        }
        let (head, body) = if has_head { grid.rows.split_at(1) } else { (&[][..], &grid.rows[..]) };
        let mut out = line(head.first().map_or(&[], Vec::as_slice), width);
        out.push('|');
        for x in 0..width {
            out.push_str(match grid.alignment.get(x).copied().unwrap_or_default() {
                "right" => " ---: |",
                "center" => " :---: |",
                "left" => " :--- |",
                _ => " --- |",
            });
        }
        out.push('\n');
        for row in body {
            out.push_str(&line(row, row.len().max(1)));
        }
        out
    }
}

impl<'a> Grid<'a> {
    fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or_default()
    }

    fn put(&mut self, x: usize, y: usize, width: usize, height: usize, text: String) -> Option<()> {
        self.cells += (x + width).saturating_sub(self.rows[y].len()) + width * height.saturating_sub(1);
        if self.cells > MAX_CELLS {
            return None;
        }
        for row in &mut self.rows[y..y + height] {
            if row.len() < x + width {
                row.resize(x + width, None);
            }
            for place in &mut row[x..x + width] {
                place.get_or_insert_with(String::new);
            }
        }
        self.rows[y][x] = Some(text);
        Some(())
    }

    fn align(&mut self, x: usize, side: Option<&'a str>) {
        let Some(side) = side else { return };
        if self.alignment.len() <= x {
            self.alignment.resize(x + 1, "");
        }
        self.alignment[x] = side;
    }
}

fn line(row: &[Option<String>], width: usize) -> String {
    let mut out = String::from("|");
    for x in 0..width {
        out.push(' ');
        out.push_str(row.get(x).and_then(Option::as_deref).unwrap_or_default());
        out.push_str(" |");
    }
    out.push('\n');
    out
}

fn plain_line(row: &[Option<String>]) -> String {
    row.iter().map(|cell| cell.as_deref().unwrap_or_default()).collect::<Vec<_>>().join(" | ")
}

fn span(cell: &Element, name: &str) -> usize {
    let value = cell.attribute(name).and_then(|value| value.trim().parse::<usize>().ok());
    value.unwrap_or(1).clamp(1, MAX_SPAN)
}

fn collect<'a>(element: &'a Element, in_head: bool, rows: &mut Vec<Row<'a>>) {
    for part in element.elements() {
        match &*part.name {
            "tr" => {
                let cells = part.elements().filter(|cell| matches!(&*cell.name, "td" | "th")).collect();
                rows.push(Row { cells, in_head });
            }
            "thead" => collect(part, true, rows),
            "tbody" | "tfoot" => collect(part, false, rows),
            _ => {}
        }
    }
}

/// Returns `true` for a layout table: it contains other tables, or a single column.
fn is_layout(table: &Element, rows: &[Row<'_>]) -> bool {
    let has_table = table.any(&|element| &*element.name == "table");
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or_default();
    let has_head = rows.iter().any(|row| row.cells.iter().any(|cell| &*cell.name == "th"));
    let has_long_code = || table.any(&|element| &*element.name == "pre" && is_long(element));
    has_table || columns < 2 && !has_head || columns <= 2 && has_long_code()
}

/// Returns `true` for code that would be hard to read in a cell.
fn is_long(code: &Element) -> bool {
    const LINES: usize = 3;
    code.children.iter().any(|node| !matches!(node, Node::Text(text) if text.is_empty()))
        && code.text().trim().lines().count() > LINES
}
