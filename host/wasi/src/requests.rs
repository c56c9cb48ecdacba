//! `wasi:http/outgoing-handler`, and `wasi:http/client` of WASI 0.3: requests to approved hosts, through the
//! same fetcher as all requests of this program.

use std::sync::Arc;

use http::header::{HeaderMap, HeaderName};
use http_body_util::{BodyExt as _, Limited};
use scorpiox_audit::{APPROVAL, BUILT_IN, Uses};
use scorpiox_policy::HostRule;
use scorpiox_web::{Exchange, WebError};
use tokio::sync::{Semaphore, watch};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, Method, Scheme};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::{HasWasi, WasiSource};
use crate::secrets::{self, Secrets};
use scorpiox_capabilities::web::Web;

/// Maximum size of a request body in bytes.
const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;
/// Maximum size of a response body in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of pending requests of a call, each with its body in memory.
const MAX_WAITING: usize = 8;
/// Maximum number of bytes of a request body that are accepted in one write.
const CHUNK_BYTES: usize = 64 * 1024;
/// Maximum length of the method, authority, and path with query, in bytes. The host stores them for each
/// request.
pub(super) const MAX_METHOD_BYTES: usize = 64;
pub(super) const MAX_AUTHORITY_BYTES: usize = 1024;
pub(super) const MAX_PATH_BYTES: usize = 16 * 1024;

/// Name of the WASI interface.
const TYPES: &str = "wasi:http/types@0.2.12";

