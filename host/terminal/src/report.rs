//! Report of checks: sections with a row for each result.

use std::fmt::{Display, Write as _};

use crate::shown::{columns, wrapped};

/// Level of detail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All checks.
    All,
    /// Only failures.
    Failures,
}

/// Results of the checks, with the number of failures.
pub struct Report {
    text: String,
    detail: Detail,
    checks: u32,
    failures: u32,
}

/// Width of the indentation before a result.
const INDENT: usize = 8;

impl Report {
    /// Creates an empty report.
    pub fn new(detail: Detail) -> Self {
        Self { text: String::new(), detail, checks: 0, failures: 0 }
    }

    /// Starts a section.
    pub fn section(&mut self, title: &str) {
        if self.detail == Detail::Failures {
            return;
        }
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.text, "{gap}{title}");
    }

    /// Adds a passed check.
    pub fn good(&mut self, line: impl Display) {
        self.checks += 1;
        if self.detail == Detail::All {
            self.row("ok", line);
        }
    }

    /// Adds information that is not a check.
    pub fn note(&mut self, line: impl Display) {
        if self.detail == Detail::All {
            self.row("note", line);
        }
    }

    /// Adds a failed check.
    pub fn bad(&mut self, line: impl Display) {
        self.checks += 1;
        self.failures += 1;
        self.row("FAIL", line);
    }

    /// Adds a row, and wraps long text below it.
    fn row(&mut self, mark: &str, line: impl Display) {
        // A line feed in a name could imitate another row.
        let line = line.to_string().replace('\n', " ");
        for (index, piece) in wrapped(&line, columns() - INDENT).into_iter().enumerate() {
            let mark = if index == 0 { mark } else { "" };
            let _ = writeln!(self.text, "  {mark:<6}{piece}");
        }
    }

    /// Returns the report, and `true` if there is no failure.
    pub fn end(self) -> (String, bool) {
        let verdict = match self.failures {
            0 if self.detail == Detail::Failures => format!("{} checks: everything works.\n", self.checks),
            0 => "\nEverything works.\n".to_owned(),
            1 => "\n1 thing has to be fixed (FAIL above).\n".to_owned(),
            n => format!("\n{n} things have to be fixed (FAIL above).\n"),
        };
        (self.text + &verdict, self.failures == 0)
    }
}
