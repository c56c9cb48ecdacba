//! Accepts, serves and closes connections.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::issuer::Issuer;
use crate::request::admission::Doors;
use hyper::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use scorpiox_exchange::seal::Secret;
use scorpiox_executor::shares::Shares;
use scorpiox_policy::access::{Auth, HttpPolicy, KeysFrom};
use scorpiox_server::Workspace;
use scorpiox_store_postgres::Database;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::bounds::{Blocking, MAX_BLOCKING, Patient, Peers, Places, Room, Serving, Streams, whole};
use crate::callers::Callers;
use crate::challenge::Challenge;
use crate::descriptors;
use crate::endpoint::{Endpoint, Options, Singles, url};
use crate::files::Files;
use crate::kept::KeptAnswers;
use crate::lookups::Lookups;
use crate::pages::{Desk, Pages};
use crate::passed::{self, Passing};
use crate::served::AllServed;
use crate::sessions::{Client, Sessions};
use crate::shared::Shared;
use crate::tls::Certificate;
use crate::unread::watched;

/// Host names of this machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// Sections of the policy that decide about connections and workspaces, and are read once.
const READ_AT_START: [&str; 3] = ["http", "limits", "workspace"];
/// Maximum number of threads that drive connections.
const MAX_THREADS: usize = 8;
/// Maximum number of connections at the same time.
const MAX_CONNECTIONS: usize = 16_384;
/// Time that a connection may be idle. Longer than proxies keep pooled connections, so that the proxy closes
/// them.
const IDLE_TIME: Duration = Duration::from_secs(90);
/// Idle time of a connection accepted while the server shuts down: its request was already on the way.
const LAST_TIME: Duration = Duration::from_secs(1);
/// Maximum time for stopped calls to end. Calls that do not react get their audit lines from the server.
const STOP_TIME: Duration = Duration::from_secs(1);
/// Time between two checks whether they ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Maximum size of the request headers in bytes, and their maximum number.
const MAX_HEAD_BYTES: usize = 32 * 1024;
const MAX_HEADERS: usize = 64;
/// Pause after an error of `accept`, such as too many open files.
const ERROR_TIME: Duration = Duration::from_millis(50);

/// Time after the signal to end for requests that have arrived and were not read yet. Without it, their connections would
/// be closed as idle ones.
const ARRIVED_TIME: Duration = Duration::from_millis(100);

/// Maximum number of connections of one peer (of IPv6, a /64), unless it is on this machine or a declared proxy.
const MAX_OF_PEER: usize = 512;
/// HSTS header: browsers use only encrypted connections to the host for a year.
const TRANSPORT_SECURITY: HeaderValue = HeaderValue::from_static("max-age=31536000");
/// Value of `Connection` for an answer that comes before the end of its request.
const CLOSE: HeaderValue = HeaderValue::from_static("close");
/// Timeout of the TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// A listening server.
pub struct Server {
    endpoint: Arc<Endpoint>,
    address: SocketAddr,
    token: Option<PathBuf>,
    is_secure: bool,
    runtime: Runtime,
    ending: watch::Sender<bool>,
    connections: Arc<Semaphore>,
    /// Task that accepts connections, until [`end`](Self::end) waits for it.
    accepting: Mutex<Option<JoinHandle<()>>>,
}

/// Current load and counters of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Number of open connections.
    pub connections: usize,
    /// Number of sessions in memory.
    pub sessions: usize,
    /// Number of running calls.
    pub running: usize,
    /// Number of queued calls.
    pub waiting: usize,
    /// Number of running and queued calls of each principal that has any.
    pub of: BTreeMap<String, [usize; 2]>,
    /// Number of answered requests by status code.
    pub answered: BTreeMap<u16, u64>,
}

