//! What was looked at, each with what was found: in sections, as rows.

use std::fmt::{Display, Write as _};

use crate::shown::{columns, wrapped};

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything that was looked at.
    All,
    /// What has to be fixed.
    Failures,
}

/// What was found, and whether anything has to be fixed.
pub struct Report {
    text: String,
    detail: Detail,
    checks: u32,
    failures: u32,
}

/// Columns in front of what is said.
const INDENT: usize = 8;

impl Report {
    /// Nothing yet.
    pub fn new(detail: Detail) -> Self {
        Self { text: String::new(), detail, checks: 0, failures: 0 }
    }

    /// What follows is about this.
    pub fn section(&mut self, title: &str) {
        if self.detail == Detail::Failures {
            return;
        }
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.text, "{gap}{title}");
    }

    /// Something is as it should be.
    pub fn good(&mut self, line: impl Display) {
        self.checks += 1;
        if self.detail == Detail::All {
            self.row("ok", line);
        }
    }

    /// Something to know.
    pub fn note(&mut self, line: impl Display) {
        if self.detail == Detail::All {
            self.row("note", line);
        }
    }

    /// Something has to be fixed.
    pub fn bad(&mut self, line: impl Display) {
        self.checks += 1;
        self.failures += 1;
        self.row("FAIL", line);
    }

    /// What does not fit on a row follows below.
    fn row(&mut self, mark: &str, line: impl Display) {
        // A line feed in a name would begin what looks like another row.
        let line = line.to_string().replace('\n', " ");
        for (index, piece) in wrapped(&line, columns() - INDENT).into_iter().enumerate() {
            let mark = if index == 0 { mark } else { "" };
            let _ = writeln!(self.text, "  {mark:<6}{piece}");
        }
    }

    /// All of it, and whether nothing has to be fixed.
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
