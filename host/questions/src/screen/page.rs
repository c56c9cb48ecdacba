//! The text of a page, in lines of the window's width.

use std::ops::Range;

use super::draft::Draft;
use super::place::Extent;
use super::theme::Role;
use super::wrap::{fit, width as cells, wrap};
use crate::questions::Question;

/// Minimum line width for option numbers.
const NUMBERS_FROM_WIDTH: usize = 30;
/// Maximum number of lines of a question on the review page.
const REVIEWED_LINES: usize = 3;

/// First item of the review page.
pub(super) const SEND: usize = 0;
/// Second item of the review page.
pub(super) const CHANGE: usize = 1;

/// A piece of a line, and its role.
pub(super) type Span = (String, Role);

/// All lines, including those outside of the window.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) lines: Vec<Vec<Span>>,
    items: Vec<Range<usize>>,
    /// Line and column of the cursor.
    pub(super) cursor: Option<(usize, usize)>,
    width: usize,
}

impl Page {
    pub(super) fn of_question(question: &Question, draft: &Draft, focus: usize, width: usize) -> Self {
        let mut page = Self { width, ..Self::default() };
        page.text("", &question.text, Role::Question);
        page.lines.push(Vec::new());
        let count = question.options.len();
        let prefix = |item: usize, chosen: bool| {
            let number = if width < NUMBERS_FROM_WIDTH {
                String::new()
            } else {
                // Numbers are padded to the width of the last one.
                format!("{:>1$}. ", item + 1, (count + 1).to_string().len())
            };
            let mark = match (question.multi_select, chosen) {
                (false, false) => "( )",
                (false, true) => "(x)",
                (true, false) => "[ ]",
                (true, true) => "[x]",
            };
            let pointer = if item == focus { ">" } else { " " };
            format!("{pointer} {number}{mark} ")
        };
        for (item, (option, chosen)) in question.options.iter().zip(&draft.chosen).enumerate() {
            let start = page.lines.len();
            let prefix = prefix(item, *chosen);
            page.text(&prefix, &option.label, Role::item(item == focus, *chosen));
            if let Some(description) = &option.description {
                page.text(&" ".repeat(prefix.len()), description, Role::Detail);
            }
            page.items.push(start..page.lines.len());
        }
        page.other(&prefix(count, draft.has_other()), draft, focus == count);
        page
    }

    pub(super) fn of_review(questions: &[Question], drafts: &[Draft], focus: usize, width: usize) -> Self {
        let mut page = Self { width, ..Self::default() };
        for (index, (question, draft)) in questions.iter().zip(drafts).enumerate() {
            if index > 0 {
                page.lines.push(Vec::new());
            }
            page.reviewed(index, question, draft);
        }
        page.lines.push(Vec::new());
        let missing = drafts.iter().filter(|draft| draft.is_empty()).count();
        if missing > 0 {
            let questions = if missing == 1 { "question has" } else { "questions have" };
            page.text("", &format!("{missing} {questions} no answer."), Role::Warning);
        }
        for (item, text) in [(SEND, "Send"), (CHANGE, "Change")] {
            let start = page.lines.len();
            let prefix = if item == focus { "> " } else { "  " };
            page.text(prefix, text, Role::item(item == focus, false));
            page.items.push(start..page.lines.len());
        }
        page
    }

    pub(super) fn extent(&self, height: usize) -> Extent {
        Extent { items: self.items.clone(), lines: self.lines.len(), height }
    }

    fn reviewed(&mut self, index: usize, question: &Question, draft: &Draft) {
        const INDENT: &str = "   ";
        let start = self.lines.len();
        self.text(&format!("{}. ", index + 1), &question.text, Role::Question);
        if self.lines.len() - start > REVIEWED_LINES {
            self.lines.truncate(start + REVIEWED_LINES);
            self.lines.push(vec![(format!("{INDENT}…"), Role::Detail)]);
        }
        let prefix = format!("{INDENT}- ");
        for (option, _) in question.options.iter().zip(&draft.chosen).filter(|(_, chosen)| **chosen) {
            self.text(&prefix, &option.label, Role::Chosen);
        }
        if draft.has_other() {
            self.text(&prefix, &format!("Other: {}", draft.other.text()), Role::Chosen);
        }
        if draft.is_empty() {
            self.text(&prefix, "no answer", Role::Warning);
        }
    }

    /// Adds the free text: one line, which scrolls horizontally if the text is longer.
    fn other(&mut self, prefix: &str, draft: &Draft, has_focus: bool) {
        let line = self.lines.len();
        let role = Role::item(has_focus, draft.has_other());
        let space = |before: &str| self.width.saturating_sub(cells(before));
        let spans = if has_focus {
            let before = format!("{prefix}Other: ");
            let (seen, column) = draft.other.window(space(&before));
            self.cursor = Some((line, cells(&before) + column));
            let hint = if seen.is_empty() { fit("type your answer", space(&before)) } else { String::new() };
            vec![(before, role), (seen, role), (hint, Role::Detail)]
        } else if draft.other.is_blank() {
            vec![(format!("{prefix}Other…"), role)]
        } else {
            let text = fit(&format!("Other: {}", draft.other.text()), space(prefix));
            vec![(format!("{prefix}{text}"), role)]
        };
        self.lines.push(spans);
        self.items.push(line..line + 1);
    }

    /// Adds wrapped text with a hanging indent.
    fn text(&mut self, prefix: &str, text: &str, role: Role) {
        let indent = cells(prefix);
        for (index, line) in wrap(text, self.width.saturating_sub(indent)).into_iter().enumerate() {
            let prefix = if index == 0 { prefix.to_owned() } else { " ".repeat(indent) };
            self.lines.push(vec![(prefix, role.of_prefix()), (line, role)]);
        }
    }
}
