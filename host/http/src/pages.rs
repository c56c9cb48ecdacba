//! Pages for people, beside the endpoint: who may read them, and how they are sent. What is in them others know.
//!
//! A person shows the token once, to a form, and has a cookie from then on: the token, which the server alone can read there.
//! With each page it is looked at as if it were shown again, so that whatever ends the token, or what it is good for, ends the
//! cookie. Each server of several knows it. Who logs out ends it at all of them.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use scorpiox_access::{HttpPolicy, Principal, Who};
use scorpiox_rules::Sourced;
use scorpiox_seal::{Envelope, Secret};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::callers::{Known, PAUSE, Unknown};
use crate::ended::{Account, End, now};
use crate::endpoint::Endpoint;
use crate::listen::Load;
use crate::paper::{PLAIN, dressed, forgetting, html, left_unrecorded, moved, unknown, unrecorded};
use crate::visits::{self, Seen};
use scorpiox_http_bounds::WaitsFor;
use scorpiox_http_request::admission::only;
use scorpiox_http_request::session_id::Number;
use scorpiox_records::{Act, Refused};

/// Where all pages are.
pub(crate) const ROOT: &str = "/admin";
const LOGIN: &str = "/admin/login";
const LOGOUT: &str = "/admin/logout";
/// How long a cookie is good, in seconds.
const COOKIE_SECONDS: u64 = 8 * 60 * 60;
/// Largest form, and how long it may take to come: a JWT has some thousand bytes.
const MAX_FORM_BYTES: usize = 32 * 1024;
const FORM_TIME: Duration = Duration::from_secs(10);
/// Longest value of a cookie: browsers take 4096 bytes with its name.
const MAX_COOKIE_BYTES: usize = 4000;
/// Most cookies of the name that are looked at.
const MAX_COOKIES: usize = 4;

/// What a page is asked for with.
pub struct Asked<'a> {
    /// The path below that of all pages; empty for the first one.
    pub path: &'a str,
    /// What follows the question mark.
    pub query: &'a str,
    /// Who reads it.
    pub reader: &'a str,
    /// What the server has to do at this moment.
    pub load: &'a Load,
}

/// A page.
pub struct Page {
    /// Its status.
    pub status: u16,
    /// Its text.
    pub html: String,
}

/// What is in the pages.
pub trait Pages: Send + Sync {
    /// The page that asks who reads, and says why it asks again.
    fn login(&self, why: Option<&str>) -> String;
    /// How all look.
    fn style(&self) -> &'static str;
    /// A page, if there is one. May take its time.
    fn page(&self, asked: &Asked<'_>) -> Option<Page>;
}

/// Who hands pages out.
pub(crate) struct Desk {
    pages: Arc<dyn Pages>,
    policy: Sourced<Who>,
    envelope: Envelope,
    /// Whether the cookie is for encrypted connections alone.
    is_secure: bool,
    /// From where a form may come; from where the request goes to, if there is none.
    origin: Option<String>,
    scheme: &'static str,
}

/// What a cookie says.
#[derive(Serialize, Deserialize)]
struct Visit {
    token: String,
    until: u64,
    /// By which it is known when it has ended.
    number: Number,
}

/// A log-in that is not let in: the answer, and its line.
struct Rejected {
    status: StatusCode,
    kind: &'static str,
    why: String,
    /// The principal of the token, if it is a good one.
    who: Option<Arc<Principal>>,
}

/// A log-in that is let in.
struct Admitted {
    principal: Arc<Principal>,
    /// The value of its cookie.
    sealed: String,
    until: u64,
}

/// Returns the token of a form; an empty one where it has none.
async fn token_of(body: Incoming) -> Result<String, Rejected> {
    let read = timeout(FORM_TIME, Limited::new(body, MAX_FORM_BYTES).collect()).await;
    let Ok(Ok(form)) = read.map(|read| read.map(http_body_util::Collected::to_bytes)) else {
        let why = format!(
            "The form did not come in {} s, or is longer than {MAX_FORM_BYTES} bytes.",
            FORM_TIME.as_secs()
        );
        return Err(Rejected { status: StatusCode::BAD_REQUEST, kind: visits::BAD_FORM, why, who: None });
    };
    let token = url::form_urlencoded::parse(&form).find(|(name, _)| name == "token");
    Ok(token.map(|(_, token)| token.trim().to_owned()).unwrap_or_default())
}

impl Desk {
    /// As the policy says.
    pub(crate) fn new(
        pages: Arc<dyn Pages>,
        policy: &Sourced<Who>,
        http: &HttpPolicy,
        secret: &Secret,
    ) -> io::Result<Self> {
        let url = http.url.as_ref().and_then(|url| url::Url::parse(&url.value).ok());
        let is_secure = http.tls.is_some() || url.as_ref().is_some_and(|url| url.scheme() == "https");
        let envelope =
            Envelope::of(secret, "pages").ok_or_else(|| io::Error::other("there is no key for cookies"))?;
        let origin = url.map(|url| url.origin().ascii_serialization());
        let scheme = if http.tls.is_some() { "https" } else { "http" };
        Ok(Self { pages, policy: policy.clone(), envelope, is_secure, origin, scheme })
    }

