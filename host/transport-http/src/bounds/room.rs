//! Limits on the memory of request bodies, and of answers until they are sent.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::PART;

/// Maximum size of a small body in bytes. Small bodies have their own budget, so that slow large ones do not
/// block them.
const SMALL: usize = 64 * 1024;
const MIB: usize = 1024 * 1024;
/// Unit in which bytes are counted.
const UNIT: usize = 1024;

/// Maximum total sizes in bytes.
#[derive(Clone, Copy)]
struct Sizes {
    small: usize,
    large: usize,
}

const REQUESTS: Sizes = Sizes { small: 16 * MIB, large: 64 * MIB };
/// Answers that are kept for clients whose connection broke are among these, up to 64 MiB of either kind.
const ANSWERS: Sizes = Sizes { small: 96 * MIB, large: 128 * MIB };

/// Memory budget for bodies.
pub struct Room {
    sizes: Sizes,
    all: Budgets,
    /// Budget of each principal that uses any; `None` if there is only one principal.
    of: Option<Mutex<HashMap<String, Weak<Budgets>>>>,
}

/// Budgets for small and for large bodies.
struct Budgets {
    small: Budget,
    large: Budget,
}

struct Budget {
    free: Arc<Semaphore>,
    most: usize,
}

/// Budget of one body, released on drop.
pub struct Held {
    all: OwnedSemaphorePermit,
    part: Option<(OwnedSemaphorePermit, Arc<Budgets>)>,
}

impl Held {
    /// Reduces the budget to the actual size of the body, and releases the rest.
    #[must_use]
    pub fn shrunk(mut self, bytes: usize) -> Self {
        let shrink = |room: &mut OwnedSemaphorePermit| {
            drop(room.split(room.num_permits().saturating_sub(bytes.div_ceil(UNIT))));
        };
        shrink(&mut self.all);
        self.part.iter_mut().for_each(|(part, _)| shrink(part));
        self
    }

    /// Returns bytes that release the budget when their last reference is dropped, wherever they are then: in
    /// a stream, or in the buffers of a connection.
    pub fn holding(self, bytes: Vec<u8>) -> Bytes {
        struct Owner(Vec<u8>, #[expect(dead_code, reason = "it is there to be dropped")] Held);
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        Bytes::from_owner(Owner(bytes, self))
    }
}

impl Budget {
    fn new(bytes: usize) -> Self {
        let most = bytes / UNIT;
        Self { free: Arc::new(Semaphore::new(most)), most }
    }

    /// Returns the number of units for a body. A body that is larger than the budget uses all of it.
    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT).min(self.most)).unwrap_or(u32::MAX)
    }

    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_many_owned(self.units(bytes)).await.ok()
    }

    fn try_take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_many_owned(self.units(bytes)).ok()
    }
}

impl Budgets {
    fn new(sizes: Sizes, part: usize) -> Self {
        Self { small: Budget::new(sizes.small / part), large: Budget::new(sizes.large / part) }
    }

    fn of(&self, bytes: usize) -> &Budget {
        if bytes <= SMALL { &self.small } else { &self.large }
    }
}

impl Room {
    /// Creates the budget for request bodies, of one principal or of several (`are_many`) that must not starve
    /// each other.
    pub fn of_requests(are_many: bool) -> Self {
        Self::new(REQUESTS, are_many)
    }

    /// Creates the budget for answers until they are sent.
    pub fn of_answers(are_many: bool) -> Self {
        Self::new(ANSWERS, are_many)
    }

    fn new(sizes: Sizes, are_many: bool) -> Self {
        Self { sizes, all: Budgets::new(sizes, 1), of: are_many.then(Mutex::default) }
    }

    /// Waits for the budget of a body of at most `bytes` bytes.
    pub async fn take(&self, principal: &str, bytes: usize) -> Option<Held> {
        let part = match self.part_of(principal) {
            None => None,
            Some(part) => Some((part.of(bytes).take(bytes).await?, part)),
        };
        Some(Held { all: self.all.of(bytes).take(bytes).await?, part })
    }

    /// Returns the budget of a body of `bytes` bytes if it is free.
    pub fn try_take(&self, principal: &str, bytes: usize) -> Option<Held> {
        let part = match self.part_of(principal) {
            None => None,
            Some(part) => Some((part.of(bytes).try_take(bytes)?, part)),
        };
        Some(Held { all: self.all.of(bytes).try_take(bytes)?, part })
    }

    fn part_of(&self, principal: &str) -> Option<Arc<Budgets>> {
        let mut of = self.of.as_ref()?.lock();
        if let Some(part) = of.get(principal).and_then(Weak::upgrade) {
            return Some(part);
        }
        of.retain(|_, part| part.strong_count() > 0);
        let part = Arc::new(Budgets::new(self.sizes, PART));
        of.insert(principal.to_owned(), Arc::downgrade(&part));
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_of_several_principals_leaves_room_to_the_others() {
        let room = Room::of_requests(true);
        let half = room.take("a", REQUESTS.large / PART).await.expect("room");
        let more = tokio::time::timeout(Duration::from_millis(50), room.take("a", SMALL + 1)).await;
        assert!(more.is_err(), "it has its part");
        assert!(room.try_take("a", SMALL + 1).is_none() && room.try_take("a", SMALL).is_some());
        assert!(room.take("b", REQUESTS.large / PART).await.is_some());
        let half = half.shrunk(UNIT);
        assert!(room.take("a", SMALL + 1).await.is_some());
        drop(half);
        room.take("c", 1).await.expect("room");
        let known = room.of.as_ref().map(|of| of.lock().len());
        assert_eq!(known, Some(1), "those without any are forgotten");
    }

    #[test]
    fn bytes_hold_their_room_until_the_last_piece_of_them_is_dropped() {
        let room = Room::of_answers(false);
        let larger_than_all = vec![0; ANSWERS.large + 1];
        let held = room.try_take("a", larger_than_all.len()).expect("all the room");
        let mut bytes = held.holding(larger_than_all);
        let last = bytes.split_off(ANSWERS.large);
        drop(bytes);
        assert!(room.try_take("a", SMALL + 1).is_none());
        drop(last);
        assert!(room.try_take("a", SMALL + 1).is_some());
    }
}
