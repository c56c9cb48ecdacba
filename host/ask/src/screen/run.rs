//! Joins the model to a terminal.

use std::io;

use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::crossterm::event::Event;

use super::model::Model;
use super::terminal::Taken;
use super::theme::Theme;
use super::view::view;
use super::watch::Watch;
use crate::answers::Answers;
use crate::questions::Questions;

/// Asks on this process's terminal, until the person has answered or declined. A terminal
/// that is closed, and a signal to end, are a way to decline. The terminal is left as it was
/// in all cases, a panic among them. What comes of it goes to `keep`, during which no signal ends
/// the process either: a terminal that is closed sends more than one.
pub fn run<E: From<io::Error>>(
    questions: &Questions,
    keep: impl FnOnce(&Answers) -> Result<(), E>,
) -> Result<(), E> {
    // Watched for longer than taken: no signal finds the terminal taken and ends the process.
    let mut watch = Watch::start()?;
    let mut taken = Taken::take()?;
    let theme = Theme::from_no_color(std::env::var_os("NO_COLOR").as_deref());
    let outcome = drive(questions, theme, &mut taken.terminal, || watch.next());
    drop(taken);
    let answers = match outcome {
        // What is drawn on a terminal that goes away fails.
        Err(_) if watch.is_ending() => Answers::Declined,
        outcome => outcome?,
    };
    keep(&answers)
}

/// Asks on any terminal. No more events (`None`) are a way to decline.
pub fn drive<B>(
    questions: &Questions,
    theme: Theme,
    terminal: &mut Terminal<B>,
    mut next_event: impl FnMut() -> io::Result<Option<Event>>,
) -> io::Result<Answers>
where
    B: Backend<Error: Send + Sync + 'static>,
{
    let size = terminal.size().map_err(io::Error::other)?;
    let mut model = Model::new(questions.clone(), size);
    let mut was_uncertain = false;
    loop {
        // Only what changed is drawn, which leaves remains where the terminal measures text
        // differently; then all of it is drawn.
        let is_uncertain = model.has_uncertain_widths();
        if is_uncertain || was_uncertain {
            // As `Terminal::clear`, which asks the terminal something and waits for its answer.
            let area = terminal.size().map_err(io::Error::other)?.into();
            terminal.resize(area).map_err(io::Error::other)?;
        }
        was_uncertain = is_uncertain;
        terminal.draw(|frame| view(&model, theme, frame)).map_err(io::Error::other)?;
        let Some(event) = next_event()? else { return Ok(Answers::Declined) };
        model.update(&event);
        if let Some(outcome) = model.outcome() {
            return Ok(outcome.clone());
        }
    }
}
