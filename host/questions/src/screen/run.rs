//! Connects the model to a terminal.

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

/// Initial time during which keys are ignored, because they may be meant for the previous content of the
/// terminal. The second constant is the time without keys that is then required.
const UNSETTLED: Duration = Duration::from_secs(1);
const QUIET: Duration = Duration::from_millis(500);
/// Interval between checks whether the answers are still wanted.
const LOOK_TIME: Duration = Duration::from_millis(200);
/// Time for which a withdrawn question shows a notice if no key is pressed. Input during that time would
/// otherwise go to the program below.
const SAID_FOR: Duration = Duration::from_secs(20);

/// Asks on this process's terminal, until the user has answered or declined, or until the answers are not
/// wanted anymore. A closed terminal and a termination signal count as declining. The terminal is always
/// restored, even on a panic. The outcome goes to `keep`. Signals do not end the process during `keep`
/// either, because a closing terminal sends several.
///
/// `keep` is also called once the terminal is taken, with [`Answers::Declined`]: this is the outcome if the
/// process is killed, or if drawing fails because the terminal is gone.
pub fn run<E: From<io::Error>>(
    questions: &Questions,
    is_wanted: impl Fn() -> bool,
    keep: impl Fn(&Answers) -> Result<(), E>,
) -> Result<(), E> {
    let keep = |answers: &Answers| match keep(answers) {
        Err(_) if !is_wanted() => Ok(()),
        kept => kept,
    };
    // The watch outlives the screen, so that no signal can end the process while the terminal is in raw mode.
    let mut watch = Watch::start()?;
    let mut taken = Taken::take()?;
    keep(&Answers::Declined)?;
    let theme = Theme::from_no_color(std::env::var_os("NO_COLOR").as_deref());
    let outcome = attend(questions, theme, &mut taken.terminal, &mut watch, &is_wanted);
    drop(taken);
    outcome?.map_or(Ok(()), |answers| keep(&answers))
}

/// Returns the answers; `None` if they are not wanted anymore.
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

/// Asks on any terminal. The end of the events (`None`) counts as declining.
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

/// A model and its terminal.
struct Screen<'a, B: Backend> {
    model: Model,
    theme: Theme,
    terminal: &'a mut Terminal<B>,
    was_uncertain: bool,
}

impl<B: Backend<Error: Send + Sync + 'static>> Screen<'_, B> {
    fn draw(&mut self) -> io::Result<()> {
        // Normally only changes are drawn. That leaves artifacts if the terminal measures text differently,
        // so uncertain text requires a complete redraw.
        let is_uncertain = self.model.has_uncertain_widths();
        if is_uncertain || self.was_uncertain {
            // Equivalent to `Terminal::clear`, which would query the terminal and wait for the answer.
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
