//! State shared by all connections, and the path of a request through its checks to its answer.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, StatusCode};
use parking_lot::Mutex;
use scorpiox_exchange::seal::Secret;
use tokio::sync::Semaphore;

use crate::answer::{self, Answer};
use crate::bounds::{Blocking, Peers, Places, Room, Streams};
use crate::callers::{Callers, Known, Shown, Unknown};
use crate::challenge::{self, Challenge};
use crate::cors;
use crate::kept::KeptAnswers;
use crate::listen::Load;
use crate::lookups::Lookups;
use crate::pages::Desk;
use crate::passed::Passing;
use crate::request::admission::{self, Doors, Pages};
use crate::served::{AllServed, Caller, NoWorkspace, name_in};
use crate::sessions::{Client, Sessions};
use crate::stream::Stream;
use crate::unread::RequestBody;
use crate::visits::{self, Seen};
use crate::{end, get, post, revoked};
use scorpiox_metering::records::{Act, Refused};

/// Path of the default workspace's endpoint, and suffix of the other endpoints' paths.
pub(crate) const PATH: &str = "/mcp";

/// Parses the address to listen on.
///
/// # Errors
///
/// Returns a sentence that says what to write.
pub fn listening_address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "write an IP address and a port, such as 127.0.0.1:7300, or [::1]:7300".to_owned())
}

/// Returns the URL of a server for clients.
pub fn url(address: SocketAddr, is_secure: bool) -> String {
    format!("{}://{address}{PATH}", if is_secure { "https" } else { "http" })
}

/// Settings for reaching the server.
pub(crate) struct Options {
    /// Secret that seals IDs and states.
    pub(crate) secret: Secret,
    pub(crate) doors: Doors,
}

/// Clients of single requests that have not ended.
#[derive(Default)]
pub(crate) struct Singles(Mutex<HashMap<u64, Arc<Client>>>);

impl Singles {
    /// Adds a client until [`remove`](Self::remove).
    pub(crate) fn add(&self, client: Arc<Client>) -> u64 {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        self.0.lock().insert(number, client);
        number
    }

    pub(crate) fn remove(&self, number: u64) {
        let removed = self.0.lock().remove(&number);
        drop(removed);
    }

    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.0.lock().values().cloned().collect()
    }
}

/// State shared by all connections.
pub(crate) struct Endpoint {
    pub(crate) options: Options,
    pub(crate) served: AllServed,
    pub(crate) callers: Callers,
    pub(crate) challenge: Challenge,
    pub(crate) peers: Peers,
    pub(crate) sessions: Sessions,
    /// Slots for running calls.
    pub(crate) places: Arc<Places>,
    /// Memory budget for request bodies.
    pub(crate) room: Room,
    /// Memory budget for answers until they are sent.
    pub(crate) unsent: Room,
    /// Streams that stay open.
    pub(crate) streams: Arc<Streams>,
    /// Retained answers.
    pub(crate) kept: Arc<KeptAnswers>,
    /// Clients of single requests, by number.
    pub(crate) singles: Singles,
    /// Subscriptions, which stay open until their client disconnects.
    pub(crate) subscriptions: Mutex<Vec<(Weak<Client>, Arc<Stream>)>>,
    /// Threads for blocking work.
    pub(crate) blocking: Arc<Blocking>,
    /// Running session lookups.
    pub(crate) lookups: Lookups,
    /// Number of answered requests by status code.
    pub(crate) answered: Mutex<BTreeMap<u16, u64>>,
    /// Pages for people, if the policy enables them.
    pub(crate) desk: Option<Arc<Desk>>,
    /// Limits on messages passed on to other servers.
    pub(crate) passing: Passing,
    /// Permits for connections.
    pub(crate) connections: Arc<Semaphore>,
    /// Number of permits.
    pub(crate) most_connections: usize,
}

