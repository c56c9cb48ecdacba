//! Sends requests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use scorpiox_executor::{AsyncRuntime, Cancel};
use scorpiox_policy::{HostRule, WebPolicy};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;
use url::Url;

use crate::cache::Cache;
use crate::client::client;
use crate::cookies::Cookies;
use crate::error::{WebError, causes, without_proxy};
use crate::request::{Method, Request, Response};
use crate::route::{Router, Watch, tell};
use crate::{CONNECT_TIME, FIRST_BYTE_TIME, MAX_BODY_BYTES, MAX_REDIRECTS, MAX_TIME, body, redirect};

/// Maximum length of a URL in bytes.
const MAX_URL_BYTES: usize = 16 * 1024;
/// Headers for framing and routing, which callers cannot set.
pub(crate) const OWN_HEADERS: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "te",
    "proxy-authorization",
    "user-agent",
];

/// Fetches pages under a policy. Nothing is started before the first request.
pub struct Fetcher {
    router: Arc<Router>,
    runtime: Arc<AsyncRuntime>,
    /// Trusted certificate authorities, if they replace those of the system.
    authorities: Option<Vec<reqwest::Certificate>>,
    /// Client for pages.
    http: OnceLock<Result<reqwest::Client, String>>,
    /// Client for requests whose responses are returned unchanged.
    plain: OnceLock<Result<reqwest::Client, String>>,
    cache: Arc<Mutex<Cache>>,
}

#[derive(Clone)]
struct Started {
    handle: Handle,
    /// Keeps the runtime alive as long as its tasks.
    _runtime: Arc<AsyncRuntime>,
    http: reqwest::Client,
}

impl Fetcher {
    /// Creates a fetcher under this policy, whose requests run on `runtime`.
    pub fn new(policy: WebPolicy, runtime: Arc<AsyncRuntime>) -> Self {
        Self {
            router: Arc::new(Router::of_system(policy)),
            runtime,
            authorities: None,
            http: OnceLock::new(),
            plain: OnceLock::new(),
            cache: Arc::default(),
        }
    }

    /// Trusts only the authorities in this PEM text.
    pub fn trusting(self, pem: &[u8]) -> Result<Self, WebError> {
        let unusable = |why: String| WebError::Invalid(format!("the certificates cannot be used: {why}"));
        let certificates = reqwest::Certificate::from_pem_bundle(pem);
        let certificates = certificates.map_err(|error| unusable(causes(&error)))?;
        if certificates.is_empty() {
            return Err(unusable("there is none in it".to_owned()));
        }
        let trusting = Self { authorities: Some(certificates), ..self };
        // Building a client detects unreadable certificates.
        trusting.client(|builder| builder).map_err(unusable)?;
        Ok(trusting)
    }

    /// Returns the router that decides about requests.
    pub fn router(&self) -> &Arc<Router> {
        &self.router
    }

    /// Fails if no requests can be sent, for example because there are no trusted authorities.
    pub fn check(&self) -> Result<(), WebError> {
        self.started().map(drop)
    }

    fn started(&self) -> Result<Started, WebError> {
        let handle = self.runtime.handle().map_err(WebError::Failed)?.clone();
        let http = self.http.get_or_init(|| self.client(|builder| builder));
        let http = http.clone().map_err(WebError::Failed)?;
        Ok(Started { handle, _runtime: Arc::clone(&self.runtime), http })
    }

    /// Returns the client that sends requests unchanged and does not decompress responses.
    pub(crate) fn as_it_is(&self) -> Result<&reqwest::Client, WebError> {
        let plain = self
            .plain
            .get_or_init(|| self.client(|builder| builder.no_gzip().no_brotli().no_deflate().no_zstd()));
        plain.as_ref().map_err(|error| WebError::Failed(error.clone()))
    }

    fn client(
        &self,
        more: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
    ) -> Result<reqwest::Client, String> {
        client(&self.router, |builder| match &self.authorities {
            Some(authorities) => more(builder.tls_certs_only(authorities.iter().cloned())),
            None => more(builder),
        })
    }

