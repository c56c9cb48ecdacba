//! Worker thread of an export.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::feed::{Feed, Position};
use super::place::{self, Turn};
use super::{CONFIRM_TIME, FIRST_PAUSE, LONGEST_PAUSE, Shared, Sink, Tell};

/// Period whose lines are confirmed together.
const GROUP_TIME: Duration = Duration::from_secs(1);
/// Duration of a server's turn, and the pause between two turns.
const TURN_TIME: Duration = Duration::from_millis(500);
const TURN_PAUSE: Duration = Duration::from_millis(5);

pub(super) struct Work {
    path: PathBuf,
    feed: Feed,
    sink: Box<dyn Sink>,
    shared: Arc<Shared>,
    tell: Tell,
    /// Unconfirmed groups: position before the group, and the time of its first and last send.
    on_its_way: VecDeque<(Position, Instant, Instant)>,
    /// Current retry delay, and the time of the last failure.
    failed: Option<(Duration, Instant)>,
}

/// Next action of the thread.
enum Next {
    Send,
    /// The last attempt failed a moment ago; its error is the answer.
    AsBefore,
    End,
}

impl Work {
    pub(super) fn new(folder: &Path, sink: Box<dyn Sink>, shared: Arc<Shared>, tell: Tell) -> Self {
        Self {
            path: place::path(folder, &shared.named.place),
            feed: Feed::new(folder),
            sink,
            shared,
            tell,
            on_its_way: VecDeque::new(),
            failed: None,
        }
    }

    pub(super) fn run(mut self) {
        loop {
            let (next, asked) = self.wait();
            match next {
                Next::Send => {
                    let sent = self.send();
                    self.tell_of(sent, asked);
                }
                Next::AsBefore => self.answer(asked),
                Next::End => break,
            }
        }
        self.end();
        self.shared.lock().has_ended = true;
        self.shared.bell.notify_all();
    }

    /// Waits for work. Returns the action and the number of requests that it serves.
    fn wait(&self) -> (Next, u64) {
        let mut state = self.shared.lock();
        loop {
            let (now, asked) = (Instant::now(), state.asked);
            let has_news = state.seen < asked;
            let since = |failed: &(Duration, Instant)| now.saturating_duration_since(failed.1);
            let pause = self.failed.as_ref().map(|failed| failed.0.saturating_sub(since(failed)));
            if let Some(until) = state.ends_at {
                let is_of_use = has_news && self.failed.is_none() && now < until;
                return (if is_of_use { Next::Send } else { Next::End }, asked);
            }
            if state.is_urgent {
                state.is_urgent = false;
                let was_now = self.failed.as_ref().is_some_and(|failed| since(failed) < FIRST_PAUSE);
                return (if was_now { Next::AsBefore } else { Next::Send }, asked);
            }
            let unconfirmed = self.on_its_way.front();
            let confirms_in =
                unconfirmed.map(|(_, _, last)| (*last + CONFIRM_TIME).saturating_duration_since(now));
            let due = match (pause, has_news) {
                (Some(pause), _) => Some(pause),
                (None, true) => Some(Duration::ZERO),
                (None, false) => confirms_in,
            };
            match due {
                Some(Duration::ZERO) => return (Next::Send, asked),
                Some(due) => drop(self.shared.bell.wait_for(&mut state, due)),
                None => self.shared.bell.wait(&mut state),
            }
        }
    }

    /// Sends all available lines.
    fn send(&mut self) -> io::Result<()> {
        while !self.turn()? {
            // Let another server take its turn.
            thread::sleep(TURN_PAUSE);
        }
        Ok(())
    }

    /// Sends lines for the duration of one turn. Returns `true` if no lines are left.
    fn turn(&mut self) -> io::Result<bool> {
        let begun = Instant::now();
        let turn = Turn::take(&self.path)?;
        let mut at = turn.read()?;
        if self.sink.check().is_err() {
            self.go_back(&turn, &mut at)?;
            self.sink.check()?;
        }
        self.confirm();
        let apart = std::mem::take(&mut self.shared.lock().apart);
        if !apart.is_empty() {
            let sent = self.sink.send(&apart);
            if sent.is_err() {
                // Put the lines back in front of newer ones.
                self.shared.lock().apart.splice(..0, apart);
            }
            sent?;
        }
        self.feed.go_to(at);
        loop {
            let before = self.feed.at();
            let lines = self.feed.next()?;
            if lines.is_empty() {
                return Ok(true);
            }
            let left_out = self.sink.send(&lines).inspect_err(|_| {
                let mut at = before;
                // If the position cannot be written, sending resumes at the last stored position.
                let _ = self.go_back(&turn, &mut at);
                self.feed.go_to(at);
            })?;
            if left_out > 0 {
                let place = &self.shared.named.shown;
                (self.tell)(&format!("{place} did not take {left_out} lines, and they were left out there"));
            }
            self.note(before);
            turn.write(self.feed.at())?;
            if self.shared.lock().ends_at.is_some_and(|until| Instant::now() >= until) {
                return Ok(true);
            }
            if begun.elapsed() > TURN_TIME {
                return Ok(false);
            }
        }
    }

    /// Records that lines after `before` are sent.
    fn note(&mut self, before: Position) {
        if !self.sink.is_remote() {
            return;
        }
        let now = Instant::now();
        match self.on_its_way.back_mut() {
            Some((_, first, last)) if now.saturating_duration_since(*first) < GROUP_TIME => *last = now,
            _ => self.on_its_way.push_back((before, now, now)),
        }
    }

    /// Confirms old groups, because the connection is not broken.
    fn confirm(&mut self) {
        while self.on_its_way.front().is_some_and(|(_, _, last)| last.elapsed() >= CONFIRM_TIME) {
            self.on_its_way.pop_front();
        }
    }

    /// Rewinds to the first unconfirmed line, because the connection broke.
    fn go_back(&mut self, turn: &Turn, at: &mut Position) -> io::Result<()> {
        if let Some((begin, ..)) = self.on_its_way.front() {
            if begin.n < at.n {
                *at = Position { lost: at.lost.max(begin.lost), ..*begin };
                turn.write(*at)?;
            }
            self.on_its_way.clear();
        }
        Ok(())
    }

    fn tell_of(&mut self, sent: io::Result<()>, asked: u64) {
        let failed = sent.err().map(|error| self.shared.named.failed(&error));
        match &failed {
            None => self.failed = None,
            Some(error) => {
                let pause = self.failed.map(|(pause, _)| (pause * 2).min(LONGEST_PAUSE));
                if pause.is_none() {
                    (self.tell)(&format!("{error}; when it does it gets what the audit still has"));
                }
                self.failed = Some((pause.unwrap_or(FIRST_PAUSE), Instant::now()));
            }
        }
        self.shared.lock().failed = failed;
        self.answer(asked);
    }

    fn answer(&self, asked: u64) {
        self.shared.lock().seen = asked;
        self.shared.bell.notify_all();
    }

    /// Closes the sink. Unconfirmed lines are left to the next server.
    fn end(&mut self) {
        if self.sink.close() || self.on_its_way.is_empty() {
            return;
        }
        let gone_back = Turn::take(&self.path).and_then(|turn| {
            let mut at = turn.read()?;
            self.go_back(&turn, &mut at)
        });
        if let Err(error) = gone_back {
            (self.tell)(&self.shared.named.failed(&error).to_string());
        }
    }
}
