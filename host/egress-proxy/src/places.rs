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

/// Share of these connections for published ports, as a divisor. The rest is left to connections of commands.
const PUBLISHED_SHARE: usize = 2;

/// Numbers of taken places.
#[derive(Debug)]
struct Taken {
    all: AtomicUsize,
    /// Places of published ports, which are among all.
    published: AtomicUsize,
}

impl Taken {
    const fn new() -> Self {
        Self { all: AtomicUsize::new(0), published: AtomicUsize::new(0) }
    }
}

static TAKEN: Taken = Taken::new();

/// Returns the maximum number of descriptors of all proxies, if the process may have `limit` open files.
pub fn descriptors(limit: usize) -> usize {
    most(limit) * DESCRIPTORS
}

fn most(limit: usize) -> usize {
    (limit / SHARE / DESCRIPTORS).clamp(MIN_CONNECTIONS, MAX_CONNECTIONS)
}

/// Place of a connection, freed on drop.
#[derive(Debug)]
pub(crate) struct Place(&'static Taken);

impl Place {
    /// Takes a place for a command with `own` other connections. A command never takes more than are left to
    /// others.
    pub(crate) fn take(own: usize) -> Option<Self> {
        Self::take_of(&TAKEN, own, most_here())
    }

    fn take_of(places: &'static Taken, own: usize, most: usize) -> Option<Self> {
        let taken = places.all.fetch_add(1, Ordering::AcqRel);
        let place = Self(places);
        is_free(own, taken, most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.all.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Place of a connection to a published port, freed on drop.
#[derive(Debug)]
pub(crate) struct PublishedPlace {
    places: &'static Taken,
    /// Place among all; `None` while it is taken.
    place: Option<Place>,
}

impl PublishedPlace {
    /// Takes a place for a port with `own` other connections. A port never takes more than are left to others, and all
    /// ports leave a share to connections of commands.
    pub(crate) fn take(own: usize) -> Option<Self> {
        Self::take_of(&TAKEN, own, most_here())
    }

    fn take_of(places: &'static Taken, own: usize, most: usize) -> Option<Self> {
        let published = places.published.fetch_add(1, Ordering::AcqRel);
        let mut taken = Self { places, place: None };
        if !is_free(own, published, most / PUBLISHED_SHARE) {
            return None;
        }
        taken.place = Some(Place::take_of(places, own, most)?);
        Some(taken)
    }
}

impl Drop for PublishedPlace {
    fn drop(&mut self) {
        self.places.published.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns the maximum number of connections of this process.
fn most_here() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| open_files_limit().map_or(MAX_CONNECTIONS, most))
}

fn is_free(own: usize, taken: usize, most: usize) -> bool {
    own < most.saturating_sub(taken)
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
    fn published_ports_leave_places_for_commands() {
        static PLACES: Taken = Taken::new();
        let published = || PublishedPlace::take_of(&PLACES, 0, 32);
        let mut held: Vec<_> = std::iter::from_fn(published).take(32).collect();
        assert_eq!(held.len(), 16);
        let commands: Vec<_> = std::iter::from_fn(|| Place::take_of(&PLACES, 0, 32)).take(32).collect();
        assert_eq!(commands.len(), 16, "a published connection has a place among all");
        held.truncate(1);
        assert!(published().is_some(), "places come back");
        assert_eq!(
            std::iter::from_fn(|| Place::take_of(&PLACES, 0, 32)).take(32).collect::<Vec<_>>().len(),
            15
        );
    }

    #[test]
    fn connections_use_a_quarter_of_few_descriptors() {
        assert_eq!((descriptors(1024), descriptors(1_000_000), descriptors(64)), (256, 1024, 32));
    }
}
