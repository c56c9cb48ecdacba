//! HTTP listener for three paths on a separate address.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use scorpiox_executor::threads;
use scorpiox_policy::rule::Sourced;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::observe::ready::{NotReady, Readiness};
use crate::observe::{Watched, metrics};

/// Maximum number of connections. A new connection replaces the oldest, so that open connections cannot block
/// probes.
const MAX_CONNECTIONS: usize = 64;
/// Idle timeout and maximum lifetime of a connection. Each probe or scrape may open its own.
const IDLE_TIME: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(30);
/// Delay before accepting again after a system error, such as too many open files.
const ERROR_TIME: Duration = Duration::from_millis(50);
/// Content type requested by Prometheus 2.5 and newer, and understood by all later scrapers.
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Serves monitoring requests until the process ends.
pub struct Listener {
    address: SocketAddr,
}

impl Listener {
    /// Starts listening in a separate thread, which responds even if all other threads are busy.
    ///
    /// # Errors
    ///
    /// Fails if none of the addresses can be bound.
    pub fn start(addresses: &Sourced<Vec<SocketAddr>>, watched: Watched) -> io::Result<Self> {
        let listener = bound(addresses)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _guard = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let shared = Arc::new(Shared {
            is_local: address.ip().is_loopback(),
            readiness: Readiness::new(&watched),
            watched,
        });
        threads::start("observe", move || serve(&runtime, &listener, &shared))?;
        Ok(Self { address })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Binds the first available address.
fn bound(addresses: &Sourced<Vec<SocketAddr>>) -> io::Result<std::net::TcpListener> {
    let mut tried: Option<(SocketAddr, io::Error)> = None;
    for address in &addresses.value {
        match std::net::TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => tried = Some((*address, error)),
        }
    }
    let (last, error) = tried.ok_or_else(|| io::Error::other("`listen` of [http.observe] is empty"))?;
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; where several servers of one machine have this policy, write a list with one address for each, such as \
             listen = [\"127.0.0.1:9464\", \"127.0.0.1:9465\"], or port 0 for any that is free"
        }
        _ => "",
    };
    let before = if addresses.value.len() > 1 { ", the last of those in it," } else { "" };
    let why = format!(
        "`listen` of [http.observe] ({}): {last}{before} cannot be listened on: {error}{hint}",
        addresses.source
    );
    Err(io::Error::new(error.kind(), why))
}

struct Shared {
    /// `true` if only this machine can reach the listener.
    is_local: bool,
    watched: Watched,
    readiness: Arc<Readiness>,
}

fn serve(runtime: &Runtime, listener: &TcpListener, shared: &Arc<Shared>) {
    runtime.block_on(async {
        let mut connections: VecDeque<JoinHandle<()>> = VecDeque::new();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    connections.retain(|connection| !connection.is_finished());
                    if connections.len() >= MAX_CONNECTIONS
                        && let Some(oldest) = connections.pop_front()
                    {
                        oldest.abort();
                    }
                    connections.push_back(tokio::spawn(converse(stream, Arc::clone(shared))));
                }
                Err(error) => {
                    tracing::warn!("a connection of [http.observe] was not taken: {error}");
                    sleep(ERROR_TIME).await;
                }
            }
        }
    });
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(&request, &shared).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIME)
        .serve_connection(TokioIo::new(stream), service);
    // Connection errors concern only the monitoring client.
    let _ = timeout(LONGEST, connection).await;
}

async fn answer<B>(request: &Request<B>, shared: &Shared) -> Response<Full<Bytes>> {
    if shared.is_local && !is_local(request.headers()) {
        // Protects against DNS rebinding by web pages.
        return said(StatusCode::FORBIDDEN, "ask for localhost, 127.0.0.1 or [::1]\n");
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return said(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
    }
    match request.uri().path() {
        "/livez" => said(StatusCode::OK, "alive\n"),
        "/readyz" => match shared.readiness.check().await {
            Ok(warnings) if warnings.is_empty() => said(StatusCode::OK, "ready\n"),
            Ok(warnings) => {
                with(StatusCode::OK, TEXT, format!("ready\nwarning: {}\n", warnings.join("\nwarning: ")))
            }
            Err(NotReady { reason, why }) => {
                with(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("not ready ({reason}): {why}\n"))
            }
        },
        "/metrics" => match metrics::text(&shared.watched, shared.readiness.check().await.err()) {
            Ok(text) => with(StatusCode::OK, OPEN_METRICS, text),
            Err(error) => {
                tracing::error!("the figures cannot be written: {error}");
                said(StatusCode::INTERNAL_SERVER_ERROR, "the figures cannot be written\n")
            }
        },
        _ => said(StatusCode::NOT_FOUND, "here are /livez, /readyz and /metrics\n"),
    }
}

/// Returns `true` if the `Host` header names this machine.
fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(host, |(name, _)| name);
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn said(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    with(status, TEXT, text.to_owned())
}

fn with(status: StatusCode, kind: HeaderValue, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
