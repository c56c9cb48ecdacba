//! Runs messages, on a blocking thread or immediately if they take no time. A call gets a slot before it gets
//! a thread, so queued calls only cost the memory of their bodies.

use std::sync::Arc;
use std::time::Duration;

use crate::request::claims::Claims;
use bytes::Bytes;
use scorpiox_audit::Trace;
use scorpiox_exchange::inflight::Ticket;
use scorpiox_executor::Cancel;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::jsonrpc::{Incoming, Message};
use scorpiox_server::{MAX_RESOURCE_BYTES, Reply, Step};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::bounds::{Entry, Held, Place, Turn, WaitsFor};
use crate::endpoint::Endpoint;
use crate::post::{CALL, LISTEN};
use crate::sessions::Client;
use crate::stream::Stream;

/// Methods that finish immediately and need no slot. The same applies to answers and cancellations, which
/// must never queue behind the calls they are for.
const QUICK: [&str; 5] = ["initialize", "ping", "logging/setLevel", "server/discover", LISTEN];

/// Maximum length of a message that takes no time: reading and judging a long one does, whatever it calls.
const MAX_BRIEF_BYTES: usize = 16 << 10;

/// Error for a message that finds no thread.
const FULL: &str = "too much of its principal waits for the disk already";

/// Method with an answer that can be large although its client pays nothing for it.
const READ: &str = "resources/read";
/// Maximum size of its answer in bytes: a text, of which each byte can take six in JSON, and the rest of the
/// answer.
#[allow(clippy::cast_possible_truncation, reason = "it is a few MiB")]
const MAX_READ_ANSWER: usize = 6 * MAX_RESOURCE_BYTES as usize + 64 * 1024;
/// Maximum time that an answer waits for memory.
const ROOM_TIME: Duration = Duration::from_secs(10);
const NO_ROOM: &str = "answers that were not read yet take the memory for it; read them first";

/// A received body with its share of the memory budget.
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub(crate) room: Held,
    /// Reserved memory for the answer, if that can be large.
    pub(crate) unsent: Option<Held>,
    /// Trace that the request belongs to, from its headers.
    pub(crate) trace: Option<Trace>,
}

/// Kind of a body, which determines where it runs.
pub(crate) enum Matter<'a> {
    /// An answer, a notification, or a handshake.
    Word,
    Request(&'a Claims),
    Batch,
}

/// A message to run.
struct Task {
    endpoint: Arc<Endpoint>,
    client: Arc<Client>,
    body: Body,
    stream: Arc<Stream>,
}

/// Slot in which a message runs.
enum Seat {
    Place(#[expect(dead_code, reason = "it is there to be dropped")] Place),
    /// Needs no slot.
    Beside,
    /// No slot is available: the message is refused.
    Refused,
}

/// State of a message while it is queued.
enum Registered {
    /// A request with its ticket, so that it can be cancelled.
    Waits(Ticket),
    Answered(Vec<u8>),
    /// Messages of a batch are registered when the batch runs.
    Batch,
    Nothing,
}

/// Reserves memory for the answer of a request before it is produced, if it can be large. Returns the error for
/// the request if there is none in time.
pub(crate) async fn reserve(
    endpoint: &Endpoint,
    client: &Client,
    claims: Option<&Claims>,
    body: Body,
) -> Result<Body, RpcError> {
    if claims.is_none_or(|claims| claims.method != READ) {
        return Ok(body);
    }
    match timeout(ROOM_TIME, endpoint.unsent.take(&client.principal, MAX_READ_ANSWER)).await {
        Ok(Some(held)) => Ok(Body { unsent: Some(held), ..body }),
        Ok(None) | Err(_) => Err(RpcError::new(BUSY, format!("there is no room for the answer: {NO_ROOM}"))),
    }
}

/// Runs the messages of a body. Output goes to `stream`, which ends with the answer. A subscription leaves it
/// open.
pub(crate) fn run(
    endpoint: &Arc<Endpoint>,
    client: Arc<Client>,
    matter: &Matter<'_>,
    body: Body,
    stream: Arc<Stream>,
) {
    if let Some(trace) = body.trace {
        stream.part_of(trace);
    }
    let (is_beside, is_brief) = match matter {
        Matter::Word => (true, false),
        Matter::Batch => (false, false),
        Matter::Request(claims) => {
            let is_brief = body.bytes.len() <= MAX_BRIEF_BYTES && is_brief(&client, claims);
            (QUICK.contains(&claims.method.as_str()), is_brief)
        }
    };
    let principal = Arc::clone(&client.principal);
    let task = Task { endpoint: Arc::clone(endpoint), client, body, stream };
    if is_beside {
        return task.start_beside(Seat::Beside);
    }
    match endpoint.places.enter(&principal) {
        // With a database, even brief calls wait.
        Entry::Place(place) if is_brief && !endpoint.sessions.shared().is_database() => {
            endpoint.blocking.brief_call(place, |place| task.perform(Seat::Place(place)));
        }
        Entry::Place(place) => task.start(place),
        Entry::Turn(turn) => task.queue(turn),
        Entry::Full => task.start_beside(Seat::Refused),
    }
}

/// Returns `true` if a request calls a tool that finishes immediately.
fn is_brief(client: &Client, claims: &Claims) -> bool {
    let name = claims.subject.as_ref().filter(|_| claims.method == CALL);
    let workspace = client.session.workspace();
    let tool = name.and_then(|name| workspace.registry().get(name));
    tool.is_some_and(|tool| tool.is_brief())
}

impl Task {
    /// Runs the message on a thread, with its slot.
    fn start(self, place: Place) {
        let endpoint = Arc::clone(&self.endpoint);
        endpoint.blocking.call(place, |place| self.perform(Seat::Place(place)));
    }