    /// Creates a set of requests that are awaited together, restricted to the hosts in `only`, if given.
    /// Dropping it cancels the requests.
    pub fn pending(&self, only: Option<Arc<[HostRule]>>) -> Result<Pending, WebError> {
        let started = self.started()?;
        let (done, finished) = mpsc::unbounded_channel();
        Ok(Pending {
            started,
            router: Arc::clone(&self.router),
            cache: Arc::clone(&self.cache),
            only,
            watch: None,
            done,
            finished,
            running: HashMap::new(),
            count: 0,
        })
    }
}

/// Requests that have started and whose results have not been returned.
pub struct Pending {
    started: Started,
    router: Arc<Router>,
    cache: Arc<Mutex<Cache>>,
    only: Option<Arc<[HostRule]>>,
    watch: Option<Watch>,
    done: mpsc::UnboundedSender<(u32, Result<Response, WebError>)>,
    finished: mpsc::UnboundedReceiver<(u32, Result<Response, WebError>)>,
    running: HashMap<u32, AbortHandle>,
    count: u32,
}

/// Outcome of a wait.
#[derive(Debug)]
pub enum Waited {
    /// A request completed.
    Finished(u32, Box<Result<Response, WebError>>),
    /// No request completed within the time.
    Nothing,
    /// The call was cancelled.
    Stopped,
}

impl Pending {
    /// Sets a callback for each decision about a host.
    #[must_use]
    pub fn watched(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Returns the number of running requests.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Starts a request and returns its ID.
    pub fn begin(&mut self, request: Request) -> u32 {
        self.count += 1;
        let (id, done) = (self.count, self.done.clone());
        let job = Job {
            http: self.started.http.clone(),
            router: Arc::clone(&self.router),
            cache: Arc::clone(&self.cache),
            only: self.only.clone(),
            watch: self.watch.clone(),
        };
        let task = self.started.handle.spawn(async move {
            let outcome = job.run(request).await;
            // Fails if the receiver no longer waits.
            let _ = done.send((id, outcome));
        });
        self.running.insert(id, task.abort_handle());
        id
    }

    /// Waits until a request completes, for at most `time`, or until `cancel` is set.
    pub fn next(&mut self, time: Duration, cancel: Option<&Cancel>) -> Waited {
        if self.running.is_empty() {
            return Waited::Nothing;
        }
        let Self { started, finished, .. } = self;
        let stop = Arc::new(Notify::new());
        let _watch = cancel.map(|cancel| {
            let stop = Arc::clone(&stop);
            cancel.watch(move || stop.notify_one())
        });
        let waited = started.handle.block_on(async {
            tokio::select! {
                biased;
                () = stop.notified() => Waited::Stopped,
                done = timeout(time, finished.recv()) => match done {
                    Ok(Some((id, outcome))) => Waited::Finished(id, Box::new(outcome)),
                    Ok(None) | Err(_) => Waited::Nothing,
                },
            }
        });
        if let Waited::Finished(id, _) = &waited {
            self.running.remove(id);
        }
        waited
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        for task in self.running.values() {
            task.abort();
        }
    }
}

/// A single request.
struct Job {
    http: reqwest::Client,
    router: Arc<Router>,
    cache: Arc<Mutex<Cache>>,
    /// Restriction to some of the hosts that the policy allows.
    only: Option<Arc<[HostRule]>>,
    watch: Option<Watch>,
}

impl Job {
    async fn run(self, request: Request) -> Result<Response, WebError> {
        let time = request.timeout.min(MAX_TIME);
        let url = request.url.clone();
        timeout(time, self.fetch(request)).await.unwrap_or_else(|_| {
            Err(WebError::TimedOut(format!("{url} did not answer within {} s", time.as_secs_f32())))
        })
    }