impl Server {
    /// Starts serving workspaces by name. The policy of the first workspace applies. Tokens are in the
    /// program's own directory, as is session state unless a database is given.
    pub fn start(
        workspaces: Vec<(String, Arc<Workspace>)>,
        own_home: &Path,
        database: Option<Arc<Database>>,
        address: SocketAddr,
        pages: Option<Arc<dyn Pages>>,
    ) -> io::Result<Self> {
        let (_, first) = workspaces.first().ok_or_else(|| io::Error::other("there is nothing to serve"))?;
        let first = Arc::clone(first);
        for (_, workspace) in &workspaces {
            workspace.read_at_start(&READ_AT_START);
        }
        let policy = first.operator().server_policy().map_err(io::Error::other)?;
        check(address, &policy.http)?;
        check_files(&policy.http, &workspaces)?;
        let files = Files::of(own_home);
        let fetching = first.app().async_runtime();
        let callers = Callers::of(&policy.http, &files, |jwt| Issuer::new(jwt, Arc::clone(&fetching)))?;
        let certificate = policy.http.tls.as_ref().map(|tls| Certificate::read(&tls.value)).transpose()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS))
            .max_blocking_threads(MAX_BLOCKING)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(|error| io::Error::new(error.kind(), format!("no threads can be started: {error}")))?;
        let handle = runtime.handle().clone();
        let listener = std::net::TcpListener::bind(address).map_err(|error| {
            io::Error::new(error.kind(), format!("{address} cannot be listened on: {error}"))
        })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = {
            let _guard = handle.enter();
            TcpListener::from_std(listener)?
        };
        let (shared, secret) = Shared::open(&files, database)?;
        let options = options(&policy.http, secret, address);
        let desk = pages
            .zip(policy.http.admin.as_ref())
            .map(|(pages, admin)| Desk::new(pages, admin, &policy.http, &options.secret).map(Arc::new));
        let desk = desk.transpose()?;
        let most_connections = descriptors::connections(MAX_CONNECTIONS);
        let connections = Arc::new(Semaphore::new(most_connections));
        let token = matches!(policy.http.auth.value, Auth::OwnToken).then(|| files.token_path());
        let endpoint = Arc::new(Endpoint {
            served: AllServed::new(workspaces, Arc::clone(&first), &policy.served),
            sessions: Sessions::new(&options.secret, shared, callers.are_many()),
            blocking: Arc::new(Blocking::new(handle.clone(), callers.are_many())),
            places: Places::new(callers.are_many()),
            room: Room::of_requests(callers.are_many()),
            unsent: Room::of_answers(callers.are_many()),
            streams: Streams::new(most_connections, callers.are_many()),
            kept: KeptAnswers::new(callers.are_many()),
            challenge: Challenge::of(&policy.http),
            callers,
            peers: Peers::default(),
            singles: Singles::default(),
            subscriptions: Mutex::default(),
            lookups: Lookups::default(),
            answered: Mutex::default(),
            passing: Passing::default(),
            desk,
            connections: Arc::clone(&connections),
            most_connections,
            options,
        });
        let hearing = Arc::downgrade(&endpoint);
        endpoint.sessions.shared().hear_passed(move |number, message| {
            if let Some(endpoint) = hearing.upgrade() {
                passed::heard(&endpoint, number, message);
            }
        })?;
        endpoint.end_streams_on_revocation();
        let (ending, is_ending) = watch::channel(false);
        let door = Door {
            endpoint: Arc::clone(&endpoint),
            certificate: certificate.map(Arc::new),
            connections: Arc::clone(&connections),
            of_peers: Arc::new(Mutex::new(Shares::new(most_connections, MAX_OF_PEER))),
        };
        let is_secure = door.certificate.is_some();
        let accepting = Mutex::new(Some(handle.spawn(take(listener, door, is_ending))));
        Ok(Self { endpoint, address, token, is_secure, runtime, ending, connections, accepting })
    }

    /// Returns the path of the token that the program created for clients, if any.
    pub fn token(&self) -> Option<&Path> {
        self.token.as_deref()
    }

    /// Returns the URL for clients on this machine.
    pub fn url(&self) -> String {
        url(self.address, self.is_secure)
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the current load and the counters.
    pub fn load(&self) -> Load {
        self.endpoint.load()
    }

    /// Returns the served workspaces with their names.
    pub fn workspaces(&self) -> Vec<(String, Arc<Workspace>)> {
        self.endpoint.served.all()
    }

    /// Returns `true` if all connections are in use, so that others wait.
    pub fn is_full(&self) -> bool {
        self.connections.available_permits() == 0
    }

    /// Returns `true` after [`end`](Self::end) has been called: the server accepts nothing new.
    pub fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// Shuts down and closes the workspaces. Accepts no new connections or requests. Running calls may finish
    /// within `patience`, then they are stopped.
    pub fn end(&self, patience: Duration) {
        let _ = self.ending.send(true);
        self.endpoint.end_listening();
        let accepting = self.accepting.lock().take();
        let all_gone = async {
            // Waiting for all places takes each that becomes free, also from the last connections.
            if let Some(accepting) = accepting
                && timeout(patience, accepting).await.is_err()
            {
                return false;
            }
            let all = u32::try_from(self.endpoint.most_connections).unwrap_or(u32::MAX);
            timeout(patience, self.connections.acquire_many(all)).await.is_ok()
        };
        if !self.runtime.block_on(all_gone) {
            let clients: Vec<_> =
                self.endpoint.sessions.all().into_iter().chain(self.endpoint.singles.all()).collect();
            for client in &clients {
                client.session.stop_calls();
            }
            self.runtime.block_on(are_idle(&clients));
        }
        self.endpoint.sessions.all().iter().for_each(|client| client.end());
        self.endpoint.served.close();
    }
}

