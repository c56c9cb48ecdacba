//! Limits on resources that the kernel does not count for a command, or not for a command alone: seccomp
//! forwards the calls that create another one.
//!
//! The supervisor only counts the existing ones when the remaining room is used up. In between it subtracts.

use std::time::{Duration, Instant};

use libc::c_long;
use scorpiox_sandbox::wire::{CellSpec, Limits, Network, Tier};
use scorpiox_sys::linux::questions::{Answer, Ask};

use crate::processes::Mechanism;
use crate::tree::Tree;

/// Minimum time between two counts while the limit is reached.
const RECOUNT_TIME: Duration = Duration::from_millis(20);
/// Memory per socket in bytes. A socket holds unread data, which no process's memory shows: up to the
/// machine's default buffer size, 208 KiB on most, in each direction. Larger buffers cannot be requested. TCP
/// grows its buffers if [`crate::namespaces::bound_buffers`] cannot forbid it.
const MEMORY_OF_SOCKET: u64 = 1024 * 1024;
/// Minimum number of sockets, however little memory there is.
const FEWEST_SOCKETS: u32 = 64;
/// Maximum number of inotify instances. A user has 128 on most machines, which the user's own programs need,
/// too.
const MOST_WATCHERS: u32 = 32;

/// Maximum number of epoll instances. Each holds kernel memory for every watched descriptor, and the number
/// of those is limited for each user.
const MOST_WAITERS: u32 = 128;

/// Calls that create a process or a thread. `clone3` is not allowed at all.
#[cfg(target_arch = "x86_64")]
const PROCESSES: &[c_long] = &[libc::SYS_clone, libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const PROCESSES: &[c_long] = &[libc::SYS_clone];
/// Calls that create sockets. A connection has a second socket at its other end, which holds the sent data,
/// and belongs to no process until it is accepted.
const SOCKETS: &[c_long] = &[libc::SYS_socket, libc::SYS_socketpair, libc::SYS_connect];
/// Calls that create an inotify instance.
#[cfg(target_arch = "x86_64")]
const WATCHERS: &[c_long] = &[libc::SYS_inotify_init1, libc::SYS_inotify_init];
#[cfg(not(target_arch = "x86_64"))]
const WATCHERS: &[c_long] = &[libc::SYS_inotify_init1];

/// Calls that create an epoll instance.
#[cfg(target_arch = "x86_64")]
const WAITERS: &[c_long] = &[libc::SYS_epoll_create1, libc::SYS_epoll_create];
#[cfg(not(target_arch = "x86_64"))]
const WAITERS: &[c_long] = &[libc::SYS_epoll_create1];

/// Limit on one resource.
#[derive(Debug)]
struct Bound {
    calls: &'static [c_long],
    /// Error that the call fails with when the limit is reached.
    error: i32,
    most: u32,
    /// Number of calls to allow before the next count.
    room: u32,
    count_at: Instant,
    count: fn(Tree) -> u32,
}

/// All limits of a command.
#[derive(Debug)]
pub(super) struct Bounds(Vec<Bound>);

impl Bounds {
    /// Creates the limits of a command; includes processes only if no other mechanism limits them.
    pub(super) fn new(limits: &Limits, cell: &CellSpec, processes: Mechanism) -> Self {
        let bound = |calls, error, most, begun, count| Bound {
            calls,
            error,
            most,
            room: u32::saturating_sub(most, begun),
            count_at: Instant::now(),
            count,
        };
        if cell.tier == Tier::None {
            return Self(Vec::new());
        }
        // A separate network contains only sockets of the cell's commands.
        let has_network = matches!(cell.tier, Tier::T1 | Tier::T1b) && cell.network != Network::Host;
        let pairs: fn(Tree) -> u32 = if has_network {
            |tree| sockets_of_network().unwrap_or_else(|| tree.sockets()) / 2
        } else {
            |tree| tree.sockets() / 2
        };
        let sockets = u32::try_from(limits.memory / MEMORY_OF_SOCKET).unwrap_or(u32::MAX).max(FEWEST_SOCKETS);
        let mut all = vec![
            // A pair consists of two sockets.
            bound(SOCKETS, libc::ENOBUFS, sockets / 2, 0, pairs),
            bound(WATCHERS, libc::EMFILE, MOST_WATCHERS, 0, Tree::watchers),
            bound(WAITERS, libc::EMFILE, MOST_WAITERS, 0, Tree::waiters),
        ];
        if processes == Mechanism::Supervisor {
            // The shell exists already.
            all.push(bound(PROCESSES, libc::EAGAIN, limits.processes, 1, Tree::threads));
        }
        Self(all)
    }

    /// Returns the answer to a call; returns `None` if no limit applies to it.
    pub(super) fn decide(&mut self, call: c_long, tree: Tree) -> Option<Answer> {
        let bound = self.0.iter_mut().find(|bound| bound.calls.contains(&call))?;
        let now = Instant::now();
        if bound.room == 0 && now >= bound.count_at {
            bound.room = bound.most.saturating_sub((bound.count)(tree));
            // An ended process makes room immediately. Only at the limit, counting has to wait, so that it
            // takes at most a tenth of the time.
            if bound.room == 0 {
                bound.count_at = Instant::now() + RECOUNT_TIME.max(now.elapsed() * 10);
            }
        }
        let has_room = bound.room > 0;
        bound.room = bound.room.saturating_sub(1);
        Some(if has_room { Answer::Go } else { Answer::Fail(bound.error) })
    }
}

/// Returns the number of sockets in this process's network. It includes those that wait to be accepted and
/// those in transit in messages, which belong to no process.
fn sockets_of_network() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/self/net/sockstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("sockets: used "))?.trim().parse().ok()
}

/// Returns the calls that seccomp forwards because of the limits.
pub(super) fn asks(bounds: &Bounds) -> Vec<Ask> {
    let ask = |call: &c_long| match *call {
        // The filter allows this kind for the supervisor alone, like the call below: for each protocol that a
        // request names, the kernel may load more code.
        libc::SYS_socket => Ask::Unless {
            call: libc::SYS_socket,
            values: [(0, libc::AF_NETLINK.cast_unsigned()), (2, libc::NETLINK_SOCK_DIAG.cast_unsigned())],
            error: libc::ENOSYS,
        },
        call => Ask::Always(call),
    };
    let mut asks: Vec<_> = bounds.0.iter().flat_map(|bound| bound.calls).map(ask).collect();
    if !bounds.0.is_empty() {
        let more_buffer = [(1, libc::SOL_SOCKET.cast_unsigned()), (2, libc::SO_SNDBUF.cast_unsigned())];
        asks.push(Ask::Ignore { call: libc::SYS_setsockopt, values: more_buffer });
        asks.push(Ask::Deny { call: libc::SYS_pidfd_getfd, error: libc::ENOSYS });
    }
    asks
}