/// Limits the data that a guest can make the host store before it sends a request.
pub(super) fn link_bounded<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    type Done = wasmtime::Result<(Result<(), ()>,)>;
    type Request = Resource<HostOutgoingRequest>;
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: StoreContextMut<'_, T>, (request, method): (Request, Method)| -> Done {
            let is_long = matches!(&method, Method::Other(name) if name.len() > MAX_METHOD_BYTES);
            if is_long {
                Ok((Err(()),))
            } else {
                Ok((store.data_mut().http().set_method(request, method)?,))
            }
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: StoreContextMut<'_, T>, (request, authority): (Request, Option<String>)| -> Done {
            if authority.as_ref().is_some_and(|authority| authority.len() > MAX_AUTHORITY_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_authority(request, authority)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        |mut store: StoreContextMut<'_, T>, (request, path): (Request, Option<String>)| -> Done {
            if path.as_ref().is_some_and(|path| path.len() > MAX_PATH_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_path_with_query(request, path)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-scheme",
        |mut store: StoreContextMut<'_, T>, (request, scheme): (Request, Option<Scheme>)| -> Done {
            let is_long = matches!(&scheme, Some(Scheme::Other(name)) if name.len() > MAX_METHOD_BYTES);
            if is_long {
                Ok((Err(()),))
            } else {
                Ok((store.data_mut().http().set_scheme(request, scheme)?,))
            }
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Sends the requests of one call.
pub(super) struct Requests {
    plugin: String,
    web: Option<Arc<Web>>,
    hosts: Option<Arc<[HostRule]>>,
    secrets: Arc<Secrets>,
    uses: Uses,
    places: Arc<Semaphore>,
    /// Dropped at the end of the call, which cancels its requests, even if the instance is retained.
    call: watch::Sender<()>,
}

type Sent = Result<(http::Response<WasiBody>, Ending), Error>;
type Ending = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl Requests {
    pub(super) fn new(source: &WasiSource) -> Self {
        Self {
            plugin: source.name.clone(),
            web: source.web.clone(),
            hosts: source.approved.hosts.clone(),
            secrets: Arc::clone(&source.secrets),
            uses: source.uses.clone(),
            places: Arc::new(Semaphore::new(MAX_WAITING)),
            call: watch::channel(()).0,
        }
    }
}

impl WasiHttpHooks for Requests {
    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK_BYTES
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _ending: Ending,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let (plugin, web, hosts) = (self.plugin.clone(), self.web.clone(), self.hosts.clone());
        let (uses, places) = (self.uses.clone(), Arc::clone(&self.places));
        let secrets = Arc::clone(&self.secrets);
        let mut call = self.call.subscribe();
        let sent = async move {
            let _place = places.try_acquire().map_err(|_| Error::ConnectionLimitReached)?;
            let (Some(web), Some(hosts)) = (web, hosts) else {
                let why = "no hosts were approved for this plugin";
                return Err(denied(&plugin, &uses, request.uri(), why, APPROVAL));
            };
            let (mut parts, body) = request.into_parts();
            if let Err(unsent) = secrets::add(&secrets.headers, &parts.method, &parts.uri, &mut parts.headers)
            {
                return Err(denied(&plugin, &uses, &parts.uri, &unsent.to_string(), BUILT_IN));
            }
            let body = Limited::new(body, MAX_BODY_BYTES).collect().await;
            let body = body.map_err(|_| Error::HttpRequestBodySize(Some(MAX_BODY_BYTES as u64)))?;
            let trailers = body.trailers().cloned().unwrap_or_default();
            if let Some(field) = header_among(&trailers) {
                let why = format!(
                    "HTTP allows the field {field} only in headers, and the plugin sent it as a trailer"
                );
                return Err(denied(&plugin, &uses, &parts.uri, &why, BUILT_IN));
            }
            let exchange = Exchange {
                method: parts.method,
                url: parts.uri.to_string(),
                headers: parts.headers,
                body: body.to_bytes(),
                trailers,
                first_byte: options.and_then(|options| options.first_byte_timeout),
            };
            let failed = uses.clone();
            let refused = |error: WebError| refused(&plugin, &failed, &error);
            let fetcher = web.fetcher().map_err(refused)?;
            // Calls run on the thread pool of the fetcher, to which its connections also belong.
            let watch = Arc::clone(&web).watch(Some(Arc::clone(&hosts)), uses);
            let answer = fetcher.exchange(exchange, hosts, &watch).await.map_err(refused)?;
            let answer = answer.map(|body| {
                Limited::new(body, MAX_ANSWER_BYTES).map_err(|error| broken(&*error)).boxed_unsync()
            });
            Ok((answer, Box::new(async { Ok(()) }) as Ending))
        };
        Box::new(async move {
            tokio::select! {
                sent = sent => sent,
                // No value is ever sent on this channel; a change means that the call has ended.
                _ = call.changed() => Err(Error::ConnectionTerminated),
            }
        })
    }
}

/// Fields for framing, routing, authentication and content (RFC 9110, 6.5.1), which a recipient of trailers ignores or
/// misunderstands. They would otherwise be left out without a word.
const ONLY_IN_HEADERS: [&str; 17] = [
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "expect",
    "host",
    "max-forwards",
    "proxy-authorization",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns a field among the trailers that may only be a header.
fn header_among(trailers: &HeaderMap) -> Option<&HeaderName> {
    trailers.keys().find(|name| ONLY_IN_HEADERS.contains(&name.as_str()))
}

fn denied(plugin: &str, uses: &Uses, uri: &http::Uri, why: &str, rule: &str) -> Error {
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    uses.denied("web", format_args!("{}:{port}", uri.host().unwrap_or_default()), why, rule);
    tracing::debug!(plugin, "a request was refused: {why}");
    Error::HttpRequestDenied
}

fn refused(plugin: &str, uses: &Uses, error: &WebError) -> Error {
    uses.failed("wasi:http", error);
    tracing::warn!(plugin, "a request was refused or failed: {error}");
    match error {
        WebError::Denied(_) | WebError::Moved(_) | WebError::NoBrowser(_) => Error::HttpRequestDenied,
        WebError::Invalid(_) => Error::HttpRequestUriInvalid,
        WebError::TooLarge(_) => Error::HttpResponseBodySize(None),
        WebError::TimedOut(_) => Error::ConnectionTimeout,
        WebError::Failed(_) => Error::ConnectionRefused,
    }
}

fn broken(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Error {
    tracing::debug!("an answer broke off: {error}");
    Error::HttpResponseIncomplete
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn trailers_are_fields_that_may_follow_a_body() {
        let of = |name: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static("1"))])
        };
        for allowed in ["x-sum", "etag", "digest", "server-timing"] {
            assert_eq!(header_among(&of(allowed)), None, "{allowed}");
        }
        for header in
            ["authorization", "content-length", "transfer-encoding", "host", "trailer", "set-cookie"]
        {
            assert_eq!(header_among(&of(header)).map(HeaderName::as_str), Some(header));
        }
    }
}
