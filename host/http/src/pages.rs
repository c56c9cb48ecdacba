//! Pages for people, beside the endpoint: who may read them, and how they are sent. What is in them others know.
//!
//! A person shows the token once, to a form, and has a cookie from then on. It is sealed, so that each server of several knows
//! it, and says who reads and until when; whether that one may, is asked with each page.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use scorpiox_access::{AdminPolicy, HttpPolicy, Principal};
use scorpiox_rules::Sourced;
use scorpiox_seal::{Seal, Secret};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::callers::{Known, PAUSE, Unknown};
use crate::ended::now;
use crate::endpoint::Endpoint;
use crate::listen::Load;
use scorpiox_http_request::admission::only;

/// Where all pages are.
pub(crate) const ROOT: &str = "/admin";
/// How long a cookie is good, in seconds.
const COOKIE_SECONDS: u64 = 8 * 60 * 60;
/// Largest form, and how long it may take to come: a JWT has some thousand bytes.
const MAX_FORM_BYTES: usize = 32 * 1024;
const FORM_TIME: Duration = Duration::from_secs(10);

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
    fn login(&self, why: Option<&str>) -> Page;
    /// How all look.
    fn style(&self) -> &'static str;
    /// A page, if there is one. May take its time.
    fn page(&self, asked: &Asked<'_>) -> Option<Page>;
}

/// Who hands pages out.
pub(crate) struct Desk {
    pages: Arc<dyn Pages>,
    policy: Sourced<AdminPolicy>,
    seal: Seal,
    /// Whether the cookie is for encrypted connections alone.
    is_secure: bool,
    /// From where a form may come.
    origins: Vec<String>,
}

/// What a cookie says.
#[derive(Serialize, Deserialize)]
struct Visit {
    name: String,
    issuer: Option<String>,
    groups: Vec<String>,
    scopes: Vec<String>,
    until: u64,
}

impl Desk {
    /// As the policy says, with forms from these origins and from that of `url`.
    pub(crate) fn new(
        pages: Arc<dyn Pages>,
        policy: &Sourced<AdminPolicy>,
        http: &HttpPolicy,
        secret: &Secret,
        own: Vec<String>,
    ) -> Self {
        let url = http.url.as_ref().and_then(|url| url::Url::parse(&url.value).ok());
        let is_secure = http.tls.is_some() || url.as_ref().is_some_and(|url| url.scheme() == "https");
        let public = url.map(|url| url.origin().ascii_serialization());
        let origins = own.into_iter().chain(public).collect();
        Self { pages, policy: policy.clone(), seal: Seal::of(secret, "pages"), is_secure, origins }
    }

    /// Whether a path is one of a page.
    pub(crate) fn has(path: &str) -> bool {
        path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub(crate) fn origins(&self) -> &[String] {
        &self.origins
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
            (&Method::POST, "/logout") => self.leave(),
            (&Method::GET, _) => self.page(endpoint, parts, path).await,
            _ => dressed(answer::text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "pages are read with GET\n")),
        }
    }

    /// Whether a form comes from one of these pages. A browser says where each comes from.
    fn is_own(&self, headers: &HeaderMap) -> bool {
        only(headers, &header::ORIGIN).is_some_and(|origin| self.origins.iter().any(|own| own == origin))
    }

    async fn page(self: &Arc<Self>, endpoint: &Arc<Endpoint>, parts: &Parts, path: &str) -> Answer {
        let Some(reader) = self.reader(endpoint, &parts.headers) else {
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

    /// Who reads, by the cookie: still known, and still let in.
    fn reader(&self, endpoint: &Endpoint, headers: &HeaderMap) -> Option<Principal> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut named =
            cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        let (_, sealed) = named.find(|(name, _)| *name == self.cookie())?;
        let visit: Visit = serde_json::from_slice(&self.seal.open(sealed, &[])?).ok()?;
        let Visit { name, issuer, groups, scopes, until } = visit;
        let principal = Principal {
            name,
            issuer,
            groups: groups.into_iter().collect(),
            scopes: scopes.into_iter().collect(),
        };
        let may = until > now() && endpoint.callers.knows(&principal) && self.policy.value.admits(&principal);
        may.then_some(principal)
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
        let visit = Visit {
            name: principal.name.clone(),
            issuer: principal.issuer.clone(),
            groups: principal.groups.iter().cloned().collect(),
            scopes: principal.scopes.iter().cloned().collect(),
            until,
        };
        let sealed = serde_json::to_vec(&visit).ok().and_then(|visit| self.seal.seal(&visit, &[]));
        let Some(sealed) = sealed else {
            return self.asks(StatusCode::INTERNAL_SERVER_ERROR, Some("The system gives no random numbers."));
        };
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
        let page = self.pages.login(why);
        html(Page { status: status.as_u16(), html: page.html })
    }

    fn leave(&self) -> Answer {
        moved(&format!("{ROOT}/login"), Some(&self.set_cookie("", 0)))
    }

    /// A browser takes one with this beginning over an encrypted connection alone, from this host alone.
    fn cookie(&self) -> &'static str {
        if self.is_secure { "__Host-scorpiox-admin" } else { "scorpiox-admin" }
    }

    fn set_cookie(&self, value: &str, seconds: u64) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}", self.cookie())
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
