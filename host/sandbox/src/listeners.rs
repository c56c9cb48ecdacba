//! Listeners in the network of a cell, whose connections the host accepts.

use std::net::TcpListener;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
#[cfg(unix)]
use std::os::unix::net::UnixListener;

#[cfg(target_os = "linux")]
use crate::wire::Listener;

/// Listener at the address of a service.
#[cfg(unix)]
#[derive(Debug)]
pub enum ServiceListener {
    /// A port of the cell's loopback interface.
    Tcp(TcpListener),
    /// A Unix socket in the cell.
    Unix(UnixListener),
}

/// Listeners of a cell, or of a command that has its own network.
#[derive(Debug, Default)]
pub struct Listeners {
    /// Listener for the host's proxy.
    pub proxy: Option<TcpListener>,
    /// Listeners for the services of the cell's specification, in their order.
    #[cfg(unix)]
    pub services: Vec<ServiceListener>,
}

impl Listeners {
    /// Returns listeners without services.
    pub fn of_proxy(proxy: Option<TcpListener>) -> Self {
        Self { proxy, ..Self::default() }
    }

    /// Returns `true` if there are no listeners.
    pub fn is_empty(&self) -> bool {
        #[cfg(unix)]
        let has_services = !self.services.is_empty();
        #[cfg(not(unix))]
        let has_services = false;
        self.proxy.is_none() && !has_services
    }

    /// Assigns the descriptors of a message.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(kinds: &[Listener], fds: Vec<OwnedFd>) -> Self {
        let mut listeners = Self::default();
        for (kind, fd) in kinds.iter().zip(fds) {
            match kind {
                Listener::Proxy => listeners.proxy = Some(fd.into()),
                Listener::Tcp => listeners.services.push(ServiceListener::Tcp(fd.into())),
                Listener::Unix => listeners.services.push(ServiceListener::Unix(fd.into())),
            }
        }
        listeners
    }
}
