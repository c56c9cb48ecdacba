//! Bounds on what the kernel does not count for a command, or not for a command alone: the
//! filter on system calls asks the supervisor before there is one more.
//!
//! The supervisor counts what there is only when as many have begun as there was room for; in
//! between it subtracts.

use std::time::{Duration, Instant};

use libc::c_long;
use scorpiox_cell::wire::{CellSpec, Limits, Network, Tier};
use scorpiox_kernel::sys::{Answer, Ask};

use crate::tree::Tree;

/// When there is no room, this long passes before it is counted again.
const RECOUNT_TIME: Duration = Duration::from_millis(20);
/// A socket holds data that nobody has read yet, which no process's memory shows: as many bytes as
/// the machine gives a socket by default, 208 KiB on most, in each direction. More cannot be asked
/// for. TCP takes more by itself where [`crate::namespaces::bound_buffers`] cannot forbid it.
const MEMORY_OF_SOCKET: u64 = 1024 * 1024;
/// Fewest sockets, however little memory there is.
const FEWEST_SOCKETS: u32 = 64;
/// Of the watchers that the machine gives a user, 128 on most, which the user's own programs
/// need as well.
const MOST_WATCHERS: u32 = 32;

/// Each holds a place in the kernel for each descriptor that it waits for, of which the machine gives
/// a user so many.
const MOST_WAITERS: u32 = 128;

/// Calls that make a process or a thread. `clone3` is not allowed at all.
#[cfg(target_arch = "x86_64")]
const PROCESSES: &[c_long] = &[libc::SYS_clone, libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const PROCESSES: &[c_long] = &[libc::SYS_clone];
/// Calls that make sockets. A connection has another one at its end, which holds what was sent, and
/// which no process has before it accepts it.
const SOCKETS: &[c_long] = &[libc::SYS_socket, libc::SYS_socketpair, libc::SYS_connect];
/// Calls that make a watcher of files.
#[cfg(target_arch = "x86_64")]
const WATCHERS: &[c_long] = &[libc::SYS_inotify_init1, libc::SYS_inotify_init];
#[cfg(not(target_arch = "x86_64"))]
const WATCHERS: &[c_long] = &[libc::SYS_inotify_init1];

/// Calls that make what waits for descriptors.
#[cfg(target_arch = "x86_64")]
const WAITERS: &[c_long] = &[libc::SYS_epoll_create1, libc::SYS_epoll_create];
#[cfg(not(target_arch = "x86_64"))]
const WAITERS: &[c_long] = &[libc::SYS_epoll_create1];

/// A bound on one thing.
#[derive(Debug)]
struct Bound {
    calls: &'static [c_long],
    /// What a caller is told that there is too much of.
    error: i32,
    most: u32,
    /// How many may begin before the next count.
    room: u32,
    count_at: Instant,
    count: fn(Tree) -> u32,
}

/// All of a command's.
#[derive(Debug)]
pub(super) struct Bounds(Vec<Bound>);

impl Bounds {
    /// The bounds of a command; on processes only where nothing else has it.
    pub(super) fn new(limits: &Limits, cell: &CellSpec, processes_are_bounded: bool) -> Self {
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
        // A network of the cell's own has no sockets but those of its commands.
        let has_network = matches!(cell.tier, Tier::T1 | Tier::T1b) && cell.network != Network::Host;
        let pairs: fn(Tree) -> u32 = if has_network {
            |tree| sockets_of_network().unwrap_or_else(|| tree.sockets()) / 2
        } else {
            |tree| tree.sockets() / 2
        };
        let sockets = u32::try_from(limits.memory / MEMORY_OF_SOCKET).unwrap_or(u32::MAX).max(FEWEST_SOCKETS);
        let mut all = vec![
            // A pair is two.
            bound(SOCKETS, libc::ENOBUFS, sockets / 2, 0, pairs),
            bound(WATCHERS, libc::EMFILE, MOST_WATCHERS, 0, Tree::watchers),
            bound(WAITERS, libc::EMFILE, MOST_WAITERS, 0, Tree::waiters),
        ];
        if !processes_are_bounded {
            // The shell is there already.
            all.push(bound(PROCESSES, libc::EAGAIN, limits.processes, 1, Tree::threads));
        }
        Self(all)
    }

    /// The answer to a question; `None` where it is about something else.
    pub(super) fn decide(&mut self, call: c_long, tree: Tree) -> Option<Answer> {
        let bound = self.0.iter_mut().find(|bound| bound.calls.contains(&call))?;
        let now = Instant::now();
        if bound.room == 0 && now >= bound.count_at {
            bound.room = bound.most.saturating_sub((bound.count)(tree));
            // What has ended since makes room at once; only where all is taken counting has to wait. A tenth of the time
            // at most goes into it.
            if bound.room == 0 {
                bound.count_at = Instant::now() + RECOUNT_TIME.max(now.elapsed() * 10);
            }
        }
        let has_room = bound.room > 0;
        bound.room = bound.room.saturating_sub(1);
        Some(if has_room { Answer::Go } else { Answer::Fail(bound.error) })
    }
}

/// How many sockets there are in this process's network: also those that wait to be accepted, and
/// those that travel in messages, which nobody has.
fn sockets_of_network() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/self/net/sockstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("sockets: used "))?.trim().parse().ok()
}

/// What bounds are to be asked about.
pub(super) fn asks(bounds: &Bounds) -> Vec<Ask> {
    let mut asks: Vec<_> =
        bounds.0.iter().flat_map(|bound| bound.calls).map(|call| Ask::Always(*call)).collect();
    if !bounds.0.is_empty() {
        let more_buffer = [(1, libc::SOL_SOCKET.cast_unsigned()), (2, libc::SO_SNDBUF.cast_unsigned())];
        asks.push(Ask::Ignore { call: libc::SYS_setsockopt, values: more_buffer });
    }
    asks
}
