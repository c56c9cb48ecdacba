//! The main loop of a server's threads.

use std::sync::Arc;

use bytes::Bytes;
use scorpiox_mcp::jsonrpc::{Frame, Incoming, code, reply};

use super::workers::{Admission, Task};
use super::{Input, Server};
use scorpiox_runtime::Awake;
use scorpiox_server::{Step, Ticket, Work};

/// A queued line: a call with its ticket, or a batch, whose members have no tickets yet.
pub(super) struct Waiting {
    pub(super) line: Bytes,
    pub(super) ticket: Option<Ticket>,
}

impl Server {
    pub(super) fn work_loop(self: &Arc<Self>) {
        loop {
            let (task, start_thread) = self.workers.next();
            if start_thread {
                self.spawn_worker();
            }
            match task {
                Task::Read(input) => self.read(input),
                Task::Run(waiting, size) => self.run_waiting(&waiting, size),
                Task::Exit => return,
            }
        }
    }

    /// Reads and answers until the input ends or moves to another thread.
    fn read(&self, mut input: Input) {
        // Another thread may have left answers unflushed when it lost the input.
        let output = &self.output;
        let mut awake = None;
        let mut is_first = true;
        output.flush();
        loop {
            let frame = input.buffered_frame().unwrap_or_else(|| {
                let answers = !std::mem::take(&mut is_first);
                if answers {
                    self.later.run(1);
                }
                output.flush();
                self.follow_news();
                awake = None;
                if answers {
                    self.later.run(0);
                }
                self.next_frame(&mut input)
            });
            let kept = match frame {
                Frame::Line(line) => self.line(&line, input, &mut awake),
                Frame::TooLong => {
                    self.refuse_long_line();
                    Some(input)
                }
                Frame::End => {
                    output.flush();
                    self.end_input();
                    None
                }
            };
            let Some(kept) = kept else { return self.follow_news() };
            input = kept;
        }
    }

    /// Waits for the next frame. A read error and a client that stopped reading both end the input.
    fn next_frame(&self, input: &mut Input) -> Frame {
        if self.output.is_closed() {
            tracing::info!("the client does not read any more");
            return Frame::End;
        }
        input.next_frame().unwrap_or_else(|error| {
            tracing::error!("reading the input failed: {error}");
            Frame::End
        })
    }

    fn refuse_long_line(&self) {
        let message =
            format!("a line may have at most {} bytes", scorpiox_mcp::jsonrpc::frame::MAX_LINE_BYTES);
        self.output.send_later(&reply::error(None, code::INVALID_REQUEST, &message, None::<&()>));
    }

    /// Handles one line. Returns the input unless it moved to another thread.
    fn line(&self, line: &Bytes, input: Input, awake: &mut Option<Awake>) -> Option<Input> {
        let output = &self.output;
        match Incoming::parse(line) {
            Err(error) => {
                output.send_later(&error.reply());
                Some(input)
            }
            Ok(Incoming::Single(message)) => match self.session.step(message, &self.reply) {
                Step::Nothing => Some(input),
                Step::Answer(answer) => {
                    output.send_later(&answer);
                    Some(input)
                }
                Step::Work(work, ticket) => {
                    self.before_calls(awake);
                    self.work(line, &work, ticket, input)
                }
            },
            Ok(Incoming::Batch(batch)) => {
                self.before_calls(awake);
                self.batch(line, &batch.0, input)
            }
        }
    }

    /// Starts the ticker, so that a slow call gives up the input. Runs the deferred startup steps, so that
    /// signals can stop the server.
    fn before_calls(&self, awake: &mut Option<Awake>) {
        awake.get_or_insert_with(|| self.ticker.begin());
        self.later.run(0);
    }

    /// Runs a call with the input on loan.
    fn work(&self, line: &Bytes, work: &Work<'_>, ticket: Ticket, input: Input) -> Option<Input> {
        let Self { session, reply, .. } = self;
        match self.workers.admit(Waiting { line: line.clone(), ticket: Some(ticket) }, line.len()) {
            Admission::Run(Waiting { ticket: Some(ticket), .. }) => {
                self.with_input_on_loan(input, line.len(), || session.perform(work, &ticket, reply))
            }
            Admission::Refused(Waiting { ticket: Some(ticket), .. }) => {
                self.output.send_later(&session.refuse_busy(work, &ticket, reply));
                Some(input)
            }
            Admission::Queued | Admission::Run(_) | Admission::Refused(_) => Some(input),
        }
    }

    /// Runs admitted work and sends its answer. Returns the input unless it moved to another thread in the
    /// meantime.
    pub(super) fn with_input_on_loan(
        &self,
        input: Input,
        size: usize,
        work: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Input> {
        let loan = self.workers.lend(input, self.ticker.now());
        let answer = work();
        let input = self.workers.reclaim(loan);
        self.send(answer.as_deref(), input.is_some());
        self.workers.done(size);
        input
    }

    fn run_waiting(&self, waiting: &Waiting, size: usize) {
        let _awake = self.ticker.begin();
        // Parsing the line a second time is cheaper than storing the parsed message, which borrows from it.
        let answer = match (Incoming::parse(&waiting.line), &waiting.ticket) {
            (Ok(Incoming::Single(message)), Some(ticket)) => {
                self.session.perform_again(message, ticket, &self.reply)
            }
            (Ok(Incoming::Batch(batch)), _) => self.session.batch_answer(&batch.0, &self.reply),
            _ => None,
        };
        self.send(answer.as_deref(), false);
        self.workers.done(size);
        self.follow_news();
    }

    /// Starts the plugin watch if clients want it, after the answers are sent.
    fn follow_news(&self) {
        self.session.follow_list_changes();
    }

    fn send(&self, answer: Option<&[u8]>, more_may_follow: bool) {
        match answer {
            Some(line) if more_may_follow => self.output.send_later(line),
            Some(line) => self.output.send(line),
            None => {}
        }
    }
}
