//! Joins the model to a terminal.

use std::io;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::crossterm::event::Event;
use ratatui::layout::Size;

use super::model::Model;
use super::terminal::Taken;
use super::theme::Theme;
use super::view::view;
use super::watch::{Next, Watch, is_escape};
use crate::answers::Answers;
use crate::questions::Questions;

/// How long keys count for nothing at first: the screen takes the place of something else, for which
/// they may be meant. And how long none may have come then.
const UNSETTLED: Duration = Duration::from_secs(1);
const QUIET: Duration = Duration::from_millis(500);
/// How often it is looked whether somebody still wants to know.
const LOOK_TIME: Duration = Duration::from_millis(200);
/// How long a question that was taken back says so, if no key comes: what is typed meanwhile would go
/// to what lies below it.
const SAID_FOR: Duration = Duration::from_secs(20);

/// Asks on this process's terminal, until the person has answered or declined, or until nobody wants to
/// know any more. A terminal that is closed, and a signal to end, are a way to decline. The terminal is
/// left as it was in all cases, a panic among them. What comes of it goes to `keep`, during which no
/// signal ends the process either: a terminal that is closed sends more than one.
pub fn run<E: From<io::Error>>(
    questions: &Questions,
    is_wanted: impl Fn() -> bool,
    keep: impl FnOnce(&Answers) -> Result<(), E>,
) -> Result<(), E> {
    // Watched for longer than taken: no signal finds the terminal taken and ends the process.
    let mut watch = Watch::start()?;
    let mut taken = Taken::take()?;
    let theme = Theme::from_no_color(std::env::var_os("NO_COLOR").as_deref());
    let outcome = attend(questions, theme, &mut taken.terminal, &mut watch, &is_wanted);
    drop(taken);
    let answers = match outcome {
        // What is drawn on a terminal that goes away fails.
        Err(_) if watch.is_ending() => Answers::Declined,
        outcome => match outcome? {
            Some(answers) => answers,
            None => return Ok(()),
        },
    };
    match keep(&answers) {
        Err(_) if !is_wanted() => Ok(()),
        kept => kept,
    }
}

/// The answers; `None` when nobody wants to know them any more.
fn attend<B>(
    questions: &Questions,
    theme: Theme,
    terminal: &mut Terminal<B>,
    watch: &mut Watch,
    is_wanted: &impl Fn() -> bool,
) -> io::Result<Option<Answers>>
where
    B: Backend<Error: Send + Sync + 'static>,
{
    let model = Model::unsettled(questions.clone(), size(terminal)?);
    let mut screen = Screen { model, theme, terminal, was_uncertain: false };
    let opened = Instant::now();
    let mut since = opened;
    loop {
        screen.draw()?;
        let next = watch.next_within(LOOK_TIME)?;
        if !is_wanted() {
            break;
        }
        match next {
            Next::End => return Ok(Some(Answers::Declined)),
            Next::Event(event) => {
                since = Instant::now();
                screen.model.update(&event);
            }
            Next::Quiet => {}
        }
        if opened.elapsed() >= UNSETTLED && since.elapsed() >= QUIET {
            screen.model.settle();
        }
        if let Some(outcome) = screen.model.outcome() {
            return Ok(Some(outcome.clone()));
        }
    }
    screen.model.take_back();
    loop {
        screen.draw()?;
        match watch.next_within(SAID_FOR)? {
            Next::Event(event) if is_escape(&event) => return Ok(None),
            Next::Event(event) => screen.model.update(&event),
            Next::Quiet | Next::End => return Ok(None),
        }
    }
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
    let model = Model::new(questions.clone(), size(terminal)?);
    let mut screen = Screen { model, theme, terminal, was_uncertain: false };
    loop {
        screen.draw()?;
        let Some(event) = next_event()? else { return Ok(Answers::Declined) };
        screen.model.update(&event);
        if let Some(outcome) = screen.model.outcome() {
            return Ok(outcome.clone());
        }
    }
}

/// A model, and where it is drawn.
struct Screen<'a, B: Backend> {
    model: Model,
    theme: Theme,
    terminal: &'a mut Terminal<B>,
    was_uncertain: bool,
}

impl<B: Backend<Error: Send + Sync + 'static>> Screen<'_, B> {
    fn draw(&mut self) -> io::Result<()> {
        // Only what changed is drawn, which leaves remains where the terminal measures text
        // differently; then all of it is drawn.
        let is_uncertain = self.model.has_uncertain_widths();
        if is_uncertain || self.was_uncertain {
            // As `Terminal::clear`, which asks the terminal something and waits for its answer.
            let area = self.terminal.size().map_err(io::Error::other)?.into();
            self.terminal.resize(area).map_err(io::Error::other)?;
        }
        self.was_uncertain = is_uncertain;
        let (model, theme) = (&self.model, self.theme);
        self.terminal.draw(|frame| view(model, theme, frame)).map(drop).map_err(io::Error::other)
    }
}

fn size<B: Backend<Error: Send + Sync + 'static>>(terminal: &Terminal<B>) -> io::Result<Size> {
    terminal.size().map_err(io::Error::other)
}