/// Waits until stopped calls have ended, at most [`STOP_TIME`].
async fn are_idle(clients: &[Arc<Client>]) {
    let until = Instant::now() + STOP_TIME;
    while Instant::now() < until && !clients.iter().all(|client| client.session.is_idle()) {
        sleep(LOOK_EVERY).await;
    }
}

/// Checks that the address may be served. An address that other machines can reach needs authentication and
/// encryption.
fn check(address: SocketAddr, http: &HttpPolicy) -> io::Result<()> {
    if address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let refuse =
        |why: &str| Err(io::Error::other(format!("{address} can be reached from other machines, and {why}")));
    if matches!(http.auth.value, Auth::Nothing) {
        return refuse(
            "`kind = \"none\"` in [http.auth] of policy.toml lets everybody call; write \"token\" or \"jwt\"",
        );
    }
    if http.tls.is_none() && http.proxies.is_empty() {
        return refuse(
            "policy.toml has neither [http.tls] with a certificate nor `proxies` in [http] that encrypt; write one of them, \
             or serve on 127.0.0.1",
        );
    }
    Ok(())
}

/// Checks that everything named in the policy is usable at any address: certificates, keys, and their
/// locations.
pub fn check_policy(workspaces: &[(String, Arc<Workspace>)]) -> io::Result<()> {
    let (_, first) = workspaces.first().ok_or_else(|| io::Error::other("there is nothing to serve"))?;
    let policy = first.operator().server_policy().map_err(io::Error::other)?;
    check_files(&policy.http, workspaces)?;
    for jwt in policy.http.auth.value.issuers() {
        Issuer::new(&jwt.value, first.app().async_runtime())?;
    }
    policy.http.tls.as_ref().map(|tls| Certificate::read(&tls.value)).transpose()?;
    Ok(())
}

/// Refuses certificate and key files that commands could change, because they decide authentication and
/// identity.
fn check_files(http: &HttpPolicy, workspaces: &[(String, Arc<Workspace>)]) -> io::Result<()> {
    let keys = http.auth.value.issuers().iter().flat_map(|jwt| {
        let keys = match &jwt.value.keys {
            KeysFrom::File(path) => Some(path),
            KeysFrom::Url(_) => None,
        };
        keys.into_iter().chain(&jwt.value.ca)
    });
    let tls = http.tls.iter().flat_map(|tls| [&tls.value.certificate, &tls.value.key]);
    let ca = http.observe.ca.iter().map(|ca| &ca.value);
    let files: Vec<_> = tls.chain(keys).chain(ca).map(Path::new).collect();
    for (name, workspace) in workspaces {
        let writable = workspace.operator().writable().map_err(io::Error::other)?;
        let inside = files.iter().find(|file| {
            let leads_to = dunce::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
            writable.covers(file) || writable.covers(&leads_to)
        });
        if let Some(file) = inside {
            return Err(io::Error::other(format!(
                "{} is where commands of the workspace {name} can write; put it where only you can",
                file.display()
            )));
        }
    }
    Ok(())
}