    async fn fetch(self, request: Request) -> Result<Response, WebError> {
        if request.url.len() > MAX_URL_BYTES {
            return Err(WebError::Invalid(format!(
                "the url has {} bytes; at most {MAX_URL_BYTES} are sent",
                request.url.len()
            )));
        }
        let mut url = Router::parse(&request.url)?;
        url.set_fragment(None);
        let mut headers = header_map(&request.headers)?;
        let key =
            (request.cached && request.method == Method::Get).then(|| cache_key(&url, &request.headers));
        if let Some(found) = key.as_ref().and_then(|key| self.lock().get(key, Instant::now())) {
            // A caller with access to more hosts may have fetched the page.
            let checked = self.router.check_host(&url, self.only.as_deref());
            tell(self.watch.as_ref(), &url, &checked);
            return checked.map(|_| (*found).clone());
        }
        let (mut method, mut body) = (request.method, request.body);
        let mut cookies = Cookies::default();
        for _ in 0..=MAX_REDIRECTS {
            let mut sent = headers.clone();
            cookies.add_to(&mut sent, &url);
            let answer = self.send(&url, method, sent, &body).await?;
            cookies.keep(&url, answer.headers());
            let follow = self.router.policy().redirects.value;
            let Some(next) = redirect::next(&url, method, answer.status(), answer.headers(), follow)? else {
                let response = read(url, answer).await?;
                if let Some(key) = key.filter(|_| response.status == 200) {
                    self.lock().put(key, Arc::new(response.clone()), Instant::now());
                }
                return Ok(response);
            };
            if next.elsewhere {
                headers = keep_for_anybody(&headers);
            }
            if next.method == Method::Get {
                body.clear();
            }
            (url, method) = (next.url, next.method);
        }
        Err(WebError::Failed(format!("{} redirects more than {MAX_REDIRECTS} times", request.url)))
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Cache> {
        self.cache.lock()
    }

    async fn send(
        &self,
        url: &Url,
        method: Method,
        headers: HeaderMap,
        body: &[u8],
    ) -> Result<reqwest::Response, WebError> {
        let (router, target, only) = (Arc::clone(&self.router), url.clone(), self.only.clone());
        let found = spawn_blocking(move || router.route(&target, only.as_deref())).await;
        let found = found.map_err(|error| WebError::Failed(format!("looking up {url} failed: {error}")))?;
        tell(self.watch.as_ref(), url, &found);
        let route = found?;
        let request = match method {
            Method::Get => self.http.get(url.clone()),
            Method::Post => self.http.post(url.clone()).body(body.to_vec()),
        };
        let answer = timeout(FIRST_BYTE_TIME, request.headers(headers).send()).await;
        let late =
            || WebError::TimedOut(format!("{url} sent nothing within {} s", FIRST_BYTE_TIME.as_secs()));
        let answer =
            answer.map_err(|_| late())?.map_err(|error| unreachable(url, &route.addresses, &error))?;
        Ok(answer)
    }
}

pub(crate) fn unreachable(url: &Url, addresses: &[SocketAddr], error: &reqwest::Error) -> WebError {
    let host = url.host_str().unwrap_or_default();
    if error.is_timeout() {
        return WebError::TimedOut(format!(
            "{host} did not accept a connection within {} s{}",
            CONNECT_TIME.as_secs(),
            without_proxy()
        ));
    }
    tracing::debug!(%url, ?addresses, "request failed: {error:?}");
    WebError::Failed(format!("{host} cannot be reached: {}{}", causes(error), without_proxy()))
}

async fn read(url: Url, answer: reqwest::Response) -> Result<Response, WebError> {
    let status = answer.status().as_u16();
    let headers = answer.headers().iter().filter(|(name, _)| *name != "set-cookie");
    let headers = headers
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let body = body::read(answer, MAX_BODY_BYTES).await?;
    Ok(Response { url: url.into(), status, headers, body })
}

fn header_map(headers: &[(String, String)]) -> Result<HeaderMap, WebError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || WebError::Invalid(format!("the header {name:?} cannot be sent"));
        if OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(invalid());
        }
        let name: HeaderName = name.parse().map_err(|_| invalid())?;
        map.append(name, HeaderValue::from_str(value).map_err(|_| invalid())?);
    }
    Ok(map)
}

fn keep_for_anybody(headers: &HeaderMap) -> HeaderMap {
    let kept = headers.iter().filter(|(name, _)| redirect::is_for_anybody(name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn cache_key(url: &Url, headers: &[(String, String)]) -> String {
    let mut key = url.as_str().to_owned();
    for (name, value) in headers {
        key.extend(["\n", name, ": ", value]);
    }
    key
}
