//! Which folders to close where there is too much in all of them together.
//!
//! A command chooses what it leaves behind: how much, where, and by what names. So the folders with
//! most in them go, whatever their names, and all that have to go are found at once.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

/// The largest of some weights, so many that the others and what `stays` of each of these come to no
/// more than `most`; all of them, where that is not enough.
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
