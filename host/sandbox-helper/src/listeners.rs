//! Listeners in the network of a cell: for the host's proxy, and at the addresses of services of the machine.
//!
//! The helper only creates them. The host accepts the connections and forwards them.

use std::collections::VecDeque;
use std::fs;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use scorpiox_sandbox::PROXY_PORT;
use scorpiox_sandbox::wire::{CellSpec, Fault, Listener, Local, Network};

/// Listeners of a cell, or of a command with its own network.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    proxy: Option<OwnedFd>,
    /// Listeners for the services, in the order of the specification.
    services: Vec<(Listener, OwnedFd)>,
}

impl Listeners {
    /// Listens at the ports.
    pub(super) fn at_ports(spec: &CellSpec) -> Result<Self, Fault> {
        let proxy = (spec.network == Network::Proxy)
            .then(|| TcpListener::bind(("127.0.0.1", PROXY_PORT)))
            .transpose()
            .map_err(Fault::at("listening for the proxy"))?;
        let mut services = Vec::new();
        for service in &spec.local {
            if let Local::Tcp(address) = service {
                let listener = TcpListener::bind(address)
                    .map_err(|error| Fault::new(format!("listening at {address} in the sandbox"), error))?;
                services.push((Listener::Tcp, listener.into()));
            }
        }
        Ok(Self { proxy: proxy.map(OwnedFd::from), services })
    }

    /// Listens at the paths, below `root`.
    pub(super) fn listen_at_paths(&mut self, spec: &CellSpec, root: &Path) -> Result<(), Fault> {
        let mut at_ports: VecDeque<_> = std::mem::take(&mut self.services).into();
        for service in &spec.local {
            match service {
                Local::Tcp(_) => self.services.extend(at_ports.pop_front()),
                Local::Unix(path) => {
                    let listener = at_path(path.as_path(), root).map_err(|error| {
                        Fault::new(format!("listening at {} in the sandbox", path.as_path().display()), error)
                    })?;
                    self.services.push((Listener::Unix, listener));
                }
            }
        }
        Ok(())
    }

    /// Returns the kinds of the descriptors.
    pub(super) fn kinds(&self) -> Vec<Listener> {
        let proxy = self.proxy.iter().map(|_| Listener::Proxy);
        proxy.chain(self.services.iter().map(|(kind, _)| *kind)).collect()
    }

    /// Returns the descriptors.
    pub(super) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.proxy.iter().chain(self.services.iter().map(|(_, fd)| fd)).map(AsFd::as_fd).collect()
    }
}

/// Returns the directories that sockets of services are made in, each once and before its subdirectories.
pub(super) fn folders(spec: &CellSpec) -> Vec<PathBuf> {
    let paths = spec.local.iter().filter_map(|service| match service {
        Local::Tcp(_) => None,
        Local::Unix(path) => path.as_path().parent().map(Path::to_owned),
    });
    let mut folders: Vec<_> = paths.collect();
    folders.sort();
    folders.dedup();
    folders
}

fn at_path(path: &Path, root: &Path) -> std::io::Result<OwnedFd> {
    let inside = path.strip_prefix("/").unwrap_or(path);
    let mut folder = root.to_owned();
    for part in inside.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        // A link of the new root would lead into the machine's tree.
        match folder.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(std::io::Error::other(format!("{} is no folder", folder.display()))),
            Err(_) => fs::create_dir(&folder)?,
        }
    }
    Ok(UnixListener::bind(root.join(inside))?.into())
}
