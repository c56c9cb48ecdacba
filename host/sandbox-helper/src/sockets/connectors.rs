//! Threads that make connections. The supervisor never connects itself: a connection may block, whatever the flags
//! of its socket say, because the command shares the socket and can change them at any time.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use scorpiox_sys::linux::questions::{self, Answer, Question};

use super::Connection;

/// Maximum number of threads, each of which makes one connection.
const MAX_THREADS: usize = 128;
/// Stack size of a thread.
const STACK_BYTES: usize = 64 * 1024;
/// Time for which the supervisor waits for a connection, before it turns to other calls.
const MOMENT: Duration = Duration::from_millis(1);

/// States of a connection: the supervisor waits for it; it has been made; the supervisor has left it to its
/// thread, which then answers the call; and that answer has been given.
const AWAITED: u8 = 0;
const MADE: u8 = 1;
const LEFT: u8 = 2;
const ANSWERED: u8 = 3;

/// State of a connection that its thread answers.
#[derive(Debug, Clone)]
pub(super) struct Progress(Arc<AtomicU8>);

impl Progress {
    pub(super) fn is_answered(&self) -> bool {
        self.0.load(Ordering::Acquire) == ANSWERED
    }
}

/// Result of a connection.
pub(super) enum Made {
    Now(Answer),
    /// Its thread answers the call.
    Later(Progress),
}

#[derive(Debug)]
pub(super) struct Connectors {
    /// Descriptor of the notifications.
    questions: Arc<OwnedFd>,
    /// Thread without a connection to make, if there is one.
    idle: Option<Connector>,
    /// Number of threads that have not ended.
    count: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Connector {
    tasks: Sender<Task>,
    answers: Receiver<Answer>,
}

struct Task {
    connection: Connection,
    question: Question,
    progress: Progress,
}

/// Counts a thread until dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Connectors {
    pub(super) fn new(questions: Arc<OwnedFd>) -> Self {
        Self { questions, idle: None, count: Arc::default() }
    }

    /// Makes a connection. Waits for it for a moment.
    pub(super) fn connect(&mut self, connection: Connection, question: Question) -> Made {
        let failed = Made::Now(Answer::Fail(libc::EAGAIN));
        let Some(connector) = self.idle.take().or_else(|| self.begin()) else { return failed };
        let progress = Progress(Arc::new(AtomicU8::new(AWAITED)));
        let task = Task { connection, question, progress: progress.clone() };
        if connector.tasks.send(task).is_err() {
            return failed;
        }
        let answer = match connector.answers.recv_timeout(MOMENT) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => return failed,
            Err(RecvTimeoutError::Timeout) => {
                let left = progress.0.compare_exchange(AWAITED, LEFT, Ordering::AcqRel, Ordering::Acquire);
                if left.is_ok() {
                    // Without its sender, the thread ends after this connection.
                    return Made::Later(progress);
                }
                match connector.answers.recv() {
                    Ok(answer) => answer,
                    Err(_) => return failed,
                }
            }
        };
        self.idle = Some(connector);
        Made::Now(answer)
    }

    /// Starts a thread, unless there are too many.
    fn begin(&self) -> Option<Connector> {
        if self.count.fetch_add(1, Ordering::AcqRel) >= MAX_THREADS {
            self.count.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        let counted = Counted(Arc::clone(&self.count));
        let (tasks, received) = channel::<Task>();
        let (answered, answers) = channel();
        let questions = Arc::clone(&self.questions);
        let run = move || {
            let _counted = counted;
            for task in received {
                let answer = task.connection.make();
                drop(task.connection);
                let Progress(state) = &task.progress;
                if state.compare_exchange(AWAITED, MADE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    if answered.send(answer).is_err() {
                        return;
                    }
                    continue;
                }
                // This comes first: after the answer, the thread of the command may call again.
                state.store(ANSWERED, Ordering::Release);
                // Fails if the calling thread has ended or was interrupted.
                let _ = questions::answer(questions.as_fd(), &task.question, answer);
            }
        };
        thread::Builder::new().stack_size(STACK_BYTES).spawn(run).ok()?;
        Some(Connector { tasks, answers })
    }
}