    /// Whether a path is one of a page.
    pub(crate) fn has(path: &str) -> bool {
        path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Answers a request that was admitted.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        endpoint: &Arc<Endpoint>,
        parts: &Parts,
        body: Incoming,
        peer: IpAddr,
    ) -> Answer {
        let path = parts.uri.path().strip_prefix(ROOT).unwrap_or_default();
        match (&parts.method, path) {
            (&Method::GET, "/style.css") => {
                dressed(answer::text(StatusCode::OK, "text/css; charset=utf-8", self.pages.style()))
            }
            (&Method::GET, "/login") => self.asks(StatusCode::OK, None),
            (&Method::POST, "/login" | "/logout") => match self.strange(&parts.headers) {
                Some(why) => {
                    let act = if path == "/login" { Act::LogIn } else { Act::LogOut };
                    let refused = Refused { kind: visits::FORBIDDEN, why: &why };
                    endpoint.refused(Seen { act, from: peer, path: parts.uri.path() }, None, refused, None);
                    self.asks(StatusCode::FORBIDDEN, Some(&why))
                }
                None if path == "/login" => self.login(endpoint, body, peer).await,
                None => self.leave(endpoint, &parts.headers, peer).await,
            },
            (&Method::GET, _) => self.page(endpoint, parts, path, peer).await,
            _ => {
                let mut refused =
                    answer::text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "pages are read with GET\n");
                refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
                dressed(refused)
            }
        }
    }

    /// Returns why a form is taken for one of another page; none where it comes from these pages. A browser says where each
    /// comes from.
    fn strange(&self, headers: &HeaderMap) -> Option<String> {
        let asked = || Some(format!("{}://{}", self.scheme, only(headers, &header::HOST)?));
        let own = self.origin.clone().or_else(asked).unwrap_or_default();
        match only(headers, &header::ORIGIN) {
            Some(from) if from == own => None,
            Some(from) => {
                Some(format!("The form came from {from}, and these pages are at {own}: log in there."))
            }
            None => Some(format!("The form does not say by `Origin` that it came from {own}: log in there.")),
        }
    }

    async fn page(
        self: &Arc<Self>,
        endpoint: &Arc<Endpoint>,
        parts: &Parts,
        path: &str,
        peer: IpAddr,
    ) -> Answer {
        let reader = match self.reader(endpoint, &parts.headers).await {
            Ok(Some(reader)) => reader,
            Ok(None) => return moved(LOGIN, None),
            Err(error) => return unknown(&error),
        };
        let read = (Act::Page, peer, parts.uri.path().to_owned());
        if let Err(error) = endpoint.did(read, Some(Arc::clone(&reader)), Some(self.rule())).await {
            return unrecorded(&error);
        }
        let (desk, load) = (Arc::clone(self), endpoint.load());
        let (path, query) =
            (path.trim_end_matches('/').to_owned(), parts.uri.query().unwrap_or_default().to_owned());
        let who = reader.key();
        let make = move |_: &_| {
            desk.pages.page(&Asked { path: &path, query: &query, reader: &reader.name, load: &load })
        };
        match endpoint.blocking.run(WaitsFor::Database, &who, make).await {
            Ok(Some(page)) => html(page),
            Ok(None) => dressed(answer::text(StatusCode::NOT_FOUND, PLAIN, "there is no such page\n")),
            Err(error) => {
                tracing::error!("a page cannot be made: {error}");
                let status = answer::status_of(&error);
                dressed(answer::text(status, PLAIN, "the page cannot be made now; load it again later\n"))
            }
        }
    }

