//! What a person's own command downloads and uploads.
//!
//! Invariant: only the command line makes a [`Courier`] (`host/program/tests/layers.rs` guards it). So no tool and no
//! plugin reaches it, and with it no method that pages are not fetched with. Where it may go is decided as for every
//! other request, each redirect anew. What authorizes a request goes to the host that it was meant for, and never along
//! with a redirect.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use scorpiox_executor::AsyncRuntime;
use scorpiox_policy::{Redirects, Source, WebPattern, WebPolicy, WebVerdict};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use crate::client::client;
use crate::error::{WebError, causes};
use crate::fetch::unreachable;
use crate::request::Method;
use crate::route::{Router, Watch, tell};
use crate::{FIRST_BYTE_TIME, MAX_REDIRECTS, redirect};

/// What is read of an answer that says no: a sentence is looked for in it.
const MAX_REFUSAL_BYTES: u64 = 16 * 1024;

/// Carries bytes for a person at the command line.
pub struct Courier {
    router: Arc<Router>,
    runtime: Arc<AsyncRuntime>,
    http: reqwest::Client,
    watch: Option<Watch>,
}

/// How much of an answer has arrived, for who waits for it.
#[derive(Debug, Default)]
pub struct Gauge {
    arrived: AtomicU64,
    whole: AtomicU64,
}

impl Gauge {
    /// Of an answer that is said to have so many bytes.
    pub fn of(whole: u64) -> Self {
        Self { arrived: AtomicU64::new(0), whole: AtomicU64::new(whole) }
    }

    /// Bytes that are here, and how many it is said to have, if that is known.
    pub fn read(&self) -> (u64, Option<u64>) {
        let whole = self.whole.load(Ordering::Relaxed);
        (self.arrived.load(Ordering::Relaxed), (whole > 0).then_some(whole))
    }

