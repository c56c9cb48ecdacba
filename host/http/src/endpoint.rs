//! What all connections share, and the way of a request through its checks to its answer.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, StatusCode};
use parking_lot::Mutex;
use scorpiox_seal::Secret;
use tokio::sync::Semaphore;

use crate::answer::{self, Answer};
use crate::callers::{Callers, Known, Shown, Unknown};
use crate::challenge::{self, Challenge};
use crate::cors;
use crate::kept::KeptAnswers;
use crate::listen::{Load, MAX_CONNECTIONS};
use crate::lookups::Lookups;
use crate::pages::Desk;
use crate::passed::Passing;
use crate::served::{AllServed, Caller, NoWorkspace, name_in};
use crate::sessions::{Client, Sessions};
use crate::stream::Stream;
use crate::visits::{self, Seen};
use crate::{end, get, post};
use scorpiox_http_bounds::{Blocking, Peers, Places, Room};
use scorpiox_http_request::admission::{self, Doors, Pages};
use scorpiox_records::{Act, Refused};

/// The path of the endpoint of the workspace that the server was started for, and the end of those of others.
pub(crate) const PATH: &str = "/mcp";

/// Reads where a server is to listen.
///
/// # Errors
///
/// A sentence that says what is to be written.
pub fn listening_address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "write an IP address and a port, such as 127.0.0.1:7300, or [::1]:7300".to_owned())
}

/// The address of a server, as clients are given it.
pub fn url(address: SocketAddr, is_secure: bool) -> String {
    format!("{}://{address}{PATH}", if is_secure { "https" } else { "http" })
}

/// How the server is to be reached.
pub(crate) struct Options {
    /// What ids and states are sealed with.
    pub(crate) secret: Secret,
    pub(crate) doors: Doors,
}

/// What all connections share.
pub(crate) struct Endpoint {
    pub(crate) options: Options,
    pub(crate) served: AllServed,
    pub(crate) callers: Callers,
    pub(crate) challenge: Challenge,
    pub(crate) peers: Peers,
    pub(crate) sessions: Sessions,
    /// Where calls run.
    pub(crate) places: Arc<Places>,
    /// Where bodies are held.
    pub(crate) room: Room,
    /// Answers that stay.
    pub(crate) kept: Arc<KeptAnswers>,
    /// What stays open until its client goes.
    pub(crate) subscriptions: Mutex<Vec<(Weak<Client>, Arc<Stream>)>>,
    /// The threads for work that may block.
    pub(crate) blocking: Arc<Blocking>,
    /// Look-ups of sessions that run.
    pub(crate) lookups: Lookups,
    /// How many requests were answered with which status.
    pub(crate) answered: Mutex<BTreeMap<u16, u64>>,
    /// Pages for people, where the policy wants them.
    pub(crate) desk: Option<Arc<Desk>>,
    /// Messages that are passed on to other servers.
    pub(crate) passing: Passing,
    /// Room for connections.
    pub(crate) connections: Arc<Semaphore>,
}

impl Endpoint {
    /// Takes a request that came from a peer through its checks, to its answer.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>, peer: IpAddr) -> Answer {
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
            // Without a page there is nobody who asks.
            if origin.is_some() { cors::preflight(&parts.headers) } else { not_allowed() }
        } else if is_endpoint {
            self.admitted(&parts, body, peer).await
        } else {
            self.challenge.metadata(&parts.method, path).unwrap_or_else(not_here)
        };
        cors::let_read(&mut answer, origin);
        answer
    }

    async fn admitted(self: &Arc<Self>, parts: &Parts, body: Incoming, peer: IpAddr) -> Answer {
        let (path, headers) = (parts.uri.path(), &parts.headers);
        let Known { principal, until } = match self.known(headers, path, peer).await {
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
        let caller = Caller { principal, until, served };
        match parts.method {
            Method::POST => post::answer(self, &caller, headers, body).await,
            Method::GET => get::answer(self, &caller, headers).await,
            _ => end::answer(self, &caller, headers).await,
        }
    }

    /// Who sends a request. Nothing that others of its address showed is held against a token that is good.
    async fn known(&self, headers: &HeaderMap, path: &str, peer: IpAddr) -> Result<Known, Answer> {
        let found = match self.callers.shown(headers) {
            Shown::Known(known) => return Ok(known),
            Shown::Token(token) => self.callers.identify(token).await,
            Shown::Nothing => Err(Unknown::Missing),
        };
        found.map_err(|unknown| {
            let seen = Seen { act: Act::Request, from: peer, path };
            if matches!(unknown, Unknown::NotGood(_)) {
                if !self.peers.may_try(peer) {
                    let why = "too many of its tokens were not good";
                    tracing::info!("{peer} has to wait: {why}");
                    self.refused(seen, None, Refused { kind: visits::TOO_MANY, why }, None);
                    return challenge::too_many();
                }
                self.peers.refused(peer);
            }
            tracing::info!("{peer} is not let in: {unknown}");
            let refused = Refused { kind: visits::kind(&unknown), why: &unknown.to_string() };
            self.refused(seen, None, refused, None);
            self.challenge.refuse(path, &unknown)
        })
    }
}

impl Endpoint {
    /// What there is to do at this moment, and what was done.
    pub(crate) fn load(&self) -> Load {
        let ([running, waiting], of) = self.places.load();
        Load {
            connections: MAX_CONNECTIONS - self.connections.available_permits(),
            sessions: self.sessions.all().len(),
            running,
            waiting,
            of,
            answered: self.answered.lock().clone(),
        }
    }

    /// A subscription begins, which is answered when the server ends.
    pub(crate) fn subscribed(&self, client: &Arc<Client>, stream: &Arc<Stream>) {
        let mut open = self.subscriptions.lock();
        open.retain(|(client, _)| client.strong_count() > 0);
        open.push((Arc::downgrade(client), Arc::clone(stream)));
    }

    /// Answers all subscriptions, and ends what sessions are told unasked.
    pub(crate) fn end_listening(&self) {
        let open = std::mem::take(&mut *self.subscriptions.lock());
        for (client, stream) in open {
            client.upgrade().into_iter().for_each(|client| client.session.end());
            stream.end(None);
        }
        self.sessions.all().iter().for_each(|client| client.notices.end(None));
    }
}

/// There is nothing, or nothing for who asks.
fn not_here() -> Answer {
    answer::refused(
        StatusCode::NOT_FOUND,
        "the endpoint is /mcp, and /w/NAME/mcp for a workspace of that name that you may work in",
    )
}

/// There is no such method, or not in the revision that the client speaks.
pub(crate) fn not_allowed() -> Answer {
    let mut refused = answer::refused(StatusCode::METHOD_NOT_ALLOWED, "messages are sent by POST");
    refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    refused
}