    /// Returns the visits that cookies stand for: this server, or another with its secret, gave them, and they are not over. Another program of this
    /// machine may have put one of the name there.
    fn visits(&self, headers: &HeaderMap) -> Vec<Visit> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let named =
            cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        let closed = named.filter(|(name, _)| *name == self.cookie()).take(MAX_COOKIES);
        let opened = closed.filter_map(|(_, closed)| self.envelope.open(closed));
        let visits = opened.filter_map(|visit| serde_json::from_slice::<Visit>(&visit).ok());
        visits.filter(|visit| visit.until > now()).collect()
    }

    /// Returns the reader that a cookie stands for: its token is still good, and good for this. Fails where nobody can say whether
    /// the log-in has ended.
    async fn reader(
        &self,
        endpoint: &Arc<Endpoint>,
        headers: &HeaderMap,
    ) -> io::Result<Option<Arc<Principal>>> {
        let mut failed = None;
        for Visit { token, number, .. } in self.visits(headers) {
            let known = match endpoint.callers.known_by(&token) {
                Some(known) => known,
                None => match endpoint.callers.identify(&token).await {
                    Ok(known) => known,
                    Err(_) => continue,
                },
            };
            if known.until.is_some_and(|until| until <= now()) || !self.policy.value.admits(&known.principal)
            {
                continue;
            }
            match endpoint.has_ended(&known.principal.key(), number).await {
                Ok(true) => {}
                Ok(false) => return Ok(Some(known.principal)),
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(None), Err)
    }

    /// Looks at what the form has, and gives a cookie to who may read. Each form that it refuses leaves a line.
    async fn login(&self, endpoint: &Endpoint, body: Incoming, peer: IpAddr) -> Answer {
        let admitted = match self.admitted(endpoint, body, peer).await {
            Ok(admitted) => admitted,
            Err(Rejected { status, kind, why, who }) => {
                tracing::info!("{peer} does not get the pages of {ROOT}: {why}");
                let rule = (kind == visits::POLICY).then(|| self.rule());
                let seen = Seen { act: Act::LogIn, from: peer, path: LOGIN };
                endpoint.refused(seen, who.as_deref(), Refused { kind, why: &why }, rule.as_deref());
                return self.asks(status, Some(&why));
            }
        };
        let Admitted { principal, sealed, until } = admitted;
        let entered = (Act::LogIn, peer, LOGIN.to_owned());
        if let Err(error) = endpoint.did(entered, Some(Arc::clone(&principal)), Some(self.rule())).await {
            return unrecorded(&error);
        }
        tracing::info!("{peer} reads the pages of {ROOT} as {}", principal.name);
        moved(ROOT, Some(&self.set_cookie(&sealed, until.saturating_sub(now()))))
    }

    async fn admitted(
        &self,
        endpoint: &Endpoint,
        body: Incoming,
        peer: IpAddr,
    ) -> Result<Admitted, Rejected> {
        let token = token_of(body).await?;
        let Known { principal, until } = self.identified(endpoint, &token, peer).await?;
        let reject =
            |status, kind, why: String| Rejected { status, kind, why, who: Some(Arc::clone(&principal)) };
        if !self.policy.value.admits(&principal) {
            let why = format!(
                "{} may not read these pages: [http.admin] ({}) says who may.",
                principal.name, self.policy.source
            );
            return Err(reject(StatusCode::FORBIDDEN, visits::POLICY, why));
        }
        let until = until.unwrap_or(u64::MAX).min(now() + COOKIE_SECONDS);
        // What it ends of its sessions leaves room for what it ends here.
        let number = endpoint.sessions.numbers().give(Account::Pages, &principal.key());
        let visit = number.and_then(|number| serde_json::to_vec(&Visit { token, until, number }).ok());
        let Some(sealed) = visit.and_then(|visit| self.envelope.close(&visit)) else {
            let why = "The system gives no random numbers.".to_owned();
            return Err(reject(StatusCode::INTERNAL_SERVER_ERROR, visits::NO_COOKIE, why));
        };
        if sealed.len() > MAX_COOKIE_BYTES {
            let why = "This token is too long for a cookie.".to_owned();
            return Err(reject(StatusCode::BAD_REQUEST, visits::LONG_TOKEN, why));
        }
        Ok(Admitted { principal, sealed, until })
    }

    /// Whose a token is. Tries that fail are bounded, as they are at the endpoint.
    async fn identified(&self, endpoint: &Endpoint, token: &str, peer: IpAddr) -> Result<Known, Rejected> {
        let refuse =
            |status, unknown: &Unknown, why| Rejected { status, kind: visits::kind(unknown), why, who: None };
        if token.is_empty() {
            return Err(refuse(StatusCode::UNAUTHORIZED, &Unknown::Missing, "A token is needed.".to_owned()));
        }
        if let Some(known) = endpoint.callers.known_by(token) {
            return Ok(known);
        }
        if !endpoint.peers.may_try(peer) {
            let why = format!("Too many tokens from here were not good. Try again in {} s.", PAUSE.as_secs());
            let status = StatusCode::TOO_MANY_REQUESTS;
            return Err(Rejected { status, kind: visits::TOO_MANY, why, who: None });
        }
        endpoint.callers.identify(token).await.map_err(|unknown| {
            if unknown == Unknown::Unavailable {
                let why = format!("Nobody can be let in: {unknown}.");
                return refuse(StatusCode::SERVICE_UNAVAILABLE, &unknown, why);
            }
            endpoint.peers.refused(peer);
            refuse(StatusCode::UNAUTHORIZED, &unknown, "This token is not good here.".to_owned())
        })
    }

    fn asks(&self, status: StatusCode, why: Option<&str>) -> Answer {
        html(Page { status: status.as_u16(), html: self.pages.login(why) })
    }

    /// Ends each log-in that the browser has, also where nobody can say at this moment whether its token is good.
    async fn leave(&self, endpoint: &Arc<Endpoint>, headers: &HeaderMap, peer: IpAddr) -> Answer {
        let visits = self.visits(headers);
        let forgets = self.set_cookie("", 0);
        if visits.is_empty() {
            return moved(LOGIN, Some(&forgets));
        }
        // Whoever it is, it ends.
        let reader = self.reader(endpoint, headers).await.ok().flatten();
        let shared = Arc::clone(endpoint);
        let who = reader.as_deref().map(Principal::key).unwrap_or_default();
        let end = move |may_block: &_| {
            let ended = visits.iter().map(|visit| shared.sessions.shared().end(visit.number, may_block));
            ended.collect::<io::Result<Vec<_>>>()
        };
        let ended = endpoint.blocking.run(WaitsFor::Database, &who, end).await.flatten();
        let (status, kind, why) = match ended {
            Ok(ends) if !ends.contains(&End::TooMany) => {
                return match endpoint.did((Act::LogOut, peer, LOGOUT.to_owned()), reader, None).await {
                    Ok(()) => moved(LOGIN, Some(&forgets)),
                    Err(error) => left_unrecorded(&error, &forgets),
                };
            }
            Ok(_) => (
                StatusCode::TOO_MANY_REQUESTS,
                "too-many",
                "This browser has forgotten the log-in, but the server could not end it: too many were ended in the \
                 last 30 days. Whoever copied the cookie can use it for up to 8 hours; take the token back to end it now.",
            ),
            Err(error) => {
                tracing::error!("a log-in cannot be ended: {error}");
                let why = "You are not logged out: that could not be written. Try again.";
                (StatusCode::SERVICE_UNAVAILABLE, "not-written", why)
            }
        };
        let seen = Seen { act: Act::LogOut, from: peer, path: LOGOUT };
        endpoint.refused(seen, reader.as_deref(), Refused { kind, why }, None);
        let refused = self.asks(status, Some(why));
        // To try again would not help.
        if status == StatusCode::TOO_MANY_REQUESTS { forgetting(refused, &forgets) } else { refused }
    }

    /// The rule that says who may read.
    fn rule(&self) -> String {
        self.policy.source.to_string()
    }

    /// A browser takes one with this beginning over an encrypted connection alone, from this host alone.
    fn cookie(&self) -> &'static str {
        if self.is_secure { "__Host-scorpiox-admin" } else { "scorpiox-admin" }
    }

    fn set_cookie(&self, value: &str, seconds: u64) -> String {
        // The name wants all paths; without it, other programs of this machine are not sent more than they have to be.
        let place = if self.is_secure { "Path=/; Secure" } else { "Path=/admin" };
        format!("{}={value}; {place}; Max-Age={seconds}; HttpOnly; SameSite=Strict", self.cookie())
    }
}