impl Endpoint {
    /// Checks a request of a peer and returns its answer.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<RequestBody>, peer: IpAddr) -> Answer {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        let is_endpoint = name_in(path).is_some();
        let desk = self.desk.as_ref().filter(|_| Desk::has(path));
        if !is_endpoint && desk.is_none() && !Challenge::is_well_known(path) {
            return not_here();
        }
        if is_endpoint
            && ![Method::POST, Method::GET, Method::DELETE, Method::OPTIONS].contains(&parts.method)
        {
            return not_allowed();
        }
        let doors = &self.options.doors;
        let pages = if desk.is_some() { Pages::Own } else { Pages::Callers };
        let admitted = admission::admit(&parts, doors, pages)
            .and_then(|origin| Ok((origin, admission::peer(&parts.headers, peer, doors)?)));
        let (origin, peer) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => {
                tracing::info!("a request from {peer} is refused: {}", refusal.why);
                if refusal.status == StatusCode::FORBIDDEN {
                    let from = admission::peer(&parts.headers, peer, doors).unwrap_or(peer);
                    let refused = Refused { kind: visits::FORBIDDEN, why: &refusal.why };
                    self.refused(Seen { act: Act::Request, from, path }, None, refused, None);
                }
                return answer::refusal(&refusal);
            }
        };
        if let Some(desk) = desk {
            return desk.answer(&self, &parts, body, peer).await;
        }
        let mut answer = if parts.method == Method::OPTIONS {
            // A preflight request always has an origin.
            if origin.is_some() { cors::preflight(&parts.headers) } else { not_allowed() }
        } else if is_endpoint {
            self.admitted(&parts, body, peer).await
        } else {
            self.challenge.metadata(&parts.method, path).unwrap_or_else(not_here)
        };
        cors::let_read(&mut answer, origin);
        answer
    }

    async fn admitted(self: &Arc<Self>, parts: &Parts, body: RequestBody, peer: IpAddr) -> Answer {
        let (path, headers) = (parts.uri.path(), &parts.headers);
        let Known { principal, good } = match self.known(headers, path, peer).await {
            Ok(known) => known,
            Err(refused) => return refused,
        };
        let served = match self.served.at(path, &principal) {
            Ok(served) => served,
            Err(NoWorkspace { why, rule }) => {
                tracing::info!("{} of {peer} asks for {path}, which is not there for it", principal.name);
                let (seen, rule) =
                    (Seen { act: Act::Request, from: peer, path }, rule.map(|rule| rule.to_string()));
                let refused = Refused { kind: visits::NO_WORKSPACE, why: &why };
                self.refused(seen, Some(&principal), refused, rule.as_deref());
                return not_here();
            }
        };
        let caller = Caller { principal, good, served };
        // A body can arrive long after its head.
        let body = match parts.method {
            Method::POST => match post::body(self, &caller, headers, body).await {
                Ok(body) => Some(body),
                Err(refused) => return refused,
            },
            _ => None,
        };
        if self.is_closed_to(&caller, peer, path).await {
            return answer::refused(StatusCode::SERVICE_UNAVAILABLE, revoked::WHY);
        }
        if let Some(body) = body {
            return post::answer(self, &caller, headers, body).await;
        }
        match parts.method {
            Method::GET => get::answer(self, &caller, headers).await,
            _ => end::answer(self, &caller, headers).await,
        }
    }

    /// Authenticates a request. A valid token is accepted even if its address sent invalid tokens before.
    async fn known(&self, headers: &HeaderMap, path: &str, peer: IpAddr) -> Result<Known, Answer> {
        let found = match self.callers.shown(headers) {
            Shown::Known(known) => return Ok(known),
            Shown::Token(token) => self.callers.identify(token).await,
            Shown::Nothing => Err(Unknown::Missing),
        };
        found.map_err(|unknown| {
            let seen = Seen { act: Act::Request, from: peer, path };
            if matches!(unknown, Unknown::NotGood(_)) && !self.peers.may_fail(peer) {
                let why = "too many of its tokens were not good";
                tracing::info!("{peer} has to wait: {why}");
                self.refused(seen, None, Refused { kind: visits::TOO_MANY, why }, None);
                return challenge::too_many();
            }
            tracing::info!("{peer} is not let in: {unknown}");
            let refused = Refused { kind: visits::kind(&unknown), why: &unknown.to_string() };
            self.refused(seen, None, refused, None);
            self.challenge.refuse(path, &unknown)
        })
    }
}

impl Endpoint {
    /// Returns the current load and the counters.
    pub(crate) fn load(&self) -> Load {
        let ([running, waiting], of) = self.places.load();
        Load {
            connections: self.most_connections - self.connections.available_permits(),
            sessions: self.sessions.all().len(),
            running,
            waiting,
            of,
            answered: self.answered.lock().clone(),
        }
    }

    /// Registers a subscription, which is answered when the server shuts down.
    pub(crate) fn subscribed(&self, client: &Arc<Client>, stream: &Arc<Stream>) {
        let mut open = self.subscriptions.lock();
        open.retain(|(client, _)| client.strong_count() > 0);
        open.push((Arc::downgrade(client), Arc::clone(stream)));
    }

    /// Answers the subscriptions of clients, and ends them.
    pub(crate) fn end_subscriptions(&self, is_ended: impl Fn(&Client) -> bool) {
        let open = std::mem::take(&mut *self.subscriptions.lock());
        for (weak, stream) in open {
            let client = weak.upgrade();
            if client.as_deref().is_some_and(|client| !is_ended(client)) {
                self.subscriptions.lock().push((weak, stream));
                continue;
            }
            if let Some(client) = client {
                client.session.end();
            }
            stream.end(None);
        }
    }

    /// Answers all subscriptions and ends the notification streams of all sessions.
    pub(crate) fn end_listening(&self) {
        self.end_subscriptions(|_| true);
        self.sessions.all().iter().for_each(|client| client.notices.end(None));
    }
}

/// Returns the answer for a path that does not exist, or not for this caller.
fn not_here() -> Answer {
    answer::refused(
        StatusCode::NOT_FOUND,
        "the endpoint is /mcp, and /w/NAME/mcp for a workspace of that name that you may work in",
    )
}

/// Returns the answer for a method that does not exist, or not in the client's protocol revision.
pub(crate) fn not_allowed() -> Answer {
    let mut refused = answer::refused(StatusCode::METHOD_NOT_ALLOWED, "messages are sent by POST");
    refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    refused
}
