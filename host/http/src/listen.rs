//! Connections: taken, served, and let go in the end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use scorpiox_server::Workspace;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::access::{Access, Files};
use crate::endpoint::{Endpoint, Options};

/// Most connections at once.
const MAX_CONNECTIONS: usize = 16_384;
/// How long a client may take for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Most bytes of a head, and lines in it.
const MAX_HEAD_BYTES: usize = 32 * 1024;
const MAX_HEADERS: usize = 64;
/// After an error of the system, such as too many open files, the next connection is waited for.
const ERROR_TIME: Duration = Duration::from_millis(50);

/// A server that listens.
pub struct Server {
    endpoint: Arc<Endpoint>,
    address: SocketAddr,
    token: PathBuf,
    handle: Handle,
    ending: watch::Sender<bool>,
    connections: Arc<Semaphore>,
}

impl Server {
    /// Begins to serve a workspace; tokens and secrets are in the program's own folder.
    pub fn start(workspace: &Arc<Workspace>, own_home: &Path, address: SocketAddr) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            return Err(io::Error::other(format!(
                "{address} can be reached from other machines, and there is no TLS yet: serve on 127.0.0.1, behind a \
                 proxy of your own"
            )));
        }
        let files = Files::of(own_home);
        let access = Access::by_token(&files.token()?);
        let secret = files.secret()?;
        let ended = files.ended()?;
        let handle = workspace.app().async_handle().map_err(io::Error::other)?;
        let listener = std::net::TcpListener::bind(address).map_err(|error| {
            io::Error::new(error.kind(), format!("{address} cannot be listened on: {error}"))
        })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = {
            let _guard = handle.enter();
            TcpListener::from_std(listener)?
        };
        let options = Options::on_loopback(Some(access), secret, address.port());
        let endpoint = Arc::new(Endpoint::new(Arc::clone(workspace), handle.clone(), options, ended));
        let (ending, is_ending) = watch::channel(false);
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        handle.spawn(take(listener, Arc::clone(&endpoint), Arc::clone(&connections), is_ending));
        Ok(Self { endpoint, address, token: files.token_path(), handle, ending, connections })
    }

    /// Where the token is that clients show.
    pub fn token(&self) -> &Path {
        &self.token
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends: no new connection or request comes in, calls may end within `patience`, then they are stopped.
    pub fn end(&self, patience: Duration) {
        let _ = self.ending.send(true);
        self.endpoint.end_listening();
        let all_gone = async {
            let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
            timeout(patience, self.connections.acquire_many(all)).await.is_ok()
        };
        if !self.handle.block_on(all_gone) {
            self.endpoint.sessions.all().iter().for_each(|client| client.session.stop_calls());
        }
        self.endpoint.sessions.all().iter().for_each(|client| client.end());
    }
}

async fn take(
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    connections: Arc<Semaphore>,
    mut is_ending: watch::Receiver<bool>,
) {
    loop {
        // It is never closed.
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = is_ending.changed() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, Arc::clone(&endpoint), permit, is_ending.clone()));
            }
            Err(error) => {
                tracing::warn!("a connection was not taken: {error}");
                sleep(ERROR_TIME).await;
            }
        }
    }
}

async fn serve(
    stream: TcpStream,
    endpoint: Arc<Endpoint>,
    permit: OwnedSemaphorePermit,
    mut is_ending: watch::Receiver<bool>,
) {
    // An answer is written at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { Ok::<_, Infallible>(endpoint.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        _ = is_ending.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!("a connection broke: {error}");
    }
    drop(permit);
}