    /// An answer begins that says this of its length. What was known before stays.
    fn begin(&self, length: Option<u64>) {
        self.arrived.store(0, Ordering::Relaxed);
        if let Some(length) = length {
            let _ = self.whole.compare_exchange(0, length, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn add(&self, bytes: usize) {
        self.arrived.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// What is carried, and where to.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// Redirects are followed for `GET` and `HEAD` alone.
    pub method: http::Method,
    /// Absolute, http or https.
    pub url: Url,
    /// Beside those that are always sent; another host gets them, too.
    pub headers: HeaderMap,
    /// What authorizes it, which no other host gets.
    pub authorization: Option<HeaderValue>,
    /// The whole body.
    pub body: Bytes,
    /// Most bytes of the answer.
    pub limit: u64,
    /// How long it may take.
    pub times: Times,
    /// Is told how much has arrived.
    pub gauge: Option<Arc<Gauge>>,
}

/// How long a transfer may take.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Without a byte.
    pub silence: Duration,
    /// In all, with redirects: an answer that never ends has this end.
    pub whole: Duration,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Arrived {
    /// Where it came from, after redirects.
    pub url: Url,
    /// The status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// As it was sent. Of an answer that is no success, the beginning.
    pub body: Vec<u8>,
}

impl Courier {
    /// One under this policy, whose requests `runtime` looks after.
    pub fn new(policy: WebPolicy, runtime: Arc<AsyncRuntime>) -> Result<Self, WebError> {
        let router = Arc::new(Router::of_system(policy));
        let as_it_is = |builder: reqwest::ClientBuilder| builder.no_gzip().no_brotli().no_deflate().no_zstd();
        let http = client(&router, as_it_is).map_err(WebError::Failed)?;
        Ok(Self { router, runtime, http, watch: None })
    }

    /// The same; each decision about a host is told, also those about redirects.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Whether the policy names the host of a URL, and does not allow it only because it allows all.
    pub fn is_named(&self, url: &Url) -> bool {
        matches!(
            self.router.check_host(url, None),
            Ok(WebVerdict::Allowed(rule)) if matches!(rule.pattern, WebPattern::Host(_))
        )
    }

    /// Carries it, and waits for the answer.
    pub fn carry(&self, transfer: Transfer) -> Result<Arrived, WebError> {
        let handle = self.runtime.handle().map_err(WebError::Failed)?;
        handle.block_on(self.follow(transfer))
    }

    async fn follow(&self, mut transfer: Transfer) -> Result<Arrived, WebError> {
        let (origin, until) = (transfer.url.clone(), Instant::now() + transfer.times.whole);
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send(&transfer, until).await?;
            let Some(next) = self.next(&transfer, &answer)? else {
                return read(transfer, answer, until).await;
            };
            if !is_same_origin(&origin, &next) {
                transfer.authorization = None;
            }
            transfer.url = next;
        }
        Err(WebError::Failed(format!("{origin} redirects more than {MAX_REDIRECTS} times")))
    }

    /// Where an answer leads, if it does. What arrives is pinned by its digest, so another host is asked as well, unless
    /// a policy's own line says that none is.
    fn next(&self, transfer: &Transfer, answer: &reqwest::Response) -> Result<Option<Url>, WebError> {
        if ![http::Method::GET, http::Method::HEAD].contains(&transfer.method) {
            return Ok(None);
        }
        let rule = &self.router.policy().redirects;
        let follow = if rule.source == Source::Builtin { Redirects::Any } else { rule.value };
        let next = redirect::next(&transfer.url, Method::Get, answer.status(), answer.headers(), follow);
        match next {
            Ok(next) => Ok(next.map(|next| next.url)),
            Err(WebError::Moved(to)) if transfer.url.scheme() == "https" && to.starts_with("http://") => {
                let why = format!(
                    "{} redirects from https to {to}, which anybody on the way could change",
                    transfer.url
                );
                Err(self.refused(&to, why))
            }
            Err(WebError::Moved(to)) => Err(self.refused(
                &to,
                format!(
                    "{} redirects to another host, {to}, which `redirects` in [web] ({}) does not allow",
                    transfer.url, rule.source
                ),
            )),
            Err(error) => Err(error),
        }
    }

    /// That a redirect is not followed, whoever it leads to.
    fn refused(&self, to: &str, why: String) -> WebError {
        let error = WebError::Denied(why);
        if let Ok(to) = Url::parse(to) {
            tell::<()>(self.watch.as_ref(), &to, &Err(error.clone()));
        }
        error
    }

    async fn send(&self, transfer: &Transfer, until: Instant) -> Result<reqwest::Response, WebError> {
        let url = &transfer.url;
        let (router, target) = (Arc::clone(&self.router), url.clone());
        let found = spawn_blocking(move || router.route(&target, None)).await;
        let found = found.map_err(|error| WebError::Failed(format!("looking up {url} failed: {error}")))?;
        tell(self.watch.as_ref(), url, &found);
        let route = found?;
        let mut headers = transfer.headers.clone();
        if let Some(authorization) = &transfer.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        let request = self.http.request(transfer.method.clone(), url.clone());
        let request = request.headers(headers).body(transfer.body.clone());
        // An upload has its whole time: until it is done nothing is answered.
        let first = if transfer.body.is_empty() { Instant::now() + FIRST_BYTE_TIME } else { until };
        let answer = timeout_at(first.min(until), request.send()).await;
        let answer = answer.map_err(|_| WebError::TimedOut(format!("{url} sent no answer in time")))?;
        answer.map_err(|error| unreachable(url, &route.addresses, &error))
    }
}

async fn read(
    transfer: Transfer,
    mut answer: reqwest::Response,
    until: Instant,
) -> Result<Arrived, WebError> {
    let Transfer { url, limit, times, method, gauge, .. } = transfer;
    let (answer_status, headers) = (answer.status(), answer.headers().clone());
    let is_success = answer_status.is_success();
    let limit = if is_success { limit } else { MAX_REFUSAL_BYTES };
    let has_body = method != http::Method::HEAD;
    if has_body && is_success && answer.content_length().is_some_and(|length| length > limit) {
        return Err(WebError::TooLarge(limit));
    }
    let arrived = |url, body| Arrived { url, status: answer_status.as_u16(), headers: headers.clone(), body };
    let mut body = Vec::new();
    if !has_body {
        return Ok(arrived(url, body));
    }
    let gauge = gauge.filter(|_| is_success);
    if let Some(gauge) = &gauge {
        gauge.begin(answer.content_length());
    }
    loop {
        let chunk = timeout_at(until, timeout(times.silence, answer.chunk())).await;
        let chunk = chunk
            .map_err(|_| {
                WebError::TimedOut(format!("{url} was not done within {} s", times.whole.as_secs_f32()))
            })?
            .map_err(|_| {
                WebError::TimedOut(format!("{url} sent nothing for {} s", times.silence.as_secs_f32()))
            })?
            .map_err(|error| {
                WebError::Failed(format!("the answer of {url} broke off: {}", causes(&error)))
            })?;
        let Some(chunk) = chunk else { break };
        if (body.len() + chunk.len()) as u64 <= limit {
            body.extend_from_slice(&chunk);
            if let Some(gauge) = &gauge {
                gauge.add(chunk.len());
            }
        } else if is_success {
            return Err(WebError::TooLarge(limit));
        } else {
            break;
        }
    }
    Ok(arrived(url, body))
}

/// Whether both are one server, as browsers count.
pub fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}
