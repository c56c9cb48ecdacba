//! The lifecycle of a server: it starts, serves one input, and ends.
//!
//! The work of its threads is in [`super::reading`].

use std::io::{PipeWriter, Read, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::time::Duration;

use scorpiox_executor::threads;
use scorpiox_mcp::jsonrpc::{Framer, Output};

use super::later::Later;
use super::reading::Waiting;
use super::stuck::StuckOutput;
use super::workers::Workers;
use scorpiox_exchange::seal::Seal;
use scorpiox_runtime::{Beat, Ticker};
use scorpiox_server::{Audience, Reply, Session, SessionOptions, Transport, Workspace};

/// Time for calls in flight to finish after the input has ended.
const FINISH_TIME: Duration = Duration::from_millis(400);
/// Time for calls in flight to stop after that.
const STOP_TIME: Duration = Duration::from_millis(250);
pub(super) type Input = Box<Framer<Box<dyn Read + Send>>>;

/// A server for one session, with one input and one output.
pub struct Server {
    pub(super) session: Arc<Session>,
    pub(super) output: Arc<Output>,
    /// The output as the session's reply channel.
    pub(super) reply: Reply,
    pub(super) workers: Workers<Input, Waiting>,
    pub(super) ticker: Arc<Ticker>,
    pub(super) later: Later,
    stuck: StuckOutput,
    /// Returns `true`, without blocking, if the client has closed its end.
    input_closed: Box<dyn Fn() -> bool + Send + Sync>,
    stopped: AtomicBool,
    is_ending: AtomicBool,
    /// Signaled when the input has ended or the server is stopped.
    bell: OnceLock<PipeWriter>,
}

/// Reason why the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The input has ended: calls in flight may finish.
    Input,
    /// The server was stopped: calls in flight are stopped, too.
    Signal,
}

impl Server {
    /// Starts to serve `input` on new threads; see [`Self::new`].
    pub fn start(
        workspace: &Arc<Workspace>,
        audience: Audience,
        input: impl Read + Send + 'static,
        output: Output,
    ) -> Arc<Self> {
        let server = Self::new(workspace, audience, input, output, || false);
        server.spawn_worker();
        server
    }

    /// Creates a server without starting it. `input_closed` tells, without blocking, if the client has closed
    /// its end. It is called when answers are stuck.
    pub fn new(
        workspace: &Arc<Workspace>,
        audience: Audience,
        input: impl Read + Send + 'static,
        output: Output,
        input_closed: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        let input: Input = Box::new(Framer::new(Box::new(input)));
        let output = Arc::new(output);
        let reply: Reply = output.clone();
        let seal = Arc::new(Seal::of_process());
        let session = workspace.connect(SessionOptions {
            audience,
            notices: Arc::clone(&reply),
            seal,
            principal: None,
        });
        let ticker = session.ticker();
        Arc::new_cyclic(|server: &Weak<Self>| {
            session.carried_by(server.clone());
            session.ticks(server.clone());
            // The ticker ends the server if the client disconnects without reading its answers.
            output.guard({
                let (server, ticker) = (server.clone(), Arc::clone(&ticker));
                move || {
                    if let Some(server) = server.upgrade() {
                        server.later.run(0);
                    }
                    ticker.begin()
                }
            });
            Self {
                session,
                output,
                reply,
                workers: Workers::new(input),
                ticker,
                later: Later::default(),
                stuck: StuckOutput::default(),
                input_closed: Box::new(input_closed),
                stopped: AtomicBool::new(false),
                is_ending: AtomicBool::new(false),
                bell: OnceLock::new(),
            }
        })
    }

    /// Serves with this thread as the first worker, until it has no more work. The first of `steps` runs
    /// before the first answer is sent, the second one after it, and both before the first call. `bell` is
    /// signaled at least once when the server has to end.
    pub fn serve(self: &Arc<Self>, bell: PipeWriter, steps: [Box<dyn FnOnce() + Send>; 2]) {
        let _ = self.bell.set(bell);
        self.later.set(steps);
        self.work_loop();
        self.later.run(0);
    }

    /// Waits until the input has ended or the server is stopped, and returns the reason.
    pub fn wait(&self) -> End {
        self.workers.wait_for_end();
        if self.stopped.load(Ordering::Acquire) { End::Signal } else { End::Input }
    }

    /// Returns why the server ends. Stops the server if its input has not ended.
    pub fn end(&self) -> End {
        if !self.workers.has_ended() {
            self.stop();
        }
        self.wait()
    }

    /// Stops the server.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.end_input();
    }

    pub(super) fn end_input(&self) {
        self.workers.end_input();
        if let Some(mut bell) = self.bell.get() {
            let _ = bell.write(&[0]);
        }
    }

    /// Ends all calls in flight and the session. Work that belongs to the workspace continues until the
    /// workspace is closed.
    pub fn shut_down(&self, end: End) {
        self.is_ending.store(true, Ordering::Release);
        if end == End::Signal || !self.workers.wait_until_idle(FINISH_TIME) {
            self.session.stop_calls();
            self.workers.wait_until_idle(STOP_TIME);
        }
        self.say_goodbye();
    }

    /// Writes the last answers, without waiting for a client that does not read.
    fn say_goodbye(&self) {
        let (done, waits) = mpsc::channel();
        let (session, output) = (Arc::clone(&self.session), Arc::clone(&self.output));
        let writer = threads::start("goodbye", move || {
            session.end();
            output.flush();
            let _ = done.send(());
        });
        if writer.is_ok() {
            let _ = waits.recv_timeout(STOP_TIME);
        }
    }

    pub(super) fn spawn_worker(self: &Arc<Self>) {
        let server = Arc::clone(self);
        let started = threads::start("worker", move || server.work_loop());
        if let Err(error) = started {
            tracing::error!("no thread to serve requests: {error}");
        }
    }
}

impl Transport for Server {
    fn tick(self: Arc<Self>, beat: Beat) {
        if self.workers.tick(beat.tick) {
            self.spawn_worker();
        }
        if self.stuck.is_stuck(self.output.write_in_progress(), beat.tick) && (self.input_closed)() {
            tracing::warn!("the client is gone with answers unread");
            self.end_input();
        }
    }

    /// A server that is ending is not idle.
    fn is_idle(&self) -> bool {
        self.workers.is_idle() && !self.is_ending.load(Ordering::Acquire)
    }
}
