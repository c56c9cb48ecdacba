//! `wasi:http/outgoing-handler`: requests to the hosts that were approved, by the one way that this
//! program makes requests.

use std::sync::Arc;

use http_body_util::{BodyExt as _, Limited};
use scorpiox_audit::Uses;
use scorpiox_policy::HostRule;
use scorpiox_web::{Exchange, Watch, WebError};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::WasiSource;
use crate::capabilities::web::Web;

/// Largest body of a request, in bytes.
const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;

/// What sends the requests of one call.
pub(super) struct Requests {
    plugin: String,
    web: Option<Arc<Web>>,
    hosts: Option<Arc<[HostRule]>>,
    uses: Uses,
}

type Sent = Result<(http::Response<WasiBody>, Ending), Error>;
type Ending = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl Requests {
    pub(super) fn new(source: &WasiSource) -> Self {
        Self {
            plugin: source.name.clone(),
            web: source.web.clone(),
            hosts: source.approved.hosts.clone(),
            uses: source.uses.clone(),
        }
    }
}

impl WasiHttpHooks for Requests {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _ending: Ending,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let (plugin, web, hosts) = (self.plugin.clone(), self.web.clone(), self.hosts.clone());
        let uses = self.uses.clone();
        Box::new(async move {
            let (Some(web), Some(hosts)) = (web, hosts) else {
                let why = "no hosts were approved for this plugin";
                uses.note("web", request.uri().host().unwrap_or_default(), Err(why));
                tracing::warn!(plugin, "a request was refused: {why}");
                return Err(Error::HttpRequestDenied);
            };
            let (parts, body) = request.into_parts();
            let body = Limited::new(body, MAX_BODY_BYTES).collect().await;
            let body = body.map_err(|_| Error::HttpRequestBodySize(Some(MAX_BODY_BYTES as u64)))?;
            let exchange = Exchange {
                method: parts.method,
                url: parts.uri.to_string(),
                headers: parts.headers,
                body: body.to_bytes().into(),
                first_byte: options.and_then(|options| options.first_byte_timeout),
            };
            let fetcher = web.fetcher().map_err(|error| refused(&plugin, &error))?;
            // Calls run on the web's own thread pool, which its connections belong to, too.
            let watch: Watch =
                Arc::new(move |host, port, allowed| uses.note("web", format_args!("{host}:{port}"), allowed));
            let answer =
                fetcher.exchange(exchange, hosts, &watch).await.map_err(|error| refused(&plugin, &error))?;
            let answer = answer.map(|body| body.map_err(|error| broken(&error)).boxed_unsync());
            Ok((answer, Box::new(async { Ok(()) }) as Ending))
        })
    }
}

fn refused(plugin: &str, error: &WebError) -> Error {
    tracing::warn!(plugin, "a request was refused or failed: {error}");
    match error {
        WebError::Denied(_) | WebError::Moved(_) | WebError::NoBrowser(_) => Error::HttpRequestDenied,
        WebError::Invalid(_) => Error::HttpRequestUriInvalid,
        WebError::TooLarge(_) => Error::HttpResponseBodySize(None),
        WebError::TimedOut(_) => Error::ConnectionTimeout,
        WebError::Failed(_) => Error::ConnectionRefused,
    }
}

fn broken(error: &reqwest::Error) -> Error {
    tracing::debug!("an answer broke off: {}", scorpiox_web::broken_off(error));
    Error::HttpResponseIncomplete
}