/// Returns the origins under which pages on this machine reach the server.
fn own_origins(http: &HttpPolicy, address: SocketAddr) -> Vec<String> {
    let scheme = if http.tls.is_some() { "https" } else { "http" };
    LOCAL.map(|host| format!("{scheme}://{host}:{}", address.port())).into()
}

/// Returns the names and origins that requests may use: those of this machine and those in the policy.
fn options(http: &HttpPolicy, secret: Secret, address: SocketAddr) -> Options {
    let local = LOCAL.map(str::to_owned);
    let own_origins = own_origins(http, address);
    let public = http.url.as_ref().and_then(|url| url::Url::parse(&url.value).ok());
    let public_origin = public.as_ref().map(|url| url.origin().ascii_serialization());
    let public = public.and_then(|url| Some(url.host_str()?.to_owned()));
    let own = match address.ip() {
        ip if ip.is_unspecified() => None,
        IpAddr::V4(ip) => Some(ip.to_string()),
        IpAddr::V6(ip) => Some(format!("[{ip}]")),
    };
    let hosts = http.hosts.iter().map(|host| host.value.clone()).chain(public).chain(own);
    let hosts: Vec<_> = hosts.filter(|host| !local.contains(host)).collect();
    let doors = Doors {
        hosts: local.into_iter().chain(hosts).collect(),
        origins: own_origins.iter().chain(http.origins.iter().map(|origin| &origin.value)).cloned().collect(),
        own_origins: own_origins.into_iter().chain(public_origin).collect(),
        proxies: http.proxies.clone(),
    };
    Options { secret, doors }
}

/// State for accepting connections.
struct Door {
    endpoint: Arc<Endpoint>,
    certificate: Option<Arc<Certificate>>,
    connections: Arc<Semaphore>,
    of_peers: OfPeers,
}

/// Number of connections of each peer.
type OfPeers = Arc<Mutex<Shares<IpAddr>>>;

impl Door {
    /// Waits until a connection can be served. Returns `None` if the server is gone.
    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() {
            return Some(permit);
        }
        tracing::warn!(
            "all {} connections are in use; others wait until a client closes one",
            self.endpoint.most_connections
        );
        Arc::clone(&self.connections).acquire_owned().await.ok()
    }

    /// Admits a connection of a peer, unless it has too many. The connection counts until the result is
    /// dropped.
    fn admit(&self, peer: IpAddr) -> Option<Counted> {
        let proxies = &self.endpoint.options.doors.proxies;
        let is_proxy = proxies.iter().any(|proxy| proxy.contains(peer));
        if !proxies.is_empty() && !is_proxy {
            return None;
        }
        if is_proxy || peer.is_loopback() {
            return Some(Counted(None));
        }
        let peer = whole(peer);
        let has_one = self.of_peers.lock().take(peer);
        has_one.then(|| Counted(Some((Arc::clone(&self.of_peers), peer))))
    }

    /// Serves a connection with the given idle timeout.
    fn let_in(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
        is_ending: &watch::Receiver<bool>,
        idle: Duration,
    ) {
        let peer = peer.ip().to_canonical();
        let Some(counted) = self.admit(peer) else {
            tracing::info!("a connection from {peer} is not taken: it is no declared proxy, or has too many");
            return;
        };
        let connection = Connection {
            endpoint: Arc::clone(&self.endpoint),
            peer,
            is_ending: is_ending.clone(),
            idle,
            _counts: (permit, counted),
        };
        tokio::spawn(connection.begin(stream, self.certificate.clone()));
    }
}