    /// Runs a message without a slot. It waits for nothing slow.
    fn start_beside(self, seat: Seat) {
        let (endpoint, who) = (Arc::clone(&self.endpoint), Arc::clone(&self.client.principal));
        let run = move |task: Self, _: &_| task.perform(seat);
        endpoint.blocking.start(WaitsFor::Disk, &who, self, run, Self::refuse);
    }

    /// Refuses the message because no thread is free.
    fn refuse(self) {
        // Writing an audit line would need the disk too.
        tracing::warn!("a message was dropped or refused, without a line in the audit: {FULL}");
        let answer = self.error(&RpcError::new(BUSY, format!("{FULL}; repeat it later")));
        self.end(answer, None);
    }

    /// Returns an error as the answer to the message, if it is to be answered.
    fn error(&self, error: &RpcError) -> Option<Vec<u8>> {
        match Incoming::parse(&self.body.bytes) {
            Ok(Incoming::Single(Message::Request { id, .. })) => Some(error.reply(&id)),
            Ok(Incoming::Single(_)) => None,
            Ok(Incoming::Batch(_)) | Err(_) => Some(error.reply_to_unknown()),
        }
    }

    /// Registers the message and runs it when a slot is free. Any audit line is written on a blocking thread.
    fn queue(self, turn: Turn) {
        let (endpoint, who) = (Arc::clone(&self.endpoint), Arc::clone(&self.client.principal));
        let run = |(task, turn): (Self, Turn), _: &_| task.registered(turn);
        endpoint.blocking.start(WaitsFor::Disk, &who, (self, turn), run, |(task, _)| task.refuse());
    }

    fn registered(self, turn: Turn) {
        let endpoint = Arc::clone(&self.endpoint);
        match self.register() {
            Registered::Waits(ticket) => drop(endpoint.blocking.spawn(self.wait(turn, ticket))),
            Registered::Answered(answer) => self.end(Some(answer), None),
            Registered::Batch => drop(endpoint.blocking.spawn(async move { self.start(turn.await) })),
            Registered::Nothing => {}
        }
    }

    /// Runs the message when a slot is free, or ends it if it is cancelled first.
    async fn wait(self, turn: Turn, ticket: Ticket) {
        let place = unless_stopped(turn, &ticket.cancel).await;
        let endpoint = Arc::clone(&self.endpoint);
        let Some(place) = place else {
            // A cancelled message only writes an audit line.
            let who = Arc::clone(&self.client.principal);
            let run = |(task, ticket): (Self, Ticket), _: &_| task.perform_again(&ticket, None);
            let unrun = |(task, ticket): (Self, Ticket)| {
                task.client.session.forget(&ticket);
                task.refuse();
            };
            return endpoint.blocking.start(WaitsFor::Disk, &who, (self, ticket), run, unrun);
        };
        endpoint.blocking.call(place, move |place| self.perform_again(&ticket, Some(place)));
    }

    fn register(&self) -> Registered {
        match Incoming::parse(&self.body.bytes) {
            Ok(Incoming::Single(message)) => match self.client.session.step(message, &self.reply()) {
                Step::Work(_, ticket) => Registered::Waits(ticket),
                Step::Answer(answer) => Registered::Answered(answer),
                Step::Nothing => Registered::Nothing,
            },
            Ok(Incoming::Batch(_)) => Registered::Batch,
            Err(error) => Registered::Answered(error.reply()),
        }
    }

