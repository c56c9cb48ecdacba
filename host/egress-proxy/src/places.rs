//! Number of connections of all proxies of this process, which share its descriptors.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use scorpiox_sys::open_files_limit;

/// Maximum number of concurrent connections of all proxies.
const MAX_CONNECTIONS: usize = 512;
/// Minimum of that number, whatever the limit of open files is.
const MIN_CONNECTIONS: usize = 16;
/// Descriptors of a connection: one of the command and one of the server.
const DESCRIPTORS: usize = 2;
/// Share of the process's open files for connections, as a divisor.
const SHARE: usize = 4;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Returns the maximum number of descriptors of all proxies, if the process may have `limit` open files.
pub fn descriptors(limit: usize) -> usize {
    most(limit) * DESCRIPTORS
}

fn most(limit: usize) -> usize {
    (limit / SHARE / DESCRIPTORS).clamp(MIN_CONNECTIONS, MAX_CONNECTIONS)
}

/// Place of a connection, freed on drop.
#[derive(Debug)]
pub(crate) struct Place(());

impl Place {
    /// Takes a place for a command with `own` other connections. A command never takes more than are left to
    /// others.
    pub(crate) fn take(own: usize) -> Option<Self> {
        static MOST: OnceLock<usize> = OnceLock::new();
        let most = *MOST.get_or_init(|| open_files_limit().map_or(MAX_CONNECTIONS, most));
        let taken = TAKEN.fetch_add(1, Ordering::AcqRel);
        let place = Self(());
        is_free(own, taken, most).then_some(place)
    }
}

fn is_free(own: usize, taken: usize, most: usize) -> bool {
    own < most.saturating_sub(taken)
}

impl Drop for Place {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_leave_places_for_others() {
        let mut taken = 0;
        let mut shares = Vec::new();
        for _ in 0..5 {
            let mut own = 0;
            while own < 128 && is_free(own, taken, 512) {
                (own, taken) = (own + 1, taken + 1);
            }
            shares.push(own);
        }
        assert_eq!(shares, [128, 128, 128, 64, 32]);
        assert!(!is_free(0, 512, 512));
    }

    #[test]
    fn connections_use_a_quarter_of_few_descriptors() {
        assert_eq!((descriptors(1024), descriptors(1_000_000), descriptors(64)), (256, 1024, 32));
    }
}
