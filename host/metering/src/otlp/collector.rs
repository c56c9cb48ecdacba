//! HTTP client for one endpoint of a collector.

use std::error::Error as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use opentelemetry_http::{HttpClient, HttpError};
use scorpiox_executor::AsyncRuntime;
use scorpiox_policy::rule::shorten_address;

/// Content type of requests and responses.
pub(crate) const CONTENT_TYPE: &str = "application/x-protobuf";
/// Timeouts for connecting and for the response.
const CONNECT_TIME: Duration = Duration::from_secs(3);
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Maximum size of a response, which contains at most a sentence about rejected records.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// Maximum number of characters of an error response to display.
const MAX_SHOWN_BYTES: usize = 200;

/// Certificate authorities trusted to identify the collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trusted {
    /// Authorities trusted by the system.
    System,
    /// Only the authorities in this file.
    File(PathBuf),
}

/// Endpoint of a collector.
#[derive(Clone)]
pub struct Collector(Arc<Inner>);

struct Inner {
    url: String,
    trusted: Trusted,
    runtime: Arc<AsyncRuntime>,
    client: OnceLock<Result<reqwest::Client, String>>,
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Collector").field(&shorten_address(&self.0.url)).finish()
    }
}

impl Collector {
    /// Creates a client for this URL, which accepts one kind of data. Opens nothing before the first message.
    pub fn new(url: &str, trusted: Trusted, runtime: Arc<AsyncRuntime>) -> Self {
        Self(Arc::new(Inner { url: url.to_owned(), trusted, runtime, client: OnceLock::new() }))
    }

    /// Returns the URL.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Verifies that the authorities can be loaded. Opens no connection.
    ///
    /// # Errors
    ///
    /// Describes why the authorities are unusable.
    pub fn check(&self) -> Result<(), String> {
        self.0.client().map(drop)
    }

    /// Sends a message and waits for the response.
    ///
    /// # Errors
    ///
    /// Fails if the collector is unreachable, does not respond in time, or refuses the message.
    pub fn send(&self, message: Vec<u8>) -> io::Result<Response<Bytes>> {
        let handle = self.0.runtime.handle().map_err(io::Error::other)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        let sent = handle.block_on(self.0.sent(&self.0.url, headers, message.into()));
        let response = sent.map_err(io::Error::other)?;
        if response.status().is_success() {
            return Ok(response);
        }
        // Many servers repeat the path, which may be a token.
        let said = without_path(&String::from_utf8_lossy(response.body()), &self.0.url);
        let said: String = said.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_BYTES).collect();
        let why = format!("it answers {}", response.status());
        Err(io::Error::other(if said.is_empty() { why } else { format!("{why}: {said}") }))
    }
}

impl Inner {
    fn client(&self) -> Result<&reqwest::Client, String> {
        self.client.get_or_init(|| client(&self.trusted)).as_ref().map_err(Clone::clone)
    }

    async fn sent(&self, url: &str, headers: HeaderMap, body: Bytes) -> Result<Response<Bytes>, String> {
        let told = |error: reqwest::Error| causes(&error.without_url());
        let request = self.client()?.post(url).headers(headers).body(body);
        let mut response = request.send().await.map_err(told)?;
        let mut answer = Response::new(Bytes::new());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = response.headers().clone();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(told)? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_ANSWER_BYTES {
                return Err("its answer is too long".to_owned());
            }
        }
        *answer.body_mut() = body.into();
        Ok(answer)
    }
}

/// The trace exporter calls this from its own threads, which have no runtime.
#[async_trait::async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let inner = Arc::clone(&self.0);
        let (parts, body) = request.into_parts();
        let handle = self.0.runtime.handle()?;
        let sent = handle.spawn(async move { inner.sent(&parts.uri.to_string(), parts.headers, body).await });
        Ok(sent.await??)
    }
}

fn client(trusted: &Trusted) -> Result<reqwest::Client, String> {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("scorpiox-code/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_TIME)
        .timeout(ANSWER_TIME)
        .pool_max_idle_per_host(1);
    let builder = match trusted {
        Trusted::System => builder,
        Trusted::File(path) => builder.tls_certs_only(certificates(path)?),
    };
    builder.build().map_err(|error| format!("requests cannot be made: {}", causes(&error)))
}

fn certificates(path: &Path) -> Result<Vec<reqwest::Certificate>, String> {
    let unusable = |error: &dyn std::fmt::Display| {
        format!("the certificates in {} cannot be used: {error}", path.display())
    };
    let pem = fs::read(path).map_err(|error| unusable(&error))?;
    let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| unusable(&error))?;
    if certificates.is_empty() {
        return Err(format!("{} has no certificate", path.display()));
    }
    Ok(certificates)
}

/// Returns a text without the path of an address.
fn without_path(text: &str, url: &str) -> String {
    let url = url.parse::<http::Uri>().ok();
    let path = url.as_ref().map(http::Uri::path).filter(|path| path.len() > 1);
    path.map_or_else(|| text.to_owned(), |path| text.replace(path, "/…"))
}

/// Describes the root cause, which is the most specific.
fn causes(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    let mut next = error.source();
    while let Some(cause) = next {
        last = cause;
        next = cause.source();
    }
    if error.is_timeout() { "it does not answer in time".to_owned() } else { last.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_repeats_the_path_does_not_show_it() {
        let url = "https://logs.example.com/ingest/t0ken/v1/logs";
        assert_eq!(without_path("no /ingest/t0ken/v1/logs here", url), "no /… here");
        assert_eq!(without_path("full", url), "full");
    }
}