    fn reply(&self) -> Reply {
        self.stream.clone()
    }

    fn perform_again(self, ticket: &Ticket, place: Option<Place>) {
        let session = &self.client.session;
        let clock = session.ticker();
        let awake = clock.begin();
        // The message borrows from the body, so it cannot move to another thread and is parsed again.
        let answer = match Incoming::parse(&self.body.bytes) {
            Ok(Incoming::Single(message)) => session.perform_again(message, ticket, &self.reply()),
            _ => None,
        };
        drop(awake);
        self.end(answer, place.map(Seat::Place));
    }

    fn perform(self, seat: Seat) {
        let session = &self.client.session;
        let ticker = session.ticker();
        let awake = ticker.begin();
        let reply = self.reply();
        let answer = match Incoming::parse(&self.body.bytes) {
            Ok(Incoming::Single(message)) => {
                let is_request = matches!(message, Message::Request { .. });
                match session.step(message, &reply) {
                    // The stream of a subscription stays open.
                    Step::Nothing if is_request => return session.follow_list_changes(),
                    Step::Nothing => None,
                    Step::Answer(answer) => Some(answer),
                    Step::Work(work, right) => match &seat {
                        Seat::Place(_) => session.perform(&work, &right, &reply),
                        Seat::Beside | Seat::Refused => Some(session.refuse_busy(&work, &right, &reply)),
                    },
                }
            }
            Ok(Incoming::Batch(batch)) => match &seat {
                Seat::Place(_) => session.batch_answer(&batch.0, &reply),
                Seat::Beside | Seat::Refused => session.refuse_busy_batch(&batch.0, &reply),
            },
            Err(error) => Some(error.reply()),
        };
        drop(awake);
        self.end(answer, Some(seat));
    }

    /// Ends the stream with an answer, if any. Frees the slot when there is memory for the answer until it is
    /// sent.
    fn end(mut self, answer: Option<Vec<u8>>, seat: Option<Seat>) {
        let client = Arc::clone(&self.client);
        match answer {
            None => {
                drop(seat);
                self.send(None);
            }
            Some(answer) => {
                // Earlier messages that were not read yet stay in memory as long as the answer does.
                let bytes = self.stream.bytes() + answer.len();
                let held = match self.body.unsent.take() {
                    Some(reserved) => Some(reserved.shrunk(bytes)),
                    None => self.endpoint.unsent.try_take(&client.principal, bytes),
                };
                match held {
                    Some(held) => {
                        drop(seat);
                        self.send(Some(held.holding(answer)));
                    }
                    None => self.send_later(answer, bytes, seat),
                }
            }
        }
        client.session.follow_list_changes();
    }

    /// Sends an answer when there is memory for it. If there is none in time, an error takes its place.
    fn send_later(self, answer: Vec<u8>, bytes: usize, seat: Option<Seat>) {
        let endpoint = Arc::clone(&self.endpoint);
        let send = async move {
            let room = self.endpoint.unsent.take(&self.client.principal, bytes);
            let answer = if let Ok(Some(held)) = timeout(ROOM_TIME, room).await {
                Some(held.holding(answer))
            } else {
                tracing::warn!("an answer of {bytes} bytes was not sent: {NO_ROOM}");
                drop(answer);
                let why = format!("the request ran, but its answer of {bytes} bytes was dropped: {NO_ROOM}");
                self.error(&RpcError::new(BUSY, why)).map(Into::into)
            };
            drop(seat);
            self.send(answer);
        };
        drop(endpoint.blocking.spawn(send));
    }

    fn send(self, answer: Option<Bytes>) {
        let Self { endpoint, client, body, stream } = self;
        let sent = answer.as_ref().map_or(0, Bytes::len);
        client.session.workspace().records().moved(&client.principal, body.bytes.len(), sent);
        if stream.is_kept() && sent > 0 {
            stream.stays(endpoint.kept.stay(&client.principal, &stream, stream.bytes() + sent));
        }
        stream.end(answer);
    }
}

/// Waits for a slot. Returns `None` if the call is cancelled first.
async fn unless_stopped(turn: Turn, cancel: &Cancel) -> Option<Place> {
    let told = Arc::new(Notify::new());
    let tell = Arc::clone(&told);
    let _watch = cancel.watch(move || tell.notify_one());
    tokio::select! {
        biased;
        () = told.notified() => None,
        place = turn => Some(place),
    }
}
