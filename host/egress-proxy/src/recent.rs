//! The distinct hosts that were requested most recently.

use std::collections::VecDeque;

/// Maximum number of distinct hosts.
const MAX_HOSTS: usize = 1024;
/// Maximum number of requests that are counted for each host.
const MAX_TIMES: usize = 16;

/// Distinct hosts with their ports, the most recently requested last.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    hosts: VecDeque<Requested<T>>,
    /// Number of hosts that were dropped.
    lost: usize,
}

#[derive(Debug)]
struct Requested<T> {
    host: String,
    port: u16,
    times: usize,
    about: T,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { hosts: VecDeque::new(), lost: 0 }
    }
}

impl<T> Recent<T> {
    /// Records a request, with the decision about it.
    pub(crate) fn add(&mut self, host: &str, port: u16, about: T) {
        let is_same = |known: &Requested<T>| (known.host.as_str(), known.port) == (host, port);
        let known = self.hosts.iter().position(is_same).and_then(|at| self.hosts.remove(at));
        let times = known.map_or(0, |known| known.times);
        let times = (times + 1).min(MAX_TIMES);
        self.hosts.push_back(Requested { host: host.to_owned(), port, times, about });
        if self.hosts.len() > MAX_HOSTS {
            self.hosts.pop_front();
            self.lost += 1;
        }
    }

    /// Returns the hosts, the most recent last: host, port, decision, and the number of requests.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u16, &T, usize)> {
        self.hosts.iter().map(|known| (known.host.as_str(), known.port, &known.about, known.times))
    }

    /// Returns the number of hosts that were dropped.
    pub(crate) fn lost(&self) -> usize {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_for_each_host_and_dropped_hosts_are_counted() {
        let mut recent = Recent::default();
        for _ in 0..3 {
            recent.add("first.example", 443, 'a');
        }
        recent.add("first.example", 80, 'b');
        let told: Vec<_> = recent.iter().collect();
        assert_eq!(told, [("first.example", 443, &'a', 3), ("first.example", 80, &'b', 1)]);
        for index in 0..MAX_HOSTS {
            recent.add(&format!("h{index}.example"), 80, 'c');
        }
        assert_eq!((recent.iter().count(), recent.lost()), (MAX_HOSTS, 2));
    }
}
