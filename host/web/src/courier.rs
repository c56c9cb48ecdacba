//! Downloads and uploads for the user's own commands.
//!
//! Invariant: only the command line creates a [`Courier`] (guarded by `host/cli/tests/layers.rs`). Tools
//! and plugins therefore cannot use it, nor the methods that are not available for pages. The policy checks
//! its requests like all others, including each redirect. The authorization of a request goes only to its
//! original host, never to the target of a redirect.

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

/// Maximum size of an error response that is searched for a message.
const MAX_REFUSAL_BYTES: u64 = 16 * 1024;

/// Transfers bytes for the user of the command line.
pub struct Courier {
    router: Arc<Router>,
    runtime: Arc<AsyncRuntime>,
    http: reqwest::Client,
    watch: Option<Watch>,
}

/// Progress of a response, for display.
#[derive(Debug, Default)]
pub struct Gauge {
    arrived: AtomicU64,
    whole: AtomicU64,
}

impl Gauge {
    /// Creates a gauge for a response of known size.
    pub fn of(whole: u64) -> Self {
        Self { arrived: AtomicU64::new(0), whole: AtomicU64::new(whole) }
    }

    /// Returns the number of received bytes, and the total number if it is known.
    pub fn read(&self) -> (u64, Option<u64>) {
        let whole = self.whole.load(Ordering::Relaxed);
        (self.arrived.load(Ordering::Relaxed), (whole > 0).then_some(whole))
    }

    /// Starts a response with this length. A total that is already known takes precedence.
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

/// A request to transfer bytes.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// Method. Redirects are followed only for `GET` and `HEAD`.
    pub method: http::Method,
    /// Absolute http or https URL.
    pub url: Url,
    /// Headers in addition to the default ones. After a redirect, the new host also gets them.
    pub headers: HeaderMap,
    /// Authorization, which is not sent to other hosts.
    pub authorization: Option<HeaderValue>,
    /// Complete body.
    pub body: Bytes,
    /// Maximum size of the response in bytes.
    pub limit: u64,
    /// Timeouts of the transfer.
    pub times: Times,
    /// Gauge to update as bytes arrive.
    pub gauge: Option<Arc<Gauge>>,
}

/// Timeouts of a transfer.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Maximum time without a byte.
    pub silence: Duration,
    /// Maximum total time with redirects, which also ends an endless response.
    pub whole: Duration,
}

/// A response with any status.
#[derive(Debug)]
pub struct Arrived {
    /// URL after redirects.
    pub url: Url,
    /// Status of the response.
    pub status: u16,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// Body as sent, without decompression. For an error status, only its beginning.
    pub body: Vec<u8>,
}

impl Courier {
    /// Creates a courier under this policy, whose requests run on `runtime`.
    pub fn new(policy: WebPolicy, runtime: Arc<AsyncRuntime>) -> Result<Self, WebError> {
        let router = Arc::new(Router::of_system(policy));
        let as_it_is = |builder: reqwest::ClientBuilder| builder.no_gzip().no_brotli().no_deflate().no_zstd();
        let http = client(&router, as_it_is).map_err(WebError::Failed)?;
        Ok(Self { router, runtime, http, watch: None })
    }

    /// Sets a callback for each decision about a host, including the targets of redirects.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Returns `true` if a rule of the policy names the URL's host, as opposed to a rule for all hosts.
    pub fn is_named(&self, url: &Url) -> bool {
        matches!(
            self.router.check_host(url, None),
            Ok(WebVerdict::Allowed(rule)) if matches!(rule.pattern, WebPattern::Host(_))
        )
    }

    /// Sends the request and waits for the response.
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

    /// Returns the target of a redirect. The content is verified by its digest, so redirects to other hosts
    /// are followed unless a line of the policy forbids that.
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

    /// Returns the error for a redirect that is not followed, and reports the decision.
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
        // An upload may use the complete time, because the response starts only after it.
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

/// Returns `true` if both URLs have the same origin, as defined for browsers.
pub fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}
