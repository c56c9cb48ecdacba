//! The loop: lines in, answers out.

use std::collections::VecDeque;
use std::io::{PipeWriter, Read, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use scorpiox_audit::{Outcome, Uses};
use scorpiox_rpc::{Frame, Framer, Id, Incoming, Members, Message, code, reply};
use serde_json::value::RawValue;

use super::callbacks::CallbackClock;
use super::context::Context;
use super::dispatch::{self, Answer, Request, Route, Scope};
use super::inflight::Ticket;
use super::progress::Progress;
use super::subscriptions::Wanted;
use super::tool_call::record_unrun;
use super::tool_news::PluginWatch;
use super::workers::{Admission, Task, Workers};
use crate::cancel::Reason;
use crate::mcp::error::BUSY;
use crate::mcp::{Params, RpcError};
use crate::runtime::{Awake, Beat, TICK, Ticker};

/// When the input ends, calls in flight may finish within this time.
const FINISH_TIME: Duration = Duration::from_millis(400);
/// Then they are stopped, and get this time for it.
const STOP_TIME: Duration = Duration::from_millis(250);
/// A client that takes no byte of an answer for this long, and has closed the input, is
/// gone.
const STUCK_TIME: Duration = Duration::from_secs(1);

/// How often it is looked whether a client has to be answered.
const OVERDUE_TICKS: u64 = 64;

type Input = Box<Framer<Box<dyn Read + Send>>>;

/// A line that waits for its turn: a call with its ticket, or a batch, whose members have
/// none yet.
struct Waiting {
    line: Bytes,
    ticket: Option<Ticket>,
}

/// A server that reads from one input and answers to one output.
pub struct Server {
    context: Arc<Context>,
    workers: Arc<Workers<Input, Waiting>>,
    ticker: Arc<Ticker>,
    callbacks: Arc<CallbackClock>,
    plugin_watch: PluginWatch,
    stopped: AtomicBool,
    later: Later,
    /// Rung when the input has ended, or the server was told to end.
    bell: OnceLock<PipeWriter>,
}

/// What is done with the first answer, or before the first call or the first write that may block: a client that
/// has just started the server waits for none of it.
#[derive(Default)]
struct Later {
    is_pending: AtomicBool,
    steps: Mutex<VecDeque<Box<dyn FnOnce() + Send>>>,
}

impl Later {
    fn set(&self, steps: [Box<dyn FnOnce() + Send>; 2]) {
        self.lock().extend(steps);
        self.is_pending.store(true, Ordering::Release);
    }

    /// Does steps until so many are left.
    fn run(&self, left: usize) {
        if !self.is_pending.load(Ordering::Acquire) {
            return;
        }
        let mut steps = self.lock();
        while steps.len() > left {
            steps.pop_front().into_iter().for_each(|step| step());
        }
        self.is_pending.store(!steps.is_empty(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Box<dyn FnOnce() + Send>>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The input has ended: calls in flight may finish.
    Input,
    /// It was told to: calls in flight are stopped.
    Signal,
}

/// What to do about a message.
#[allow(clippy::large_enum_variant)] // taken apart at once, and never kept
enum Step<'a> {
    Nothing,
    Answer(Vec<u8>),
    Work(Work<'a>),
}

/// A request for a thread of its own.
struct Work<'a> {
    request: Request<'a>,
    handler: dispatch::Slow,
    ticket: Ticket,
}

impl Server {
    /// Starts to serve `input`, on threads of its own. `input_closed` says, without blocking, whether the client
    /// has closed its end, for when its answers are stuck.
    pub fn start(
        context: Arc<Context>,
        input: impl Read + Send + 'static,
        input_closed: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        let server = Self::new(context, input, input_closed);
        server.spawn_worker();
        server
    }

    /// A server that does not serve yet.
    pub fn new(
        context: Arc<Context>,
        input: impl Read + Send + 'static,
        input_closed: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        let input: Input = Box::new(Framer::new(Box::new(input)));
        let workers = Arc::new(Workers::new(input));
        Arc::new_cyclic(|server: &std::sync::Weak<Self>| {
            let ticker = {
                let server = server.clone();
                let stuck = StuckOutput::default();
                Ticker::new(Box::new(move |beat| {
                    if let Some(server) = server.upgrade() {
                        server.tick(beat, &stuck, &input_closed);
                    }
                }))
            };
            let callbacks = CallbackClock::new(
                Arc::clone(&context),
                {
                    let workers = Arc::clone(&workers);
                    move || workers.is_idle()
                },
                Arc::clone(&ticker),
            );
            // The ticker ends the server when the client has gone with its answers unread.
            context.output.guard({
                let (server, ticker) = (server.clone(), Arc::clone(&ticker));
                move || {
                    if let Some(server) = server.upgrade() {
                        server.later.run(0);
                    }
                    ticker.begin()
                }
            });
            Self {
                context,
                workers,
                ticker,
                callbacks,
                plugin_watch: PluginWatch::default(),
                stopped: AtomicBool::new(false),
                later: Later::default(),
                bell: OnceLock::new(),
            }
        })
    }

    /// Serves with this thread as the first one, until there is nothing more for it to do. The first of `steps` is
    /// done before the first answer goes out, the other one after it; both before the first call. `bell` rings,
    /// once or more often, when the server is to end.
    pub fn serve(self: &Arc<Self>, bell: PipeWriter, steps: [Box<dyn FnOnce() + Send>; 2]) {
        let _ = self.bell.set(bell);
        self.later.set(steps);
        self.work_loop();
        self.later.run(0);
    }

    /// The context that requests work with.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Waits until the input has ended or the server was told to end; says which.
    pub fn wait(&self) -> End {
        self.workers.wait_for_end();
        if self.stopped.load(Ordering::Acquire) { End::Signal } else { End::Input }
    }

    /// Why the server ends: because its input has ended, or else because it is told to, now.
    pub fn end(&self) -> End {
        if !self.workers.has_ended() {
            self.stop();
        }
        self.wait()
    }

    /// Tells the server to end.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.end_input();
    }

    fn end_input(&self) {
        self.workers.end_input();
        if let Some(mut bell) = self.bell.get() {
            let _ = bell.write(&[0]);
        }
    }

    /// Ends everything in flight and says goodbye; the process may end then.
    pub fn shut_down(&self, end: End) {
        self.callbacks.stop();
        self.plugin_watch.stop();
        if end == End::Signal || !self.workers.wait_until_idle(FINISH_TIME) {
            self.context.inflight.stop_all();
            self.workers.wait_until_idle(STOP_TIME);
        }
        self.context.web().shut_down();
        self.context.shell().shut_down();
        self.context.records.shut_down();
        self.say_goodbye();
    }

    /// Writes the last answers. A client that does not read is not waited for.
    fn say_goodbye(&self) {
        let (done, waits) = mpsc::channel();
        let context = Arc::clone(&self.context);
        let writer = thread::Builder::new().name("goodbye".to_owned()).spawn(move || {
            context.subscriptions.close(&context.inflight, &context.output);
            context.output.flush();
            let _ = done.send(());
        });
        if writer.is_ok() {
            let _ = waits.recv_timeout(STOP_TIME);
        }
    }

    fn spawn_worker(self: &Arc<Self>) {
        let server = Arc::clone(self);
        let started = thread::Builder::new().name("worker".to_owned()).spawn(move || server.work_loop());
        if let Err(error) = started {
            tracing::error!("no thread to serve requests: {error}");
        }
    }

    fn tick(self: &Arc<Self>, beat: Beat, stuck: &StuckOutput, input_closed: &impl Fn() -> bool) {
        let tick = beat.tick;
        self.context.runtime.tick();
        self.context.records.tick(beat);
        if tick.is_multiple_of(OVERDUE_TICKS) {
            self.context.inflight.end_overdue();
        }
        if self.workers.tick(tick) {
            self.spawn_worker();
        }
        if stuck.is_stuck(self.context.output.write_in_progress(), tick) && input_closed() {
            tracing::warn!("the client is gone with answers unread");
            self.end_input();
        }
    }

    fn work_loop(self: &Arc<Self>) {
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

    /// Reads and answers until the input ends or goes to another thread.
    fn read(&self, mut input: Input) {
        // Another thread may have had to leave answers behind when it lost the input.
        let output = &self.context.output;
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

    /// Waits for the next frame. An input that fails, or a client that does not read its
    /// answers any more, is the end.
    fn next_frame(&self, input: &mut Input) -> Frame {
        if self.context.output.is_closed() {
            tracing::info!("the client does not read any more");
            return Frame::End;
        }
        input.next_frame().unwrap_or_else(|error| {
            tracing::error!("reading the input failed: {error}");
            Frame::End
        })
    }

    fn refuse_long_line(&self) {
        let message = format!("a line may have at most {} bytes", scorpiox_rpc::frame::MAX_LINE_BYTES);
        self.context.output.send_later(&reply::error(None, code::INVALID_REQUEST, &message, None::<&()>));
    }

    /// Handles one line; gives the input back unless it went to another thread.
    fn line(&self, line: &Bytes, input: Input, awake: &mut Option<Awake>) -> Option<Input> {
        let output = &self.context.output;
        match Incoming::parse(line) {
            Err(error) => {
                output.send_later(&reply::error(error.id.as_ref(), error.code, &error.message, None::<&()>));
                Some(input)
            }
            Ok(Incoming::Single(message)) => match self.step(message) {
                Step::Nothing => Some(input),
                Step::Answer(answer) => {
                    output.send_later(&answer);
                    Some(input)
                }
                Step::Work(work) => {
                    self.before_calls(awake);
                    self.work(line, work, input)
                }
            },
            Ok(Incoming::Batch(batch)) => {
                self.before_calls(awake);
                self.batch(line, &batch.0, input)
            }
        }
    }

    /// Sees to it that a call that takes long gives the input away, and that the server can be told to end.
    fn before_calls(&self, awake: &mut Option<Awake>) {
        awake.get_or_insert_with(|| self.ticker.begin());
        self.later.run(0);
    }

    /// Runs a call with the input on loan.
    fn work(&self, line: &Bytes, work: Work<'_>, input: Input) -> Option<Input> {
        let Work { request, handler, ticket } = work;
        match self.workers.admit(Waiting { line: line.clone(), ticket: Some(ticket) }, line.len()) {
            Admission::Run(Waiting { ticket: Some(ticket), .. }) => {
                self.with_input_on_loan(input, line.len(), || self.perform(&request, handler, &ticket))
            }
            Admission::Refused(Waiting { ticket: Some(ticket), .. }) => {
                record_unrun(&self.context, &request, BUSY_CALL);
                self.context.inflight.finish(&ticket);
                self.context.output.send_later(&busy().reply(&request.id));
                Some(input)
            }
            Admission::Queued | Admission::Run(_) | Admission::Refused(_) => Some(input),
        }
    }

    /// Runs `work`, which has a place among the workers, and sends its answer; gives the
    /// input back unless it went to another thread meanwhile.
    fn with_input_on_loan(
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
        // It was read before; reading it again is cheaper than keeping what borrows from it.
        let answer = match (Incoming::parse(&waiting.line), &waiting.ticket) {
            (Ok(Incoming::Single(message)), Some(ticket)) => self.run_again(message, ticket),
            (Ok(Incoming::Batch(batch)), _) => self.batch_answer(&batch.0),
            _ => None,
        };
        self.send(answer.as_deref(), false);
        self.workers.done(size);
        self.follow_news();
    }

    /// Lets the plugins be watched, where somebody wants that: after the answers are out.
    fn follow_news(&self) {
        if self.context.tool_news.is_stirred() {
            self.plugin_watch.wake(&self.context);
        }
    }

    fn run_again(&self, message: Message<'_>, ticket: &Ticket) -> Option<Vec<u8>> {
        let Message::Request { id, method, params } = message else { return None };
        let request = dispatch::read(id, &method, params, self.context.session.facts()).ok()?;
        match dispatch::route(&method, request.revision)? {
            Route::Slow(handler) => self.perform(&request, handler, ticket),
            _ => None,
        }
    }

    /// Answers the messages of a batch, one after the other, in one array.
    fn batch(&self, line: &Bytes, members: &[&RawValue], input: Input) -> Option<Input> {
        let output = &self.context.output;
        let revision = self.context.session.facts().revision;
        if !revision.is_some_and(|revision| revision.features().batches) {
            let message = "batches are not part of this revision; send one message a line";
            output.send_later(&reply::error(None, code::INVALID_REQUEST, message, None::<&()>));
            return Some(input);
        }
        match self.workers.admit(Waiting { line: line.clone(), ticket: None }, line.len()) {
            Admission::Run(_) => self.with_input_on_loan(input, line.len(), || self.batch_answer(members)),
            Admission::Queued => Some(input),
            Admission::Refused(_) => {
                let refusals: Vec<_> =
                    members.iter().filter_map(|member| self.refused_member(member)).collect();
                if !refusals.is_empty() {
                    output.send_later(&reply::batch(&refusals));
                }
                Some(input)
            }
        }
    }

    /// Runs a batch. Its members are registered before the first one runs, so that a cancel
    /// reaches those that wait.
    fn batch_answer(&self, members: &[&RawValue]) -> Option<Vec<u8>> {
        let steps: Vec<_> = members.iter().map(|member| self.batch_member(member)).collect();
        let answer = |step| match step {
            Step::Nothing => None,
            Step::Answer(answer) => Some(answer),
            Step::Work(Work { request, handler, ticket }) => self.perform(&request, handler, &ticket),
        };
        let answers: Vec<_> = steps.into_iter().filter_map(answer).collect();
        (!answers.is_empty()).then(|| reply::batch(&answers))
    }

    fn batch_member<'a>(&self, member: &'a RawValue) -> Step<'a> {
        match Message::parse(member.get()) {
            Err(error) => {
                Step::Answer(reply::error(error.id.as_ref(), error.code, &error.message, None::<&()>))
            }
            Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                Step::Answer(RpcError::invalid_request("initialize must not be part of a batch").reply(&id))
            }
            Ok(message) => self.step(message),
        }
    }

    /// The refusal of a batch's member, where it expects an answer.
    fn refused_member(&self, member: &RawValue) -> Option<Vec<u8>> {
        match Message::parse(member.get()) {
            Ok(Message::Request { id, method, params }) => {
                let facts = self.context.session.facts();
                if let Ok(request) = dispatch::read(id.clone(), &method, params, facts) {
                    record_unrun(&self.context, &request, BUSY_CALL);
                }
                Some(busy().reply(&id))
            }
            Ok(_) => None,
            Err(error) => Some(reply::error(error.id.as_ref(), error.code, &error.message, None::<&()>)),
        }
    }

    fn send(&self, answer: Option<&[u8]>, more_may_follow: bool) {
        match answer {
            Some(line) if more_may_follow => self.context.output.send_later(line),
            Some(line) => self.context.output.send(line),
            None => {}
        }
    }

    fn step<'a>(&self, message: Message<'a>) -> Step<'a> {
        match message {
            Message::Request { id, method, params } => self.request(&id, &method, params),
            Message::Notification { method, params } => {
                self.notification(&method, params);
                Step::Nothing
            }
            Message::Response { id, outcome } => {
                if !self.context.outgoing.answered(id.as_ref(), outcome) {
                    tracing::debug!("a response to no request of ours");
                }
                Step::Nothing
            }
        }
    }

    fn request<'a>(&self, id: &Id<'a>, method: &str, params: Option<Members<'a>>) -> Step<'a> {
        let request = match dispatch::read(id.clone(), method, params, self.context.session.facts()) {
            Ok(request) => request,
            Err(error) => return Step::Answer(error.reply(id)),
        };
        if !request.revision.features().handshake {
            self.callbacks.start();
        }
        let Some(route) = dispatch::route(method, request.revision) else {
            return Step::Answer(RpcError::method_not_found(method).reply(id));
        };
        if let Route::Quick(handler) = route {
            let answer = guarded(|| handler(&self.context, &request));
            return Step::Answer(answer.unwrap_or_else(|error| error.reply(id)));
        }
        let Some(ticket) = self.context.inflight.begin(id) else {
            let error = RpcError::invalid_request("a request with this id is still in flight");
            return Step::Answer(error.reply(id));
        };
        match route {
            Route::Slow(handler) => Step::Work(Work { request, handler, ticket }),
            _ => self.listen(&request, ticket),
        }
    }

    fn listen<'a>(&self, request: &Request<'a>, ticket: Ticket) -> Step<'a> {
        let Self { context, .. } = self;
        let id = &request.id;
        let opened = match Wanted::of(&request.params) {
            Ok(wanted) => context.subscriptions.open(id, wanted, ticket, &context.output),
            Err(error) => Err((ticket, error)),
        };
        match opened {
            Ok(()) => {
                context.tool_news.stir();
                Step::Nothing
            }
            Err((ticket, error)) => {
                self.context.inflight.finish(&ticket);
                Step::Answer(error.reply(id))
            }
        }
    }

    fn notification(&self, method: &str, params: Option<Members<'_>>) {
        match method {
            "notifications/initialized" => {
                self.context.session.update(|facts| facts.ready = facts.revision.is_some());
                self.callbacks.start();
                self.context.tool_news.stir();
            }
            "notifications/cancelled" => self.cancel(params),
            other => tracing::debug!("notification {other:?} is ignored"),
        }
    }

    fn cancel(&self, params: Option<Members<'_>>) {
        let params = Params::new(params).unwrap_or_default();
        let Some(Ok(id)) = params.raw("requestId").map(|raw| Id::from_json(raw.get())) else {
            tracing::debug!("a cancel without a request id");
            return;
        };
        if self.context.inflight.cancel(&id) {
            self.context.subscriptions.sweep(&self.context.inflight);
        }
    }

    /// Runs a handler; `None` when the request must not be answered.
    fn perform(&self, request: &Request<'_>, handler: dispatch::Slow, ticket: &Ticket) -> Option<Vec<u8>> {
        let progress = Progress::new(&self.context.output, request.revision, request.meta.progress_token);
        let uses = Uses::default();
        let scope = Scope { context: &self.context, request, ticket, progress: &progress, uses };
        // A call that was cancelled before its turn does nothing.
        let answer = match ticket.cancel.reason() {
            Some(Reason::Client) => {
                record_unrun(&self.context, request, Outcome::Cancelled);
                Err(RpcError::internal("cancelled"))
            }
            _ => guarded(|| dispatch::handle(&scope, handler)),
        };
        progress.end();
        if self.context.deliveries.timers_changed() {
            self.callbacks.wake();
        }
        let answered = self.context.inflight.finish(ticket);
        answered.then(|| answer.unwrap_or_else(|error| error.reply(&request.id)))
    }
}

/// How a call ended that found no place.
const BUSY_CALL: Outcome = Outcome::Refused("server-busy");

fn busy() -> RpcError {
    RpcError::new(BUSY, "too many requests are in flight; repeat this one when some have ended")
}

/// Turns a panic into an error answer: a defect in one request must not end the others.
fn guarded(handler: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|_| {
        Err(RpcError::internal("the server failed on this request; the details are on its standard error"))
    })
}

/// Notices a write that does not get on.
#[derive(Default)]
struct StuckOutput {
    write: AtomicU64,
    since: AtomicU64,
}

impl StuckOutput {
    /// Whether the write under way has been the same for [`STUCK_TIME`].
    fn is_stuck(&self, write: Option<u64>, tick: u64) -> bool {
        let write = write.unwrap_or(0);
        if write == 0 || self.write.swap(write, Ordering::Relaxed) != write {
            self.since.store(tick, Ordering::Relaxed);
            return false;
        }
        let ticks = tick - self.since.load(Ordering::Relaxed);
        TICK.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX)) >= STUCK_TIME
    }
}
