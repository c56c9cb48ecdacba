//! Report of checks: sections with a row for each result.

use std::fmt::Display;

use crate::shown::{Shown, columns, wrapped};
use crate::style::Style;

/// Level of detail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All checks.
    All,
    /// All but usual results, which most readers need not see.
    Differences,
    /// Only failures.
    Failures,
}

/// State of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// A passed check.
    Good,
    /// A passed check whose result is the usual one.
    Usual,
    /// Information that is not a check.
    Note,
    /// A failed check.
    Bad,
}

impl State {
    fn is_shown(self, detail: Detail) -> bool {
        match detail {
            Detail::All => true,
            Detail::Differences => self != Self::Usual,
            Detail::Failures => self == Self::Bad,
        }
    }

    fn mark(self) -> (&'static str, Style) {
        match self {
            Self::Good | Self::Usual => ("ok", Style::Good),
            Self::Note => ("note", Style::Note),
            Self::Bad => ("FAIL", Style::Bad),
        }
    }
}

/// A result.
pub struct Row {
    /// Title of its section.
    pub section: String,
    /// State.
    pub state: State,
    /// Sentence about it, on one line.
    pub text: String,
}

/// Results of the checks.
#[derive(Default)]
pub struct Report {
    section: String,
    rows: Vec<Row>,
}

/// Width of the indentation before a result.
const INDENT: usize = 8;

impl Report {
    /// Creates an empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a section.
    pub fn section(&mut self, title: &str) {
        title.clone_into(&mut self.section);
    }

    /// Adds a passed check.
    pub fn good(&mut self, line: impl Display) {
        self.row(State::Good, &line);
    }

    /// Adds a passed check whose result is the usual one.
    pub fn usual(&mut self, line: impl Display) {
        self.row(State::Usual, &line);
    }

    /// Adds information that is not a check.
    pub fn note(&mut self, line: impl Display) {
        self.row(State::Note, &line);
    }

    /// Adds a failed check.
    pub fn bad(&mut self, line: impl Display) {
        self.row(State::Bad, &line);
    }

    fn row(&mut self, state: State, line: &dyn Display) {
        // A line feed in a name could imitate another row.
        let text = line.to_string().replace('\n', " ");
        self.rows.push(Row { section: self.section.clone(), state, text });
    }

    /// Returns all results, in order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the number of checks.
    pub fn checks(&self) -> usize {
        self.rows.iter().filter(|row| row.state != State::Note).count()
    }

    /// Returns the number of failed checks.
    pub fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.state == State::Bad).count()
    }

    /// Returns the report, with long texts wrapped.
    pub fn shown(&self, detail: Detail) -> Shown {
        let mut shown = Shown::default();
        let mut section = "";
        for row in self.rows.iter().filter(|row| row.state.is_shown(detail)) {
            if row.section != section && detail != Detail::Failures {
                let gap = if section.is_empty() { "" } else { "\n" };
                let title = Shown::styled(Style::Heading, &row.section);
                shown = shown.and(&Shown::text(gap)).and(&title).and(&Shown::text("\n"));
            }
            section = &row.section;
            let (mark, style) = row.state.mark();
            for (index, piece) in wrapped(&row.text, columns() - INDENT).into_iter().enumerate() {
                let mark = if index == 0 { mark } else { "" };
                let rest = format!("{}{piece}\n", " ".repeat(INDENT - 2 - mark.len()));
                shown = shown.and(&Shown::text("  ")).and(&Shown::styled(style, mark));
                shown = shown.and(&Shown::text(&rest));
            }
        }
        let (style, verdict) = match self.failures() {
            0 if detail == Detail::Failures => {
                (Style::Good, format!("{} checks: everything works.", self.checks()))
            }
            0 => (Style::Good, "Everything works.".to_owned()),
            1 => (Style::Bad, "1 thing has to be fixed (FAIL above).".to_owned()),
            n => (Style::Bad, format!("{n} things have to be fixed (FAIL above).")),
        };
        let is_alone = detail == Detail::Failures && self.failures() == 0;
        let gap = Shown::text(if is_alone { "" } else { "\n" });
        shown.and(&gap).and(&Shown::styled(style, &verdict)).and(&Shown::text("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_results_and_sections_without_others_are_left_out() {
        let mut report = Report::new();
        report.section("One");
        report.usual("a");
        report.section("Two");
        report.usual("b");
        report.good("c\nd");
        report.section("Three");
        report.note("e");
        assert_eq!(
            report.shown(Detail::Differences).as_str(),
            "Two\n  ok    c d\n\nThree\n  note  e\n\nEverything works.\n"
        );
        let all = report.shown(Detail::All);
        assert!(all.as_str().starts_with("One\n  ok    a\n\nTwo\n  ok    b\n"), "{}", all.as_str());
        assert_eq!(report.shown(Detail::Failures).as_str(), "3 checks: everything works.\n");
        report.bad("f");
        let failed = report.shown(Detail::Failures);
        assert_eq!(failed.as_str(), "  FAIL  f\n\n1 thing has to be fixed (FAIL above).\n");
        assert!(failed.with_colors().contains("\u{1b}[31mFAIL\u{1b}[0m  f"), "{}", failed.with_colors());
    }
}
