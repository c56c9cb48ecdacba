//! The distinct hosts that were requested most recently.

use std::collections::VecDeque;

/// Maximum number of distinct hosts.
const MAX_HOSTS: usize = 1024;
/// Maximum number of requests that are counted for each host.
const MAX_TIMES: usize = 16;

/// Distinct hosts with their ports, the most recently requested last.
#[derive(Debug)]
pub(crate) struct Recent<H, T> {
    hosts: VecDeque<Requested<H, T>>,
    /// Number of hosts that were dropped.
    lost: usize,
}

#[derive(Debug)]
struct Requested<H, T> {
    host: H,
    port: u16,
    times: usize,
    about: T,
}

impl<H, T> Default for Recent<H, T> {
    fn default() -> Self {
        Self { hosts: VecDeque::new(), lost: 0 }
    }
}

impl<H: Clone + PartialEq, T> Recent<H, T> {
    /// Records a request, with the decision about it.
    pub(crate) fn add(&mut self, host: &H, port: u16, about: T) {
        let is_same = |known: &Requested<H, T>| (&known.host, known.port) == (host, port);
        let known = self.hosts.iter().position(is_same).and_then(|at| self.hosts.remove(at));
        let times = known.map_or(0, |known| known.times);
        let times = (times + 1).min(MAX_TIMES);
        self.hosts.push_back(Requested { host: host.clone(), port, times, about });
        if self.hosts.len() > MAX_HOSTS {
            self.hosts.pop_front();
            self.lost += 1;
        }
    }

    /// Returns the hosts, the most recent last: host, port, decision, and the number of requests.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&H, u16, &T, usize)> {
        self.hosts.iter().map(|known| (&known.host, known.port, &known.about, known.times))
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
        let first = "first.example".to_owned();
        for _ in 0..3 {
            recent.add(&first, 443, 'a');
        }
        recent.add(&first, 80, 'b');
        let told: Vec<_> = recent.iter().collect();
        assert_eq!(told, [(&first, 443, &'a', 3), (&first, 80, &'b', 1)]);
        for index in 0..MAX_HOSTS {
            recent.add(&format!("h{index}.example"), 80, 'c');
        }
        assert_eq!((recent.iter().count(), recent.lost()), (MAX_HOSTS, 2));
    }
}
