//! Creates the namespaces of a cell.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::Signal;
use scorpiox_sandbox::packet;
use scorpiox_sandbox::wire::{Built, CellSpec, Fault, Network};
use scorpiox_sys::linux::sys::{self, Side};

use crate::listeners::Listeners;

/// Creates the cell's namespaces and a first process in them. Returns `false` immediately in the new process,
/// and `true` in the calling process after the new one has ended.
pub(super) fn enter(spec: &CellSpec, host: &OwnedFd) -> Result<bool, Fault> {
    match unshare(spec).and_then(|()| first_process()) {
        Ok(is_parent) => Ok(is_parent),
        Err(fault) => {
            let _ = packet::send(host.as_fd(), &Built::Failed(fault.clone()), &[]);
            Err(fault)
        }
    }
}

fn unshare(spec: &CellSpec) -> Result<(), Fault> {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    if spec.network != Network::Host {
        flags |= libc::CLONE_NEWNET;
    }
    sys::unshare(flags).map_err(Fault::at("making namespaces"))?;
    // The IDs inside equal those outside, so that files show their actual owner.
    let map = |file: &str, text: &str| {
        fs::write(file, text).map_err(|error| Fault::new(format!("writing {file}"), error))
    };
    map("/proc/self/setgroups", "deny")?;
    map("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    map("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    leave_watchers();
    rustix::system::sethostname(b"cell").map_err(Fault::at("naming the cell"))
}

/// Leaves half of the user's inotify instances and watches to other programs, whatever all commands together
/// use. If this limit cannot be set, only the limit of each command applies.
fn leave_watchers() {
    for (given, left) in [
        ("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances"),
        ("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"),
    ] {
        let most = fs::read_to_string(given).ok().and_then(|text| text.trim().parse::<u32>().ok());
        let _ = most.map(|most| fs::write(left, (most / 2).max(1).to_string()));
    }
}

/// Continues in a child, the first process of the new PID namespace.
fn first_process() -> Result<bool, Fault> {
    match sys::fork_into(0).map_err(Fault::at("starting the cell's first process"))? {
        Side::Parent(child) => {
            // The end of this process ends the cell.
            let _ = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
            Ok(true)
        }
        Side::Child => {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(Fault::at("tying the cell to its parent"))?;
            Ok(false)
        }
    }
}

/// Enables the loopback interface; returns the listeners at its ports.
pub(super) fn network(spec: &CellSpec) -> Result<Listeners, Fault> {
    if spec.network == Network::Host {
        return Ok(Listeners::default());
    }
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(Fault::at("making a socket"))?;
    sys::loopback_up(any.as_fd()).map_err(Fault::at("switching the loopback interface on"))?;
    Listeners::at_ports(spec)
}

/// Limits the unread data of a TCP connection to that of any other socket: by default the kernel grows the
/// buffers to megabytes. Switches off connections without `connect`, which the supervisor could not see. Applies to a cell with its own network, to which `/proc` must belong. If the limit
/// cannot be set, the kernel's limit on all buffers applies.
pub(super) fn bound_buffers(spec: &CellSpec) {
    if spec.network == Network::Host {
        return;
    }
    for (file, bytes) in
        [("tcp_rmem", "4096 131072 212992"), ("tcp_wmem", "4096 16384 212992"), ("tcp_fastopen", "0")]
    {
        let _ = fs::write(format!("/proc/sys/net/ipv4/{file}"), bytes);
    }
}
