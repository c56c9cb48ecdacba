//! Serves the pages for people, next to the endpoint: access and delivery. [`Pages`] provides their content.
//!
//! The user enters the token once in a form and gets a cookie with the token, encrypted so that only the
//! server can read it. Each page verifies that token again, so the cookie ends when the token or its
//! permissions end. All servers of a database accept the cookie. Logging out ends it at all of them.
//!
//! Approvers log in with a credential instead, and have a page of their own: see [`answering`](crate::answering).

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use scorpiox_approvals::Credential;
use scorpiox_exchange::seal::{Envelope, Secret};
use scorpiox_policy::access::{HttpPolicy, Principal, Who};
use scorpiox_policy::rule::Sourced;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::admin::approving::{ApproverId, Approving};
use crate::answer::{self, Answer};
use crate::bounds::{RETRY_AFTER, WaitsFor};
use crate::callers::{Known, PAUSE, Unknown};
use crate::ended::{Account, End, now};
use crate::endpoint::Endpoint;
use crate::gathered::gathered;
use crate::listen::Load;
use crate::paper::{dressed, forgetting, html, left_unrecorded, moved, unknown, unrecorded};
use crate::request::admission::only;
use crate::request::session_id::Number;
use crate::unread::RequestBody;
use crate::visits::{self, Seen};
use scorpiox_metering::records::{Act, Refused};

/// Path of the pages.
pub(crate) const ROOT: &str = "/admin";
pub(crate) const LOGIN: &str = "/admin/login";
const LOGOUT: &str = "/admin/logout";
/// Lifetime of a cookie, in seconds.
pub(crate) const COOKIE_SECONDS: u64 = 8 * 60 * 60;
/// Maximum size of a form, and the timeout for receiving it. A JWT has a few thousand bytes.
const MAX_FORM_BYTES: usize = 32 * 1024;
const FORM_TIME: Duration = Duration::from_secs(10);
/// Maximum length of a cookie's value: browsers accept 4096 bytes including its name.
const MAX_COOKIE_BYTES: usize = 4000;
/// Maximum number of cookies with the name that are tried.
const MAX_COOKIES: usize = 64;

/// Request for a page.
pub struct Asked<'a> {
    /// Path below the root of the pages; empty for the first page.
    pub path: &'a str,
    /// Query string without the question mark.
    pub query: &'a str,
    /// Name of the reader.
    pub reader: &'a str,
    /// Current load of the server.
    pub load: &'a Load,
}

/// A page.
pub struct Page {
    /// HTTP status.
    pub status: u16,
    /// HTML text.
    pub html: String,
}

/// Content of the pages.
pub trait Pages: Send + Sync {
    /// Returns the log-in page, with the reason why it is shown again.
    fn login(&self, why: Option<&str>) -> String;
    /// Returns the style sheet of all pages.
    fn style(&self) -> &'static str;
    /// Returns the page that says why there is no other, without anything that only readers see.
    fn refused(&self, status: u16, why: &str) -> Page;
    /// Returns the page for an address without a page, for the reader of this name.
    fn missing(&self, reader: &str) -> Page;
    /// Returns `true` if there is a page at a path.
    fn has(&self, path: &str) -> bool;
    /// Returns a page, if it exists. May block.
    fn page(&self, asked: &Asked<'_>) -> Option<Page>;
    /// Returns the approvals that approvers answer.
    fn approving(&self) -> Approving<'_>;
}

/// Serves the pages.
pub(crate) struct Desk {
    pub(crate) pages: Arc<dyn Pages>,
    policy: Sourced<Who>,
    pub(crate) envelope: Envelope,
    /// `true` if the cookie is only sent over encrypted connections.
    is_secure: bool,
    /// Required origin of forms; `None` uses the `Host` header of the request.
    origin: Option<String>,
    scheme: &'static str,
}

/// Content of a cookie.
#[derive(Serialize, Deserialize)]
pub(crate) struct Visit {
    pub(crate) token: String,
    pub(crate) until: u64,
    /// Number that identifies the log-in after it has ended.
    pub(crate) number: Number,
    /// Approver who logged in with a credential, which the cookie does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) approver: Option<ApproverId>,
}

/// A refused log-in: the answer, and its audit line.
pub(crate) struct Rejected {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) why: String,
    /// Principal of the token, if it is valid.
    pub(crate) who: Option<Arc<Principal>>,
}

