//! A server's life: it starts, serves one input, and ends.
//!
//! What its threads do meanwhile is in [`reading`], what is done about each message in [`steps`].

mod batch;
mod later;
mod reading;
mod steps;
mod stuck;

use std::io::{PipeWriter, Read, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use scorpiox_executor::threads;
use scorpiox_rpc::Framer;

use self::later::Later;
use self::reading::Waiting;
use self::stuck::StuckOutput;
use super::callbacks::CallbackClock;
use super::context::Context;
use super::tool_news::PluginWatch;
use super::workers::Workers;
use crate::runtime::{Beat, Ticker};

/// When the input ends, calls in flight may finish within this time.
const FINISH_TIME: Duration = Duration::from_millis(400);
/// Then they are stopped, and get this time for it.
const STOP_TIME: Duration = Duration::from_millis(250);
/// How often it is looked whether a client has to be answered.
const OVERDUE_TICKS: u64 = 64;

type Input = Box<Framer<Box<dyn Read + Send>>>;

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

/// Why the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The input has ended: calls in flight may finish.
    Input,
    /// It was told to: calls in flight are stopped.
    Signal,
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
        let writer = threads::start("goodbye", move || {
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
        let started = threads::start("worker", move || server.work_loop());
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
}
