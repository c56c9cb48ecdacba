//! A server's life: it starts, serves one input, and ends.
//!
//! What its threads do meanwhile is in [`super::reading`].

use std::io::{PipeWriter, Read, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::time::Duration;

use scorpiox_executor::threads;
use scorpiox_rpc::{Framer, Output};

use super::later::Later;
use super::reading::Waiting;
use super::stuck::StuckOutput;
use super::workers::Workers;
use scorpiox_runtime::{Beat, Ticker};
use scorpiox_seal::Seal;
use scorpiox_server::{Audience, Reply, Session, SessionOptions, Transport, Workspace};

/// When the input ends, calls in flight may finish within this time.
const FINISH_TIME: Duration = Duration::from_millis(400);
/// Then they are stopped, and get this time for it.
const STOP_TIME: Duration = Duration::from_millis(250);
pub(super) type Input = Box<Framer<Box<dyn Read + Send>>>;

/// A server of one session: it reads from one input and answers to one output.
pub struct Server {
    pub(super) session: Arc<Session>,
    pub(super) output: Arc<Output>,
    /// The output, as what a session answers to.
    pub(super) reply: Reply,
    pub(super) workers: Workers<Input, Waiting>,
    pub(super) ticker: Arc<Ticker>,
    pub(super) later: Later,
    stuck: StuckOutput,
    /// Says, without blocking, whether the client has closed its end.
    input_closed: Box<dyn Fn() -> bool + Send + Sync>,
    stopped: AtomicBool,
    is_ending: AtomicBool,
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
    /// Starts to serve `input`, on threads of its own: see [`Self::new`].
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

    /// A server that does not serve yet. `input_closed` says, without blocking, whether the client
    /// has closed its end, for when its answers are stuck.
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
            // The ticker ends the server when the client has gone with its answers unread.
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

    /// Serves with this thread as the first one, until there is nothing more for it to do. The first of `steps` is
    /// done before the first answer goes out, the other one after it; both before the first call. `bell` rings,
    /// once or more often, when the server is to end.
    pub fn serve(self: &Arc<Self>, bell: PipeWriter, steps: [Box<dyn FnOnce() + Send>; 2]) {
        let _ = self.bell.set(bell);
        self.later.set(steps);
        self.work_loop();
        self.later.run(0);
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

    pub(super) fn end_input(&self) {
        self.workers.end_input();
        if let Some(mut bell) = self.bell.get() {
            let _ = bell.write(&[0]);
        }
    }

    /// Ends everything in flight and says goodbye. What runs for the workspace goes on until that is closed.
    pub fn shut_down(&self, end: End) {
        self.is_ending.store(true, Ordering::Release);
        if end == End::Signal || !self.workers.wait_until_idle(FINISH_TIME) {
            self.session.stop_calls();
            self.workers.wait_until_idle(STOP_TIME);
        }
        self.say_goodbye();
    }

    /// Writes the last answers. A client that does not read is not waited for.
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

    /// A server that ends is busy with that.
    fn is_idle(&self) -> bool {
        self.workers.is_idle() && !self.is_ending.load(Ordering::Acquire)
    }
}
