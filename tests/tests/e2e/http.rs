//! The finished program over HTTP.

mod access;
mod admission;
mod hostile;
mod jwt;
#[cfg(unix)]
mod limits;
mod modern;
#[cfg(unix)]
mod observe;
#[cfg(unix)]
mod proxies;
#[cfg(unix)]
mod replicas;
mod sessions;
#[cfg(unix)]
mod tls;
mod workspaces;
