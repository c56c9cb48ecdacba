//! POST: a message and its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body as _;
use hyper::header::HeaderName;
use hyper::{HeaderMap, StatusCode};
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::jsonrpc::frame::MAX_LINE_BYTES;
use scorpiox_mcp::jsonrpc::{self as rpc, Message, reply};
use scorpiox_mcp::{Params, RpcError};
use scorpiox_server::recorded;
use scorpiox_tools::{Kind, Tool};
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::bounds::WaitsFor;
use crate::ended::now;
use crate::endpoint::Endpoint;
use crate::events::Events;
use crate::gathered::{Ungathered, gathered};
use crate::lookups::{client_of, too_many_sessions, unfound};
use crate::passed;
use crate::request::admission;
use crate::request::claims::{self, Claims, Unread};
use crate::request::event_id::{Answers, Source};
use crate::request::modern;
use crate::request::params;
use crate::request::session_id::{Can, Handshake};
use crate::running::{self, Body, Matter};
use crate::served::Caller;
use crate::sessions::Client;
use crate::stream::{Beginning, Refusal, Stream};
use crate::unread::RequestBody;
use scorpiox_audit::Trace;

/// Timeout for receiving a body.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Time after which an answer begins as a stream, because some clients give up on a silent connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reason for refusing a response to a request that no server can have sent.
const STRAY: &str = "a response answers a request of this server, and has its id";
/// Reason for refusing a batch.
const ONE_AT_A_TIME: &str = "batches are part of 2025-03-26 alone; send one message at a time";

pub(crate) const CALL: &str = "tools/call";
pub(crate) const LISTEN: &str = "subscriptions/listen";

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// Returns the body of a request, or the answer to a request that cannot have a valid one.
pub(crate) async fn body(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
    body: RequestBody,
) -> Result<Body, Answer> {
    if let Err(refusal) = admission::check_types(headers) {
        return Err(answer::refusal(&refusal));
    }
    let body = read(endpoint, caller, body).await?;
    Ok(Body { trace: trace(headers), ..body })
}

