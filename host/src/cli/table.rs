//! Rows below each other, for people.

use std::fmt::Write as _;

/// Widest cell that others are lined up with; a wider one stands out.
const MAX_WIDTH: usize = 40;

/// A table of `N` columns. Its last column is as wide as it likes.
pub(super) struct Table<const N: usize> {
    headings: [&'static str; N],
    widths: [usize; N],
}

impl<const N: usize> Table<N> {
    pub(super) fn new(headings: [&'static str; N]) -> Self {
        Self { headings, widths: headings.map(str::len) }
    }

    /// The headings and these rows, which later ones are lined up with.
    pub(super) fn render(&mut self, rows: &[[String; N]]) -> String {
        for row in rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count().min(MAX_WIDTH));
            }
        }
        let mut text = self.line(&self.headings.map(str::to_owned));
        for row in rows {
            text.push_str(&self.line(row));
        }
        text
    }

    /// One row.
    pub(super) fn line(&self, row: &[String; N]) -> String {
        let mut text = String::new();
        for (width, cell) in self.widths.iter().zip(row) {
            // Writing to a string does not fail.
            let _ = write!(text, "{cell:<width$}  ");
        }
        format!("{}\n", text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_lined_up_and_long_cells_stand_out() {
        let mut table = Table::new(["a", "longer", "last"]);
        let rows = [["1", "2", "3"], ["é44", &"x".repeat(50), ""]].map(|row| row.map(str::to_owned));
        let text = table.render(&rows);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0].find("last"), lines[1].find('3'));
        assert_eq!(lines[2], format!("é44  {}", "x".repeat(50)));
        assert_eq!(table.line(&["", "", ""].map(str::to_owned)), "\n");
    }
}