/// An accepted log-in.
struct Admitted {
    principal: Arc<Principal>,
    /// Value of the cookie.
    sealed: String,
    until: u64,
}

/// Returns the fields of a form.
pub(crate) async fn form_of(body: RequestBody) -> Result<Vec<(String, String)>, Rejected> {
    let Ok(Ok(form)) = timeout(FORM_TIME, gathered(body, MAX_FORM_BYTES)).await else {
        let why = format!(
            "The form did not come in {} s, or is longer than {MAX_FORM_BYTES} bytes.",
            FORM_TIME.as_secs()
        );
        return Err(Rejected { status: StatusCode::BAD_REQUEST, kind: visits::BAD_FORM, why, who: None });
    };
    Ok(url::form_urlencoded::parse(&form).into_owned().collect())
}

/// Returns the refusal of an invalid token or credential after too many of them.
pub(crate) fn too_many(secrets: &str) -> Rejected {
    let why = format!("Too many {secrets} from here were not good. Try again in {} s.", PAUSE.as_secs());
    Rejected { status: StatusCode::TOO_MANY_REQUESTS, kind: visits::TOO_MANY, why, who: None }
}

/// Returns the trimmed value of a field, or an empty string without one.
pub(crate) fn field(form: &[(String, String)], name: &str) -> String {
    let value = form.iter().find(|(known, _)| known == name);
    value.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

impl Visit {
    fn is_of_reader(&self) -> bool {
        self.approver.is_none()
    }
}

impl Desk {
    /// Creates the desk for a policy.
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

    /// Returns `true` for paths of pages.
    pub(crate) fn has(path: &str) -> bool {
        path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Answers an admitted request.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        endpoint: &Arc<Endpoint>,
        parts: &Parts,
        body: RequestBody,
        peer: IpAddr,
    ) -> Answer {
        let path = parts.uri.path().strip_prefix(ROOT).unwrap_or_default();
        match (&parts.method, path) {
            (&Method::GET, "/style.css") => {
                dressed(answer::text(StatusCode::OK, "text/css; charset=utf-8", self.pages.style()))
            }
            (&Method::GET, "/login") => self.asks(StatusCode::OK, None),
            (&Method::POST, "/login" | "/logout" | "/approvals") => match self.strange(&parts.headers) {
                Some(why) => {
                    let act = match path {
                        "/login" => Act::LogIn,
                        "/logout" => Act::LogOut,
                        _ => Act::Answer,
                    };
                    let refused = Refused { kind: visits::FORBIDDEN, why: &why };
                    endpoint.refused(Seen { act, from: peer, path: parts.uri.path() }, None, refused, None);
                    self.asks(StatusCode::FORBIDDEN, Some(&why))
                }
                None if path == "/login" => self.login(endpoint, body, peer).await,
                None if path == "/approvals" => self.decide(endpoint, &parts.headers, body, peer).await,
                None => self.leave(endpoint, &parts.headers, peer).await,
            },
            (&Method::GET, _) => self.page(endpoint, parts, path, peer).await,
            (_, path) => {
                let is_form = matches!(path, "/login" | "/logout" | "/approvals");
                let allowed = match path {
                    "/login" | "/approvals" => "GET, POST",
                    "/logout" => "POST",
                    _ => "GET",
                };
                let why = if is_form {
                    "A browser reads this page with GET and sends its form with POST."
                } else {
                    "Pages are read with GET."
                };
                let mut refused = self.refuses(StatusCode::METHOD_NOT_ALLOWED, why);
                refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
                refused
            }
        }
    }

    /// Returns the reason to refuse a form as coming from another site, or `None` if it comes from these
    /// pages. Browsers send the origin of each form.
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
            Ok(None) => return self.approver_page(endpoint, parts, path, peer).await,
            Err(error) => return self.refuses_later(&unknown(&error)),
        };
        let path = path.trim_end_matches('/');
        if !self.pages.has(path) {
            let (seen, why) =
                (Seen { act: Act::Page, from: peer, path: parts.uri.path() }, "there is no such page");
            endpoint.refused(seen, Some(&reader), Refused { kind: visits::NO_PAGE, why }, None);
            return html(self.pages.missing(&reader.name));
        }
        let read = (Act::Page, peer, parts.uri.path().to_owned());
        if let Err(error) = endpoint.did(read, Some(Arc::clone(&reader)), Some(self.rule())).await {
            return self.refuses(StatusCode::SERVICE_UNAVAILABLE, &unrecorded(&error));
        }
        let (desk, load) = (Arc::clone(self), endpoint.load());
        let (path, query) = (path.to_owned(), parts.uri.query().unwrap_or_default().to_owned());
        let (who, name) = (reader.key(), reader.name.clone());
        let make = move |_: &_| {
            desk.pages.page(&Asked { path: &path, query: &query, reader: &reader.name, load: &load })
        };
        match endpoint.blocking.run(WaitsFor::Database, &who, make).await {
            Ok(Some(page)) => html(page),
            Ok(None) => html(self.pages.missing(&name)),
            Err(error) => {
                tracing::error!("a page cannot be made: {error}");
                self.refuses(answer::status_of(&error), "The page cannot be made now. Load it again later.")
            }
        }
    }

    /// Returns the log-ins of all valid cookies that this server, or another with its secret, issued. There
    /// may be several, because another program on this machine may have set a cookie of the same name.
    pub(crate) fn visits(&self, headers: &HeaderMap) -> Vec<Visit> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let named =
            cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        let closed = named.filter(|(name, _)| *name == self.cookie()).take(MAX_COOKIES);
        let opened = closed.filter_map(|(_, closed)| self.envelope.open(closed));
        let visits = opened.filter_map(|visit| serde_json::from_slice::<Visit>(&visit).ok());
        visits.filter(|visit| visit.until > now()).collect()
    }

    /// Returns the reader that a cookie identifies, if its token is still valid and permitted. Fails if it is
    /// unknown whether the log-in has ended.
    async fn reader(
        &self,
        endpoint: &Arc<Endpoint>,
        headers: &HeaderMap,
    ) -> io::Result<Option<Arc<Principal>>> {
        let mut failed = None;
        for Visit { token, number, .. } in self.visits(headers).into_iter().filter(Visit::is_of_reader) {
            let known = match endpoint.callers.known_by(&token) {
                Some(known) => known,
                None => match endpoint.callers.identify(&token).await {
                    Ok(known) => known,
                    Err(_) => continue,
                },
            };
            if known.good.until.is_some_and(|until| until <= now())
                || !self.policy.value.admits(&known.principal)
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

    /// Handles a log-in form and sets a cookie for a permitted reader. Each refused form gets an audit line.
    async fn login(self: &Arc<Self>, endpoint: &Endpoint, body: RequestBody, peer: IpAddr) -> Answer {
        let token = form_of(body).await.map(|form| field(&form, "token"));
        if let Some(credential) = token.as_deref().ok().and_then(Credential::parse) {
            return self.approver_login(endpoint, credential, peer).await;
        }
        let admitted = match self.admitted(endpoint, token, peer).await {
            Ok(admitted) => admitted,
            Err(rejected) => return self.rejects(endpoint, &rejected, peer),
        };
        let Admitted { principal, sealed, until } = admitted;
        let entered = (Act::LogIn, peer, LOGIN.to_owned());
        if let Err(error) = endpoint.did(entered, Some(Arc::clone(&principal)), Some(self.rule())).await {
            return self.refuses(StatusCode::SERVICE_UNAVAILABLE, &unrecorded(&error));
        }
        tracing::info!("{peer} reads the pages of {ROOT} as {}", principal.name);
        moved(ROOT, Some(&self.set_cookie(&sealed, until.saturating_sub(now()))))
    }

    /// Records a refused log-in, and asks again.
    pub(crate) fn rejects(&self, endpoint: &Endpoint, rejected: &Rejected, peer: IpAddr) -> Answer {
        let Rejected { status, kind, why, who } = rejected;
        tracing::info!("{peer} does not get the pages of {ROOT}: {why}");
        let rule = (*kind == visits::POLICY).then(|| self.rule());
        let seen = Seen { act: Act::LogIn, from: peer, path: LOGIN };
        endpoint.refused(seen, who.as_deref(), Refused { kind, why }, rule.as_deref());
        self.asks(*status, Some(why))
    }

    async fn admitted(
        &self,
        endpoint: &Endpoint,
        token: Result<String, Rejected>,
        peer: IpAddr,
    ) -> Result<Admitted, Rejected> {
        let token = token?;
        let Known { principal, good } = self.identified(endpoint, &token, peer).await?;
        let reject =
            |status, kind, why: String| Rejected { status, kind, why, who: Some(Arc::clone(&principal)) };
        if !self.policy.value.admits(&principal) {
            let why = format!(
                "{} may not read these pages: [http.admin] ({}) says who may.",
                principal.name, self.policy.source
            );
            return Err(reject(StatusCode::FORBIDDEN, visits::POLICY, why));
        }
        let until = good.until.unwrap_or(u64::MAX).min(now() + COOKIE_SECONDS);
        // Log-ins are counted separately, so ended sessions do not prevent logging out.
        let number = endpoint.sessions.numbers().give(Account::Pages, &principal.key());
        let visit = number
            .and_then(|number| serde_json::to_vec(&Visit { token, until, number, approver: None }).ok());
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

    /// Returns the caller of a token. Failed attempts are counted, as they are at the endpoint, and never keep a valid
    /// token out.
    async fn identified(&self, endpoint: &Endpoint, token: &str, peer: IpAddr) -> Result<Known, Rejected> {
        let refuse =
            |status, unknown: &Unknown, why| Rejected { status, kind: visits::kind(unknown), why, who: None };
        if token.is_empty() {
            return Err(refuse(StatusCode::UNAUTHORIZED, &Unknown::Missing, "A token is needed.".to_owned()));
        }
        if let Some(known) = endpoint.callers.known_by(token) {
            return Ok(known);
        }
        endpoint.callers.identify(token).await.map_err(|unknown| {
            if unknown == Unknown::Unavailable {
                let why = format!("Nobody can be let in: {unknown}.");
                return refuse(StatusCode::SERVICE_UNAVAILABLE, &unknown, why);
            }
            if !endpoint.peers.may_fail(peer) {
                return too_many("tokens");
            }
            refuse(StatusCode::UNAUTHORIZED, &unknown, "This token is not good here.".to_owned())
        })
    }

    pub(crate) fn refuses(&self, status: StatusCode, why: &str) -> Answer {
        html(self.pages.refused(status.as_u16(), why))
    }

    /// Refuses a page that a later request may get.
    pub(crate) fn refuses_later(&self, why: &str) -> Answer {
        answer::later(self.refuses(StatusCode::SERVICE_UNAVAILABLE, why), RETRY_AFTER)
    }

    pub(crate) fn asks(&self, status: StatusCode, why: Option<&str>) -> Answer {
        html(Page { status: status.as_u16(), html: self.pages.login(why) })
    }

    /// Ends all log-ins of the browser, even if their tokens cannot be verified at the moment.
    async fn leave(&self, endpoint: &Arc<Endpoint>, headers: &HeaderMap, peer: IpAddr) -> Answer {
        let visits = self.visits(headers);
        let forgets = self.set_cookie("", 0);
        if visits.is_empty() {
            return moved(LOGIN, Some(&forgets));
        }
        // The reader is only needed for the audit line.
        let reader = self.reader(endpoint, headers).await.ok().flatten();
        let approver = || visits.iter().find_map(|visit| visit.approver.as_ref()).map(ApproverId::principal);
        let reader = reader.or_else(approver);
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
                    Err(error) => {
                        let why = left_unrecorded(&error);
                        forgetting(self.refuses(StatusCode::SERVICE_UNAVAILABLE, &why), &forgets)
                    }
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
        // Retrying would not help.
        if status == StatusCode::TOO_MANY_REQUESTS { forgetting(refused, &forgets) } else { refused }
    }

    /// Returns the rule that says who may read the pages.
    fn rule(&self) -> String {
        self.policy.source.to_string()
    }

    /// Returns the name of the cookie. Browsers accept the `__Host-` prefix only over an encrypted
    /// connection, from the host itself.
    fn cookie(&self) -> &'static str {
        if self.is_secure { "__Host-scorpiox-admin" } else { "scorpiox-admin" }
    }

    pub(crate) fn set_cookie(&self, value: &str, seconds: u64) -> String {
        // The `__Host-` prefix requires the path `/`. Without it, a narrower path keeps the cookie from other
        // programs of this machine.
        let place = if self.is_secure { "Path=/; Secure" } else { "Path=/admin" };
        format!("{}={value}; {place}; Max-Age={seconds}; HttpOnly; SameSite=Strict", self.cookie())
    }
}
