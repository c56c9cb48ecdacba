//! Queries all engines at the same time.
//!
//! Invariant: each iteration of the loop receives a response, gives up on an engine, or ends. It ends at the
//! deadline at the latest, according to the clock that is passed in.

use scorpiox_tool_kit::Failure;
use scorpiox_tool_kit::web::{Progress, Response, Web, WebError};

use crate::engine::Token;
use crate::outcome::{Outcome, Report};
use crate::request::{Fill, Template};
use crate::settings::Target;
use crate::{report, verdict};

/// Deadline for the result, even if engines are missing, because users wait for it.
pub(crate) const DEADLINE_MS: u64 = 6_000;
/// Maximum time by which a timer may fire early, because clocks of different kinds are rounded differently.
const TIMER_SLACK_MS: u64 = 50;

/// Queries all targets. Returns one report for each, in their order.
pub(crate) fn ask(
    web: &mut impl Web,
    progress: &mut impl Progress,
    clock: &impl Fn() -> u64,
    targets: &[Target],
    query: &str,
) -> Result<Vec<Report>, Failure> {
    let mut round = Round::new(web, progress, clock, targets, query);
    round.begin()?;
    while let Some(until) = round.next_limit() {
        round.wait(until)?;
    }
    Ok(round.reports())
}

/// A pending request.
struct Pending {
    id: u32,
    target: usize,
    /// `true` if the request is for the engine's token.
    first: bool,
    /// Time at which the request is given up.
    until: u64,
}

struct Round<'a, W, P, C> {
    web: &'a mut W,
    progress: &'a mut P,
    clock: &'a C,
    targets: &'a [Target],
    query: &'a str,
    started: u64,
    pending: Vec<Pending>,
    /// Outcome and duration for each target.
    done: Vec<Option<(Outcome, u64)>>,
}

impl<'a, W: Web, P: Progress, C: Fn() -> u64> Round<'a, W, P, C> {
    fn new(web: &'a mut W, progress: &'a mut P, clock: &'a C, targets: &'a [Target], query: &'a str) -> Self {
        let started = clock();
        let done = targets.iter().map(|_| None).collect();
        Self { web, progress, clock, targets, query, started, pending: Vec::new(), done }
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let targets = self.targets;
        for (index, target) in targets.iter().enumerate() {
            let until = self.started + target.engine.limit_ms.min(DEADLINE_MS);
            match &target.engine.token {
                Some(first) => self.send(index, &first.request, "", true, until)?,
                None => self.send(index, &target.engine.request, "", false, until)?,
            }
        }
        Ok(())
    }

    fn send(
        &mut self,
        target: usize,
        template: &Template,
        token: &str,
        first: bool,
        until: u64,
    ) -> Result<(), Failure> {
        let Target { base, key, .. } = &self.targets[target];
        let left = until.saturating_sub((self.clock)()).min(DEADLINE_MS);
        let timeout_ms = u32::try_from(left).unwrap_or(u32::MAX);
        let request = template.fill(Fill { base, query: self.query, key, token }, timeout_ms);
        match self.web.begin(request) {
            Ok(id) => self.pending.push(Pending { id, target, first, until }),
            Err(error) => self.failed(target, error)?,
        }
        Ok(())
    }

    /// Returns the time at which the next request is given up, if any is pending.
    fn next_limit(&mut self) -> Option<u64> {
        self.give_up((self.clock)());
        self.pending.iter().map(|pending| pending.until).min()
    }

    /// Waits for a response, at most until `until`.
    fn wait(&mut self, until: u64) -> Result<(), Failure> {
        let left = until.saturating_sub((self.clock)()).min(DEADLINE_MS);
        match self.web.next(u32::try_from(left).unwrap_or(u32::MAX)) {
            Some((id, outcome)) => self.answered(id, outcome),
            None if (self.clock)() + TIMER_SLACK_MS < until => {
                self.nothing_comes();
                Ok(())
            }
            None => {
                self.give_up(until);
                Ok(())
            }
        }
    }

    fn answered(&mut self, id: u32, outcome: Result<Response, WebError>) -> Result<(), Failure> {
        // A response to a request that was given up is ignored.
        let Some(at) = self.pending.iter().position(|pending| pending.id == id) else { return Ok(()) };
        let Pending { target, first, until, .. } = self.pending.swap_remove(at);
        let response = match outcome {
            Ok(response) => response,
            Err(error) => return self.failed(target, error),
        };
        let engine = self.targets[target].engine;
        match &engine.token {
            Some(token) if first => self.second(target, token, &response, until),
            _ => {
                self.finish(target, verdict::of(engine, &response));
                Ok(())
            }
        }
    }

    /// Sends the search request after the token was received.
    fn second(
        &mut self,
        target: usize,
        token: &Token,
        response: &Response,
        until: u64,
    ) -> Result<(), Failure> {
        let engine = self.targets[target].engine;
        match verdict::of_token(token, response) {
            Ok(token) => self.send(target, &engine.request, &token, false, until),
            Err(outcome) => {
                self.finish(target, outcome);
                Ok(())
            }
        }
    }

    fn failed(&mut self, target: usize, error: WebError) -> Result<(), Failure> {
        let outcome = verdict::of_error(error, &self.targets[target].key).ok_or(Failure::Cancelled)?;
        self.finish(target, outcome);
        Ok(())
    }

    /// Gives up on requests whose limit is `now` or earlier.
    fn give_up(&mut self, now: u64) {
        self.drop_pending(|pending| pending.until <= now, &Outcome::TimedOut);
    }

    /// Fails all pending requests: the host has none in progress.
    fn nothing_comes(&mut self) {
        let outcome = Outcome::Failed("its request was lost".to_owned());
        self.drop_pending(|_| true, &outcome);
    }

    fn drop_pending(&mut self, which: impl Fn(&Pending) -> bool, outcome: &Outcome) {
        let (dropped, kept) = std::mem::take(&mut self.pending).into_iter().partition(which);
        self.pending = kept;
        for Pending { target, .. } in dropped {
            self.finish(target, outcome.clone());
        }
    }

    fn finish(&mut self, target: usize, outcome: Outcome) {
        let message = format!("{}: {}", self.targets[target].engine.label, report::progress(&outcome));
        let duration_ms = (self.clock)().saturating_sub(self.started);
        self.done[target] = Some((outcome, duration_ms));
        let done = self.done.iter().flatten().count();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.progress.report(count(done), Some(count(self.targets.len())), &message);
    }

    fn reports(self) -> Vec<Report> {
        let lost = || (Outcome::Failed("its request was lost".to_owned()), 0);
        let report = |(target, done): (&Target, Option<(Outcome, u64)>)| {
            let (outcome, duration_ms) = done.unwrap_or_else(lost);
            Report { engine: target.engine, outcome, duration_ms }
        };
        self.targets.iter().zip(self.done).map(report).collect()
    }
}
