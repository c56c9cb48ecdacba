//! Tables for terminals.

use std::fmt::Write as _;

use crate::shown::{columns, one_line, width, wrapped};

/// Maximum width of a cell that determines the width of its column.
const MAX_WIDTH: usize = 40;
/// Minimum width of a column that is narrowed to fit.
const MIN_WIDTH: usize = 8;
/// Number of spaces between columns.
const GAP: usize = 2;

/// A table of `N` columns that fits the terminal. It narrows the flexible columns first; if that is not
/// enough, it prints each row as a paragraph. If the last cell is too long, it is printed below the row.
pub struct Table<const N: usize> {
    headings: [&'static str; N],
    /// Indexes of columns whose cells may be cut.
    flexible: &'static [usize],
    /// `true` if the last column may always be printed below the others.
    has_details: bool,
    widths: [usize; N],
    columns: usize,
    is_narrow: bool,
    /// `true` once the column widths are determined.
    is_rendered: bool,
}

impl<const N: usize> Table<N> {
    /// Creates a table. Columns at the indexes in `flexible` are narrowed if there is not enough space.
    pub fn new(headings: [&'static str; N], flexible: &'static [usize]) -> Self {
        Self {
            headings,
            flexible,
            has_details: false,
            widths: headings.map(width),
            columns: columns(),
            is_narrow: false,
            is_rendered: false,
        }
    }

    /// Allows the last column to be printed below the others, without reserving space for it.
    #[must_use]
    pub fn with_details(self) -> Self {
        Self { has_details: true, ..self }
    }

    /// Formats a further row. If it is the first row, the headings precede it.
    pub fn next(&mut self, row: [String; N]) -> String {
        if self.is_rendered { self.line(&row) } else { self.render(&[row]) }
    }

    /// Formats the headings and the first rows, which determine the column widths.
    pub fn render(&mut self, rows: &[[String; N]]) -> String {
        for row in rows {
            for (most, cell) in self.widths.iter_mut().zip(row) {
                *most = (*most).max(width(cell).min(MAX_WIDTH));
            }
        }
        self.fit();
        self.is_rendered = true;
        let headings = self.headings.map(str::to_owned);
        let mut text = if self.is_narrow { String::new() } else { self.line(&headings) };
        for row in rows {
            text.push_str(&self.line(row));
        }
        text
    }

    /// Narrows columns until the headings fit.
    fn fit(&mut self) {
        let last = if self.has_details { 0 } else { GAP + width(self.headings[N - 1]) };
        while self.before_last() - GAP + last > self.columns {
            let widest = self.flexible.iter().copied().max_by_key(|at| self.widths[*at]);
            let Some(at) = widest.filter(|at| self.widths[*at] > MIN_WIDTH) else {
                self.is_narrow = true;
                return;
            };
            self.widths[at] -= 1;
        }
    }

    /// Returns the width of all columns before the last.
    fn before_last(&self) -> usize {
        self.widths[..N - 1].iter().map(|width| width + GAP).sum()
    }

    /// Formats a row.
    fn line(&self, row: &[String; N]) -> String {
        if self.is_narrow {
            return self.paragraph(row);
        }
        let mut text = String::new();
        for (at, (most, cell)) in self.widths.iter().zip(row).enumerate().take(N - 1) {
            let cell = if self.flexible.contains(&at) { one_line(cell, *most) } else { cell.clone() };
            let gap = " ".repeat(most.saturating_sub(width(&cell)) + GAP);
            // Writing to a string cannot fail.
            let _ = write!(text, "{cell}{gap}");
        }
        let last = &row[N - 1];
        if width(&text) + width(last) <= self.columns {
            text.push_str(last);
            return format!("{}\n", text.trim_end());
        }
        below(text.trim_end(), last, self.columns)
    }

    /// Formats a row as a paragraph: the first cell, and below it the other cells with their headings.
    fn paragraph(&self, row: &[String; N]) -> String {
        let named = self.headings.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
        let named: Vec<_> = named.map(|(heading, cell)| format!("{heading} {cell}")).collect();
        below(&row[0], &named.join(", "), self.columns)
    }
}

fn below(first: &str, rest: &str, columns: usize) -> String {
    let mut text = format!("{first}\n");
    for row in wrapped(rest, columns.saturating_sub(2 * GAP)) {
        let _ = writeln!(text, "    {row}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<const N: usize>(cells: [&str; N]) -> [String; N] {
        cells.map(str::to_owned)
    }

    #[test]
    fn columns_are_lined_up_and_long_cells_are_cut() {
        let mut table = Table::new(["a", "longer", "last"], &[0]);
        let text =
            table.render(&[row(["1", "2", "3"]), row(["é44", "世界", ""]), row([&"x".repeat(50), "", ""])]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0].find("last"), lines[1].find('3'));
        assert_eq!(lines[3], format!("{}…", "x".repeat(39)));
        assert_eq!(table.line(&row(["", "", ""])), "\n");
    }

    #[test]
    fn no_row_is_wider_than_the_terminal() {
        let long = "word ".repeat(30);
        let rows =
            [row(["2026-11-22 02:08:36", &"c".repeat(60), &"t".repeat(39), "refused: server-busy", &long])];
        let mut table = Table::new(["time", "client", "tool", "outcome", "denied"], &[1, 2, 3]);
        let text = table.render(&rows);
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        assert!(text.contains("\n    word word") && text.contains("ttt"), "{text}");
        let many = ["1234567890"; 12];
        let mut table = Table::new(many, &[]);
        let text = table.render(&[row(many)]);
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        assert!(text.starts_with("1234567890\n    1234567890 1234567890, "), "{text}");
    }
}