pub(crate) async fn answer(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
) -> Answer {
    let read = endpoint.blocking.parse(&body.bytes, &caller.principal.key(), |bytes| read_body(bytes)).await;
    let claims = match read {
        Err(error) => return answer::refused(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
        Ok(Read::Malformed(line)) => return answer::json(StatusCode::BAD_REQUEST, line),
        Ok(Read::Batch(members)) => return batch(endpoint, caller, headers, &members, body).await,
        Ok(Read::Single(Ok(claims))) => claims,
        Ok(Read::Single(Err(unread))) => {
            record_refused(endpoint, caller, [&unread.claims]).await;
            return answer::error(StatusCode::BAD_REQUEST, unread.claims.id(), &unread.error);
        }
    };
    if modern::is_meant(headers, &claims) {
        return modern_answer(endpoint, caller, headers, &claims, body).await;
    }
    legacy_answer(endpoint, caller, headers, &claims, body).await
}

/// Parts of a body that the transport needs.
enum Read {
    Single(Result<Claims, Box<Unread>>),
    Batch(Vec<Claims>),
    /// The body is no message; the answer says why.
    Malformed(Vec<u8>),
}

fn read_body(bytes: &[u8]) -> Read {
    match rpc::Incoming::parse(bytes) {
        Err(error) => Read::Malformed(error.reply()),
        Ok(rpc::Incoming::Single(message)) => Read::Single(Claims::of(message)),
        Ok(rpc::Incoming::Batch(batch)) => Read::Batch(members(&batch)),
    }
}

/// Returns the trace that a request belongs to.
fn trace(headers: &HeaderMap) -> Option<Trace> {
    Trace::parse(admission::only(headers, &TRACE_PARENT)?)
}

async fn read(endpoint: &Endpoint, caller: &Caller, body: RequestBody) -> Result<Body, Answer> {
    let too_long = || {
        let why = format!("a message may have at most {MAX_LINE_BYTES} bytes");
        answer::refused(StatusCode::PAYLOAD_TOO_LARGE, &why)
    };
    let size = body.size_hint();
    if size.lower() > MAX_LINE_BYTES as u64 {
        return Err(too_long());
    }
    let most =
        size.upper().and_then(|most| usize::try_from(most).ok()).map_or(MAX_LINE_BYTES, |most| most.max(1));
    let principal = caller.principal.key();
    let Ok(Some(room)) = timeout(BODY_TIME, endpoint.room.take(&principal, most)).await else {
        return Err(answer::refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many bytes are being read; repeat it later",
        ));
    };
    match timeout(BODY_TIME, gathered(body, most)).await {
        Ok(Ok(body)) => {
            let room = room.shrunk(body.capacity());
            Ok(Body { room, bytes: Bytes::from(body), unsent: None, trace: None })
        }
        Ok(Err(Ungathered::TooLong)) => Err(too_long()),
        Ok(Err(Ungathered::Broken(error))) => {
            Err(answer::refused(StatusCode::BAD_REQUEST, &format!("the body cannot be read: {error}")))
        }
        Err(_) => Err(answer::refused(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}

/// Answers a request of a stateless protocol revision. Its client ends when the answer is not read any more.
async fn modern_answer(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
    claims: &Claims,
    body: Body,
) -> Answer {
    if let Err(error) = modern::check(headers, claims) {
        let status = match modern::status(Some(error.code())) {
            StatusCode::OK => StatusCode::BAD_REQUEST,
            status => status,
        };
        record_refused(endpoint, caller, [claims]).await;
        return answer::error(status, claims.id(), &error);
    }
    let Some(id) = claims.id() else { return answer::empty(StatusCode::ACCEPTED) };
    if let Err((status, error)) = check_arguments(endpoint, caller, headers, claims, &body.bytes).await {
        record_refused(endpoint, caller, [claims]).await;
        return answer::error(status, Some(id), &error);
    }
    // Dropped with this future, or with the body of the answer.
    let once = Once::begin(endpoint, caller);
    let body = match running::reserve(endpoint, &once.client, Some(claims), body).await {
        Ok(body) => body,
        Err(error) => return answer::error(StatusCode::SERVICE_UNAVAILABLE, Some(id), &error),
    };
    let stream = Stream::passing();
    let mut open = None;
    if claims.method == LISTEN {
        open = endpoint.streams.open(&once.client.principal);
        if open.is_none() {
            let error = RpcError::new(BUSY, endpoint.streams.why_full());
            return answer::error(StatusCode::SERVICE_UNAVAILABLE, Some(id), &error);
        }
        endpoint.subscribed(&once.client, &stream);
    }
    running::run(endpoint, Arc::clone(&once.client), &Matter::Request(claims), body, Arc::clone(&stream));
    match stream.beginning(PATIENCE).await {
        Beginning::Answer(line) => match stream.refusal() {
            Some(refusal) => refuse(endpoint, &once.client, &refusal, line),
            None => answer::json(modern::status(reply::error_code(&line, id)), line),
        },
        Beginning::Nothing => answer::empty(StatusCode::ACCEPTED),
        Beginning::Events => {
            // A call that began in time may finish.
            let events = Events::of(stream, 0).holding((once, open));
            answer::events(if claims.method == LISTEN { events.while_good(&caller.good) } else { events })
        }
    }
}

/// Returns the answer to a refused call. `line` is the message with the reason.
fn refuse(endpoint: &Endpoint, client: &Client, refusal: &Refusal, line: Bytes) -> Answer {
    match refusal {
        Refusal::Denied(denial) => endpoint.challenge.deny(&client.path(), client.issuer(), denial, line),
        Refusal::Exceeded(retry_after) => {
            answer::later(answer::json(StatusCode::TOO_MANY_REQUESTS, line), *retry_after)
        }
        Refusal::Unserved => answer::json(StatusCode::SERVICE_UNAVAILABLE, line),
    }
}

/// Writes an audit line for each message that is refused before it runs and would have had one.
async fn record_refused<'a>(
    endpoint: &Endpoint,
    caller: &Caller,
    messages: impl IntoIterator<Item = &'a Claims>,
) {
    let has_line = |method: &str| method == CALL || recorded(method).is_some();
    let requests = messages.into_iter().filter(|claims| claims.id().is_some() && has_line(&claims.method));
    let requests: Vec<_> = requests.map(|claims| (claims.method.clone(), claims.subject.clone())).collect();
    if requests.is_empty() {
        return;
    }
    let client = Client::new(caller, &endpoint.options.secret);
    let who = Arc::clone(&client.principal);
    // The first line opens files.
    let record = move |_: &_| {
        // The audit log writes lines while the ticker runs.
        let ticker = client.session.ticker();
        let _awake = ticker.begin();
        for (method, name) in &requests {
            client.session.refuse_unread(method, name.as_deref());
        }
    };
    if let Err(error) = endpoint.blocking.run(WaitsFor::Disk, &who, record).await {
        tracing::error!("a refused request is not recorded: {error}");
    }
}

/// Checks the arguments that a tool requires in headers too.
async fn check_arguments(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
    claims: &Claims,
    body: &Bytes,
) -> Result<(), (StatusCode, RpcError)> {
    let name = claims.subject.clone().filter(|_| claims.method == CALL);
    // Built-in tools require none.
    let Some(name) = name.filter(|name| caller.served.workspace.registry().get(name).is_none()) else {
        return Ok(());
    };
    let (workspace, headers, body) =
        (Arc::clone(&caller.served.workspace), headers.clone(), Bytes::clone(body));
    // Plugins are read from disk, and arguments can be long.
    let check = move |_: &_| match workspace.tool(&name) {
        Some(tool) => check_headers(&tool, &headers, &body),
        None => Ok(()),
    };
    let checked = endpoint.blocking.run(WaitsFor::Disk, &caller.principal.key(), check).await;
    let checked = checked.map_err(|error| answer::failed("the tool cannot be looked up", &error))?;
    checked.map_err(|error| (StatusCode::BAD_REQUEST, error))
}

/// Checks the headers of a call of this tool.
fn check_headers(tool: &Tool, headers: &HeaderMap, body: &[u8]) -> Result<(), RpcError> {
    let Kind::Plugin { definition, .. } = &tool.kind else { return Ok(()) };
    let schema = definition.input_schema.get();
    if !schema.contains(params::MARK) {
        return Ok(());
    }
    let unread = |_| RpcError::invalid_params("arguments cannot be read");
    let given = match rpc::Incoming::parse(body) {
        Ok(rpc::Incoming::Single(Message::Request { params, .. })) => {
            Params::new(params)?.raw_object("arguments")?
        }
        _ => None,
    };
    let given = given.as_deref().map(serde_json::from_str).transpose().map_err(unread)?;
    let schema = serde_json::from_str(schema).map_err(unread)?;
    params::check(headers, &schema, &given.unwrap_or_default())
}

/// The client of a single request, which ends when this is dropped.
struct Once {
    endpoint: Arc<Endpoint>,
    client: Arc<Client>,
    number: u64,
}

impl Once {
    fn begin(endpoint: &Arc<Endpoint>, caller: &Caller) -> Self {
        let client = Client::new(caller, &endpoint.options.secret);
        let number = endpoint.singles.add(Arc::clone(&client));
        Self { endpoint: Arc::clone(endpoint), client, number }
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        self.endpoint.singles.remove(self.number);
        self.client.end();
    }
}

/// Answers a message of a session.
async fn legacy_answer(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
    claims: &Claims,
    body: Body,
) -> Answer {
    let is_handshake = claims.method == "initialize" && claims.kind != claims::Kind::Notification;
    if is_handshake && !headers.contains_key(SESSION) {
        return initialized(endpoint, caller, claims, body).await;
    }
    // This comes before the session lookup, which asks the database and may fail.
    if claims.kind == claims::Kind::Notification
        && claims.method == passed::CANCEL
        && body.bytes.len() <= passed::MAX_CANCELLATION_BYTES
        && passed::cancelled_here(endpoint, caller, headers, &body.bytes)
    {
        return answer::empty(StatusCode::ACCEPTED);
    }
    let client = match client_of(endpoint, caller, headers).await {
        Ok(client) => client,
        Err((status, error)) => {
            record_refused(endpoint, caller, [claims]).await;
            return unfound(status, claims.id(), &error);
        }
    };
    if claims.kind == claims::Kind::Stray {
        return answer::refused(StatusCode::BAD_REQUEST, STRAY);
    }
    if claims.kind == claims::Kind::Response || claims.kind == claims::Kind::Notification {
        if let Err((status, error)) = passed::pass_on(endpoint, caller, headers, &body.bytes).await {
            return unfound(status, None, &error);
        }
        running::run(endpoint, client, &Matter::Word, body, Stream::passing());
        return answer::empty(StatusCode::ACCEPTED);
    }
    spoken(endpoint, client, Some(claims), body).await
}

/// Runs messages of a session. Answers at once or with a resumable stream.
async fn spoken(
    endpoint: &Arc<Endpoint>,
    client: Arc<Client>,
    claims: Option<&Claims>,
    body: Body,
) -> Answer {
    let is_request = claims.is_some_and(|claims| claims.id().is_some());
    let body = match running::reserve(endpoint, &client, claims, body).await {
        Ok(body) => body,
        Err(error) => {
            return answer::error(StatusCode::SERVICE_UNAVAILABLE, claims.and_then(Claims::id), &error);
        }
    };
    let (number, stream) = client.keep_stream();
    // Counts as a reader until the client disconnects or starts reading.
    let awaited = stream.awaited();
    let matter = claims.map_or(Matter::Batch, Matter::Request);
    running::run(endpoint, Arc::clone(&client), &matter, body, Arc::clone(&stream));
    match stream.beginning(PATIENCE).await {
        Beginning::Answer(line) => {
            client.forget_stream(number);
            // Calls in a batch are refused individually.
            match stream.refusal().filter(|_| is_request) {
                Some(refusal) => refuse(endpoint, &client, &refusal, line),
                None => answer::json(StatusCode::OK, line),
            }
        }
        Beginning::Nothing => {
            client.forget_stream(number);
            // The client cancelled the request and does not wait for an answer.
            let status = if is_request { StatusCode::OK } else { StatusCode::ACCEPTED };
            answer::empty(status)
        }
        Beginning::Events => {
            let revision = client.session.facts().revision;
            let announces = revision.is_some_and(|revision| revision.features().ends_streams);
            let request = claims.and_then(Claims::id).cloned();
            let answers = Some(request.map_or(Answers::Batch, Answers::Request));
            answer::events(Events::awaited(awaited).resumable(&Source { number, answers }, announces))
        }
    }
}

/// Answers the handshake and starts a session.
async fn initialized(endpoint: &Arc<Endpoint>, caller: &Caller, claims: &Claims, body: Body) -> Answer {
    let client = Client::new(caller, &endpoint.options.secret);
    let stream = Stream::passing();
    let bytes = body.bytes.clone();
    running::run(endpoint, Arc::clone(&client), &Matter::Word, body, Arc::clone(&stream));
    let Beginning::Answer(line) = stream.beginning(BODY_TIME).await else {
        let error = RpcError::internal("the handshake took too long");
        return answer::error(StatusCode::INTERNAL_SERVER_ERROR, claims.id(), &error);
    };
    let error = claims.id().and_then(|id| reply::error_code(&line, id));
    if let Some(code) = error {
        let is_busy = code == BUSY;
        let status = if is_busy { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::BAD_REQUEST };
        return answer::json(status, line);
    }
    let kept = {
        let (endpoint, caller, client) = (Arc::clone(endpoint), caller.clone(), Arc::clone(&client));
        move |bytes: &Bytes| session_id(&endpoint, &caller, &client, bytes)
    };
    let kept = endpoint.blocking.parse(&bytes, &caller.principal.key(), kept).await;
    let Some(id) = kept.ok().flatten().and_then(|id| id.parse().ok()) else {
        return answer::error(StatusCode::SERVICE_UNAVAILABLE, claims.id(), &too_many_sessions());
    };
    let mut answer = answer::json(StatusCode::OK, line);
    answer.headers_mut().insert(SESSION, id);
    answer
}

fn session_id(endpoint: &Endpoint, caller: &Caller, client: &Arc<Client>, body: &[u8]) -> Option<String> {
    let Ok(rpc::Incoming::Single(Message::Request { params, .. })) = rpc::Incoming::parse(body) else {
        return None;
    };
    let facts = client.session.facts();
    let can =
        Can { elicits: facts.elicits, samples: facts.samples, channel: facts.channel, roots: facts.roots };
    let handshake = Handshake::of(&Params::new(params).ok()?, facts.revision?.name(), &can, now());
    endpoint.sessions.keep(caller, client, &handshake)
}

/// Answers a batch of messages, which only one protocol revision has.
async fn batch(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
    members: &[Claims],
    body: Body,
) -> Answer {
    let refused = match client_of(endpoint, caller, headers).await {
        _ if modern::names_modern(headers) => answer::refused(StatusCode::BAD_REQUEST, ONE_AT_A_TIME),
        Ok(client) if client.session.takes_batches() => {
            if is_stray(members) {
                return answer::refused(StatusCode::BAD_REQUEST, STRAY);
            }
            match passed::pass_on(endpoint, caller, headers, &body.bytes).await {
                Ok(()) => return spoken(endpoint, client, None, body).await,
                Err((status, error)) => unfound(status, None, &error),
            }
        }
        Ok(_) => answer::refused(StatusCode::BAD_REQUEST, ONE_AT_A_TIME),
        Err((status, error)) => unfound(status, None, &error),
    };
    record_refused(endpoint, caller, members).await;
    refused
}

/// Returns `true` if a batch gets no answer and has a response that nobody asked for: 202 would say that the server took
/// it.
fn is_stray(members: &[Claims]) -> bool {
    members.iter().all(|claims| claims.id().is_none())
        && members.iter().any(|claims| claims.kind == claims::Kind::Stray)
}

/// Returns the claims of the members of a batch, as far as they can be parsed.
fn members(batch: &rpc::Batch<'_>) -> Vec<Claims> {
    let read = batch.0.iter().filter_map(|member| Message::parse(member.get()).ok());
    read.map(|message| Claims::of(message).unwrap_or_else(|unread| unread.claims)).collect()
}
