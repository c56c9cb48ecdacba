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
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use scorpiox_access::{HttpPolicy, Principal, Who};
use scorpiox_rules::Sourced;
use scorpiox_seal::{Envelope, Secret};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::callers::{Known, PAUSE, Unknown};
use crate::ended::now;
use crate::endpoint::Endpoint;
use crate::listen::Load;
use crate::sessions::number_for;
use scorpiox_http_request::admission::only;
use scorpiox_http_request::session_id::Number;

/// Where all pages are.
pub(crate) const ROOT: &str = "/admin";
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
            (&Method::POST, "/login" | "/logout") if !self.is_own(&parts.headers) => {
                self.asks(StatusCode::FORBIDDEN, Some("The form came from another page. Log in here."))
            }
            (&Method::POST, "/login") => self.login(endpoint, body, peer).await,
            (&Method::POST, "/logout") => self.leave(endpoint, &parts.headers).await,
            (&Method::GET, _) => self.page(endpoint, parts, path).await,
            _ => {
                let mut refused =
                    answer::text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "pages are read with GET\n");
                refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
                dressed(refused)
            }
        }
    }

    /// Whether a form comes from one of these pages. A browser says where each comes from.
    fn is_own(&self, headers: &HeaderMap) -> bool {
        let asked = only(headers, &header::HOST).map(|host| format!("{}://{host}", self.scheme));
        let own = self.origin.clone().or(asked);
        own.is_some_and(|own| only(headers, &header::ORIGIN) == Some(own.as_str()))
    }

    async fn page(self: &Arc<Self>, endpoint: &Arc<Endpoint>, parts: &Parts, path: &str) -> Answer {
        let Some((reader, _)) = self.reader(endpoint, &parts.headers).await else {
            return moved(&format!("{ROOT}/login"), None);
        };
        let (desk, load) = (Arc::clone(self), endpoint.load());
        let (path, query) =
            (path.trim_end_matches('/').to_owned(), parts.uri.query().unwrap_or_default().to_owned());
        let made = endpoint.handle.spawn_blocking(move || {
            desk.pages.page(&Asked { path: &path, query: &query, reader: &reader.name, load: &load })
        });
        match made.await {
            Ok(Some(page)) => html(page),
            Ok(None) => dressed(answer::text(StatusCode::NOT_FOUND, PLAIN, "there is no such page\n")),
            Err(error) => {
                tracing::error!("a page cannot be made: {error}");
                dressed(answer::text(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, "the page cannot be made\n"))
            }
        }
    }

    /// Who reads, by a cookie: its token is still good, and good for this.
    async fn reader(&self, endpoint: &Endpoint, headers: &HeaderMap) -> Option<(Arc<Principal>, Number)> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let named =
            cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        // Another program of this machine may have put one of the name there.
        for (_, closed) in named.filter(|(name, _)| *name == self.cookie()).take(MAX_COOKIES) {
            let visit =
                self.envelope.open(closed).and_then(|visit| serde_json::from_slice::<Visit>(&visit).ok());
            let Some(Visit { token, number, .. }) = visit.filter(|visit| visit.until > now()) else {
                continue;
            };
            let known = match endpoint.callers.known_by(&token) {
                Some(known) => known,
                None => match endpoint.callers.identify(&token).await {
                    Ok(known) => known,
                    Err(_) => continue,
                },
            };
            // Where nobody can say whether it has ended, it has.
            let has_ended = endpoint.sessions.shared().has_ended(&number).unwrap_or(true);
            if !has_ended
                && known.until.is_none_or(|until| until > now())
                && self.policy.value.admits(&known.principal)
            {
                return Some((known.principal, number));
            }
        }
        None
    }

    /// Looks at what the form has, and gives a cookie to who may read.
    async fn login(&self, endpoint: &Endpoint, body: Incoming, peer: IpAddr) -> Answer {
        let read = timeout(FORM_TIME, Limited::new(body, MAX_FORM_BYTES).collect()).await;
        let Ok(Ok(form)) = read.map(|read| read.map(http_body_util::Collected::to_bytes)) else {
            return self
                .asks(StatusCode::BAD_REQUEST, Some("The form did not come in time, or is too long."));
        };
        let token = url::form_urlencoded::parse(&form).find(|(name, _)| name == "token");
        let token = token.map(|(_, token)| token.trim().to_owned()).unwrap_or_default();
        let known = match self.identified(endpoint, &token, peer).await {
            Ok(known) => known,
            Err((status, why)) => {
                tracing::info!("{peer} does not get the pages of {ROOT}: {why}");
                return self.asks(status, Some(&why));
            }
        };
        let Known { principal, until } = known;
        if !self.policy.value.admits(&principal) {
            let why = format!(
                "{} may not read these pages: [http.admin] ({}) says who may.",
                principal.name, self.policy.source
            );
            tracing::info!("{peer}: {why}");
            return self.asks(StatusCode::FORBIDDEN, Some(&why));
        }
        let until = until.unwrap_or(u64::MAX).min(now() + COOKIE_SECONDS);
        let Some(number) = number_for(&principal.key()) else {
            return self.asks(StatusCode::INTERNAL_SERVER_ERROR, Some("The system gives no random numbers."));
        };
        let visit = serde_json::to_vec(&Visit { token, until, number }).ok();
        let Some(sealed) = visit.and_then(|visit| self.envelope.close(&visit)) else {
            return self.asks(StatusCode::INTERNAL_SERVER_ERROR, Some("The system gives no random numbers."));
        };
        if sealed.len() > MAX_COOKIE_BYTES {
            return self.asks(StatusCode::BAD_REQUEST, Some("This token is too long for a cookie."));
        }
        tracing::info!("{peer} reads the pages of {ROOT} as {}", principal.name);
        moved(ROOT, Some(&self.set_cookie(&sealed, until.saturating_sub(now()))))
    }

    /// Whose a token is. Tries that fail are bounded, as they are at the endpoint.
    async fn identified(
        &self,
        endpoint: &Endpoint,
        token: &str,
        peer: IpAddr,
    ) -> Result<Known, (StatusCode, String)> {
        if token.is_empty() {
            return Err((StatusCode::UNAUTHORIZED, "A token is needed.".to_owned()));
        }
        if let Some(known) = endpoint.callers.known_by(token) {
            return Ok(known);
        }
        if !endpoint.peers.may_try(peer) {
            let why = format!("Too many tokens from here were not good. Try again in {} s.", PAUSE.as_secs());
            return Err((StatusCode::TOO_MANY_REQUESTS, why));
        }
        endpoint.callers.identify(token).await.map_err(|unknown| {
            if unknown == Unknown::Unavailable {
                return (StatusCode::SERVICE_UNAVAILABLE, format!("Nobody can be let in: {unknown}."));
            }
            endpoint.peers.refused(peer);
            (StatusCode::UNAUTHORIZED, "This token is not good here.".to_owned())
        })
    }

    fn asks(&self, status: StatusCode, why: Option<&str>) -> Answer {
        html(Page { status: status.as_u16(), html: self.pages.login(why) })
    }

    async fn leave(&self, endpoint: &Arc<Endpoint>, headers: &HeaderMap) -> Answer {
        if let Some((_, number)) = self.reader(endpoint, headers).await {
            let shared = Arc::clone(endpoint);
            let ended = endpoint.handle.spawn_blocking(move || shared.sessions.shared().end(number)).await;
            if !matches!(ended, Ok(Ok(_))) {
                let why = "You are not logged out: that could not be written. Try again.";
                return self.asks(StatusCode::SERVICE_UNAVAILABLE, Some(why));
            }
        }
        moved(&format!("{ROOT}/login"), Some(&self.set_cookie("", 0)))
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

const PLAIN: &str = "text/plain; charset=utf-8";

/// What browsers are told of each answer: no script, nothing from elsewhere, in no frame, kept nowhere.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With `no-referrer` a browser does not say where a form comes from.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

fn dressed(mut answer: Answer) -> Answer {
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn html(page: Page) -> Answer {
    let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    dressed(answer::text(status, "text/html; charset=utf-8", page.html))
}

/// Sends a browser elsewhere, with a cookie.
fn moved(to: &str, cookie: Option<&str>) -> Answer {
    let mut answer = answer::empty(StatusCode::SEE_OTHER);
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Both are made of what has no other characters.
    if let Ok(to) = HeaderValue::from_str(to) {
        headers.insert(header::LOCATION, to);
    }
    if let Some(Ok(cookie)) = cookie.map(HeaderValue::from_str) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    dressed(answer)
}
