//! The distinct hosts that were requested most recently.

use std::collections::VecDeque;
use std::time::Instant;

/// Maximum number of distinct hosts.
const MAX_HOSTS: usize = 1024;
/// Maximum number of requests for each host whose times are retained.
const MAX_TIMES: usize = 16;
/// Maximum number of dropped hosts whose times are retained.
const MAX_LOST: usize = 8192;

/// Distinct hosts with their ports, the most recently requested last.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    hosts: VecDeque<Requested<T>>,
    /// Times of the last requests for hosts that were dropped.
    lost: VecDeque<Instant>,
}

#[derive(Debug)]
struct Requested<T> {
    host: String,
    port: u16,
    times: VecDeque<Instant>,
    about: T,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { hosts: VecDeque::new(), lost: VecDeque::new() }
    }
}

impl<T> Recent<T> {
    /// Records a request, with the decision about it.
    pub(crate) fn add(&mut self, host: &str, port: u16, about: T) {
        let is_same = |known: &Requested<T>| (known.host.as_str(), known.port) == (host, port);
        let known = self.hosts.iter().position(is_same).and_then(|at| self.hosts.remove(at));
        let mut times = known.map(|known| known.times).unwrap_or_default();
        push(&mut times, Instant::now(), MAX_TIMES);
        let dropped =
            push(&mut self.hosts, Requested { host: host.to_owned(), port, times, about }, MAX_HOSTS);
        if let Some(time) = dropped.and_then(|dropped| dropped.times.back().copied()) {
            push(&mut self.lost, time, MAX_LOST);
        }
    }

    /// Returns the hosts requested after `since`, the most recent last: host, port, decision, and the number
    /// of requests.
    pub(crate) fn since(&self, since: Instant) -> impl Iterator<Item = (&str, u16, &T, usize)> {
        self.hosts.iter().filter_map(move |known| {
            let count = known.times.iter().filter(|time| **time >= since).count();
            (count > 0).then_some((known.host.as_str(), known.port, &known.about, count))
        })
    }

    /// Returns the number of hosts requested after `since` that were dropped.
    pub(crate) fn lost_since(&self, since: Instant) -> usize {
        self.lost.iter().filter(|time| **time >= since).count()
    }
}

/// Appends an item; removes the first one if there are too many.
fn push<T>(list: &mut VecDeque<T>, item: T, most: usize) -> Option<T> {
    list.push_back(item);
    if list.len() > most { list.pop_front() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_for_each_host_and_dropped_hosts_are_counted() {
        let begun = Instant::now();
        let mut recent = Recent::default();
        for _ in 0..3 {
            recent.add("first.example", 443, 'a');
        }
        recent.add("first.example", 80, 'b');
        let told: Vec<_> = recent.since(begun).collect();
        assert_eq!(told, [("first.example", 443, &'a', 3), ("first.example", 80, &'b', 1)]);
        for index in 0..MAX_HOSTS {
            recent.add(&format!("h{index}.example"), 80, 'c');
        }
        assert_eq!((recent.since(begun).count(), recent.lost_since(begun)), (MAX_HOSTS, 2));
        let later = Instant::now();
        assert_eq!((recent.since(later).count(), recent.lost_since(later)), (0, 0));
    }
}
