//! What all connections share, and the way of a request through its checks to its answer.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, StatusCode};
use parking_lot::Mutex;
use scorpiox_seal::{Seal, Secret};
use scorpiox_server::Workspace;
use tokio::runtime::Handle;

use crate::access::Access;
use crate::admission;
use crate::answer::{self, Answer};
use crate::ended::Ended;
use crate::places::{Places, Room};
use crate::sessions::{Client, Sessions};
use crate::stream::Stream;
use crate::{end, get, post};

/// The path of the one endpoint.
const PATH: &str = "/mcp";

/// The address of a server, as clients are given it.
pub fn url(address: SocketAddr) -> String {
    format!("http://{address}{PATH}")
}

/// How the server is to be reached.
pub(crate) struct Options {
    /// What clients have to show; none where everybody may call.
    pub(crate) access: Option<Access>,
    /// What ids and states are sealed with.
    pub(crate) secret: Secret,
    /// The names that the server may be asked as, without ports.
    pub(crate) hosts: Vec<String>,
    /// The pages that may call it from a browser.
    pub(crate) origins: Vec<String>,
}

impl Options {
    /// A server of this machine alone, on a port.
    pub(crate) fn on_loopback(access: Option<Access>, secret: Secret, port: u16) -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let origins = hosts.each_ref().map(|host| format!("http://{host}:{port}"));
        Self { access, secret, hosts: hosts.into(), origins: origins.into() }
    }
}

/// What all connections share.
pub(crate) struct Endpoint {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) options: Options,
    pub(crate) sessions: Sessions,
    /// Seals the states of requests without a session.
    pub(crate) states: Arc<Seal>,
    /// Where calls run.
    pub(crate) places: Places,
    /// Where bodies are held.
    pub(crate) room: Room,
    /// What stays open until its client goes.
    pub(crate) subscriptions: Mutex<Vec<(Weak<Client>, Arc<Stream>)>>,
    pub(crate) handle: Handle,
}

impl Endpoint {
    pub(crate) fn new(workspace: Arc<Workspace>, handle: Handle, options: Options, ended: Ended) -> Self {
        Self {
            sessions: Sessions::new(Seal::of(&options.secret, "sessions"), ended),
            states: Arc::new(Seal::of(&options.secret, "states")),
            places: Places::default(),
            room: Room::new(),
            subscriptions: Mutex::default(),
            workspace,
            options,
            handle,
        }
    }

    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        if parts.uri.path() != PATH {
            return answer::refused(StatusCode::NOT_FOUND, &format!("the endpoint is {PATH}"));
        }
        if ![Method::POST, Method::GET, Method::DELETE].contains(&parts.method) {
            return not_allowed();
        }
        if let Err(refused) = admission::admit(&parts, &self.options) {
            return refused;
        }
        match parts.method {
            Method::POST => post::answer(&self, &parts.headers, body).await,
            Method::GET => get::answer(&self, &parts.headers).await,
            _ => end::answer(&self, &parts.headers).await,
        }
    }
}

impl Endpoint {
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

/// There is no such method, or not in the revision that the client speaks.
pub(crate) fn not_allowed() -> Answer {
    let mut refused = answer::refused(StatusCode::METHOD_NOT_ALLOWED, "messages are sent by POST");
    refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    refused
}