/// Counts a connection for its peer until dropped.
struct Counted(Option<(OfPeers, IpAddr)>);

impl Drop for Counted {
    fn drop(&mut self) {
        let Some((of_peers, peer)) = &self.0 else { return };
        of_peers.lock().give_back(peer);
    }
}

async fn take(listener: TcpListener, door: Door, mut is_ending: watch::Receiver<bool>) {
    let begun = is_ending.clone();
    loop {
        let next = async { Some((door.permit().await?, listener.accept().await)) };
        let next = tokio::select! {
            next = next => next,
            _ = is_ending.changed() => break,
        };
        let Some((permit, accepted)) = next else { return };
        match accepted {
            Ok((stream, peer)) => door.let_in(stream, peer, permit, &begun, IDLE_TIME),
            Err(error) => {
                tracing::warn!("a connection was not taken: {error}");
                sleep(ERROR_TIME).await;
            }
        }
    }
    // The system has already accepted these connections, and would reset them with their data.
    let Ok(listener) = listener.into_std() else { return };
    while let Ok(permit) = Arc::clone(&door.connections).try_acquire_owned()
        && let Ok((stream, peer)) = listener.accept()
    {
        let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
        if let Ok(stream) = stream {
            door.let_in(stream, peer, permit, &begun, LAST_TIME);
        }
    }
}

/// An accepted connection.
struct Connection {
    endpoint: Arc<Endpoint>,
    peer: IpAddr,
    is_ending: watch::Receiver<bool>,
    idle: Duration,
    _counts: (OwnedSemaphorePermit, Counted),
}

impl Connection {
    async fn begin(mut self, stream: TcpStream, certificate: Option<Arc<Certificate>>) {
        // Answers are written at once, so batching them only adds delay.
        let _ = stream.set_nodelay(true);
        let Some(certificate) = certificate else { return self.serve(stream, None).await };
        let agreed = tokio::select! {
            agreed = timeout(HANDSHAKE_TIME.min(self.idle), certificate.acceptor().accept(stream)) => agreed,
            _ = self.is_ending.changed(), if self.idle > LAST_TIME => return,
        };
        match agreed {
            Ok(Ok(stream)) => self.serve(stream, Some(TRANSPORT_SECURITY)).await,
            Ok(Err(error)) => tracing::debug!("{} did not agree on how to encrypt: {error}", self.peer),
            Err(_) => tracing::debug!("{} took too long to agree on how to encrypt", self.peer),
        }
    }

    /// Serves requests. Each answer gets the header value `security`, if any.
    async fn serve(
        mut self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        security: Option<HeaderValue>,
    ) {
        let (endpoint, peer) = (Arc::clone(&self.endpoint), self.peer);
        let serving = Serving::default();
        let is_serving = serving.clone();
        let service = service_fn(move |request| {
            let (endpoint, serving, security) = (Arc::clone(&endpoint), &is_serving, security.clone());
            let served = serving.begin();
            let (request, reading) = watched(request);
            let is_serving = is_serving.clone();
            async move {
                let mut answer = Arc::clone(&endpoint).answer(request, peer).await;
                if reading.is_unfinished() {
                    answer.headers_mut().insert(CONNECTION, CLOSE);
                    is_serving.closes_unread();
                }
                *endpoint.answered.lock().entry(answer.status().as_u16()).or_default() += 1;
                answer.body_mut().hold(served);
                if let Some(security) = security {
                    answer.headers_mut().insert(STRICT_TRANSPORT_SECURITY, security);
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.idle)
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(Patient::new(stream, serving)), service);
        let mut connection = std::pin::pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            _ = self.is_ending.changed() => {
                if let Ok(served) = timeout(ARRIVED_TIME, connection.as_mut()).await {
                    served
                } else {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        };
        if let Err(error) = served {
            tracing::debug!("a connection broke: {error}");
        }
    }
}
