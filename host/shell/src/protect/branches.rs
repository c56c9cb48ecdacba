//! Chooses the folders to close if all of them together contain too much.
//!
//! A command controls how much it leaves behind, where, and under which names. The fullest folders are
//! therefore closed, whatever their names, in a single pass.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

/// Returns the largest entries of `weights` to close.
///
/// Each closed entry still counts up to `stays`. Entries are chosen until the total is at most `most`, or
/// none is left.
pub(super) fn largest<K: Eq + Hash + Ord>(weights: HashMap<K, usize>, most: usize, stays: usize) -> Vec<K> {
    let mut total: usize = weights.values().sum();
    if total <= most {
        return Vec::new();
    }
    let mut weights: Vec<_> = weights.into_iter().filter(|(_, weight)| *weight > stays).collect();
    weights.sort_unstable_by(|(a, one), (b, other)| (Reverse(one), a).cmp(&(Reverse(other), b)));
    let mut closed = Vec::new();
    for (key, weight) in weights {
        if total <= most {
            break;
        }
        total -= weight - stays;
        closed.push(key);
    }
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(weights: &[(&'static str, usize)], most: usize, stays: usize) -> Vec<&'static str> {
        largest(weights.iter().copied().collect(), most, stays)
    }

    #[test]
    fn the_largest_go_whatever_their_names() {
        let weights = [("!a", 3), ("b", 50), ("c", 40), ("d", 1)];
        assert_eq!(closed(&weights, 94, 0), [""; 0]);
        assert_eq!(closed(&weights, 93, 0), ["b"]);
        assert_eq!(closed(&weights, 44, 1), ["b", "c"], "what stays of a closed one counts");
        assert_eq!(closed(&weights, 45, 1), ["b"]);
        assert_eq!(closed(&weights, 0, 1), ["b", "c", "!a"], "closing what weighs no more gains nothing");
    }
}
