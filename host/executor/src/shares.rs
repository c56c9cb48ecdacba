//! Counts how many items of a limited resource each owner holds.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A limited resource shared by several owners.
pub struct Shares<K> {
    of: HashMap<K, usize>,
    taken: usize,
    all: usize,
    most: usize,
}

impl<K: Eq + Hash> Shares<K> {
    /// Creates a resource of `all` items, of which an owner can hold at most `most`.
    pub fn new(all: usize, most: usize) -> Self {
        Self { of: HashMap::new(), taken: 0, all, most }
    }

    /// Returns `true` if all items are taken.
    pub fn is_full(&self) -> bool {
        self.taken >= self.all
    }

    /// Returns `true` if the owner holds the maximum number of items.
    pub fn has_most<Q: Eq + Hash + ?Sized>(&self, who: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.of.get(who).is_some_and(|count| *count >= self.most)
    }

    /// Takes an item for an owner. Returns `false` if a limit is reached.
    pub fn take(&mut self, who: K) -> bool {
        let is_free = !self.is_full() && !self.has_most(&who);
        if is_free {
            self.taken += 1;
            *self.of.entry(who).or_default() += 1;
        }
        is_free
    }

    /// Returns an item that the owner took.
    pub fn give_back<Q: Eq + Hash + ?Sized>(&mut self, who: &Q)
    where
        K: Borrow<Q>,
    {
        let Some(count) = self.of.get_mut(who) else { return };
        self.taken -= 1;
        *count -= 1;
        if *count == 0 {
            self.of.remove(who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_more_than_a_part_and_all_have_no_more_than_there_is() {
        let mut shares = Shares::new(5, 2);
        assert_eq!(["a", "a", "a"].map(|who| shares.take(who)), [true, true, false]);
        assert_eq!(["b", "b", "c", "d"].map(|who| shares.take(who)), [true, true, true, false]);
        assert!(shares.is_full() && shares.has_most("a") && !shares.has_most("c") && !shares.has_most("d"));
        shares.give_back("d");
        assert!(shares.is_full(), "it had none");
        shares.give_back("a");
        assert!(!shares.is_full() && shares.take("d") && !shares.take("a"));
        for who in ["a", "b", "b", "c", "d"] {
            shares.give_back(who);
        }
        assert!(shares.of.is_empty() && shares.taken == 0);
    }
}
