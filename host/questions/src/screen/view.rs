//! Draws the screen.
//!
//! Marks are ASCII, because the fonts of some terminals have nothing else.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::geometry::{Geometry, MIN_HEIGHT, MIN_WIDTH};
use super::model::{Keys, Model};
use super::page::Span;
use super::theme::{Role, Theme};
use super::wrap::{fit, width, wrap};

/// Space between two hints.
const GAP: &str = "  ";

/// Draws the complete model into the frame.
pub fn view(model: &Model, theme: Theme, frame: &mut Frame<'_>) {
    let Some(geometry) = Geometry::of(frame.area().as_size()) else {
        too_small(frame);
        return;
    };
    let painter = Painter { theme };
    let page = model.page(geometry.body.width.into());
    let scroll = model.place().scroll;
    if let Some((line, column)) = page.cursor
        && let Some(position) = cursor(geometry.body, line, column, scroll)
    {
        frame.set_cursor_position(position);
    }
    let buffer = frame.buffer_mut();
    let asker = fit(&model.asker().to_string(), geometry.asker.width.into());
    painter.spans(buffer, geometry.asker, &[(asker, Role::Asker)]);
    painter.spans(buffer, geometry.tabs, &tabs(model, geometry.tabs.width.into()));
    for rule in geometry.rules.into_iter().flatten() {
        painter.spans(buffer, rule, &[("─".repeat(rule.width.into()), Role::Detail)]);
    }
    for (row, line) in geometry.body.rows().zip(page.lines.iter().skip(scroll)) {
        painter.spans(buffer, row, line);
    }
    painter.scrollbar(buffer, geometry.scrollbar, scroll, page.lines.len());
    let hints = hints(model, geometry.footer.width.into());
    painter.spans(buffer, geometry.footer, &[(hints, Role::Detail)]);
}

struct Painter {
    theme: Theme,
}

impl Painter {
    fn spans(&self, buffer: &mut Buffer, row: Rect, spans: &[Span]) {
        let (mut x, right) = (row.x, row.right());
        for (text, role) in spans {
            let space = usize::from(right.saturating_sub(x));
            (x, _) = buffer.set_stringn(x, row.y, text, space, self.theme.style(*role));
        }
    }

    /// Draws the visible range, unless all lines are visible.
    fn scrollbar(&self, buffer: &mut Buffer, area: Rect, scroll: usize, lines: usize) {
        let height = usize::from(area.height);
        if lines <= height {
            return;
        }
        let length = (height * height / lines).max(1);
        let start = ((height - length) * scroll).div_ceil(lines - height);
        for (index, row) in area.rows().enumerate() {
            let is_seen = (start..start + length).contains(&index);
            let symbol = if is_seen { "█" } else { "│" };
            self.spans(buffer, row, &[(symbol.to_owned(), Role::Detail)]);
        }
    }
}

fn cursor(body: Rect, line: usize, column: usize, scroll: usize) -> Option<Position> {
    let row = u16::try_from(line.checked_sub(scroll)?).ok()?;
    let column = u16::try_from(column).ok()?;
    (row < body.height && column < body.width).then(|| Position::new(body.x + column, body.y + row))
}

/// Returns the tabs of all pages, or only the current one if they do not fit.
fn tabs(model: &Model, space: usize) -> Vec<Span> {
    let mut spans = Vec::new();
    let questions = model.questions();
    let titles = (0..).zip(questions).map(|(index, question)| {
        let mark = if model.drafts()[index].is_empty() { "[ ]" } else { "[x]" };
        format!(" {mark} {} ", question.title(index))
    });
    for (index, title) in titles.chain([" Review ".to_owned()]).enumerate() {
        if index > 0 {
            spans.push((" ".to_owned(), Role::Tab));
        }
        spans.push((title, if index == model.tab() { Role::OpenTab } else { Role::Tab }));
    }
    if spans.iter().map(|(text, _)| width(text)).sum::<usize>() <= space {
        return spans;
    }
    let title = match model.question() {
        Some(question) => format!("{}/{} {}", model.tab() + 1, questions.len(), question.title(model.tab())),
        None => "Review".to_owned(),
    };
    let title = fit(&title, space.saturating_sub(2));
    vec![(format!(" {title} "), Role::OpenTab)]
}

/// Returns as many key hints as fit, the most important ones first.
fn hints(model: &Model, space: usize) -> String {
    match model.keys() {
        Keys::Count => {}
        Keys::ComeTooSoon => return fit("One moment: keys count when none was pressed for a while", space),
        Keys::ComeTooLate => return fit("Taken back, nothing is sent: Esc closes", space),
    }
    let (enter, more): (_, &[&str]) = match model.question() {
        None if !model.has_begun() => ("Up or Down first", &["Tab first question"]),
        Some(_) if !model.has_begun() && model.is_answered() => ("Enter next", &["Tab next question"]),
        Some(_) if !model.has_begun() => ("Down or a number first", &["Tab next question"]),
        None => ("Enter choose", &["Up/Down move", "Tab first question"]),
        Some(_) if model.is_writing() => ("Enter next", &["Up/Down move", "Tab next question"]),
        Some(question) if question.multi_select => {
            ("Enter next", &["Space choose", "Up/Down move", "Tab next question"])
        }
        Some(_) => ("Enter choose", &["Up/Down move", "Tab next question"]),
    };
    let decline = "Esc decline";
    let needed = [enter, GAP, decline].concat();
    if width(&needed) > space {
        let enter = if model.has_begun() { "Enter ok" } else { "Down first" };
        return fit(&[enter, GAP, "Esc no"].concat(), space);
    }
    let mut taken = width(&needed);
    let mut hints = vec![enter];
    for hint in more {
        taken += GAP.len() + width(hint);
        if taken > space {
            break;
        }
        hints.push(hint);
    }
    hints.push(decline);
    hints.join(GAP)
}

fn too_small(frame: &mut Frame<'_>) {
    let area = frame.area();
    let text = format!("window too small: needs {MIN_WIDTH}×{MIN_HEIGHT}; Esc declines");
    let buffer = frame.buffer_mut();
    for (row, line) in area.rows().zip(wrap(&text, area.width.into())) {
        buffer.set_stringn(row.x, row.y, line, row.width.into(), ratatui::style::Style::new());
    }
}
