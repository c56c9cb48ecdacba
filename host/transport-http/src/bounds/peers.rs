//! Peers that sent invalid tokens. A peer with too many is told to wait. Valid tokens are accepted meanwhile.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum number of refused requests of a peer that is not told to wait.
const MOST: u32 = 60;
/// Time after which one refused request is forgotten.
const FORGET_TIME: Duration = Duration::from_secs(1);
/// Maximum number of tracked peers.
const MAX_PEERS: usize = 8192;

/// Number of recently refused requests of each peer.
#[derive(Default)]
pub struct Peers(Mutex<HashMap<IpAddr, Refused>>);

#[derive(Clone, Copy)]
struct Refused {
    count: u32,
    since: Instant,
}

impl Refused {
    fn at(self, now: Instant) -> Self {
        let passed = now.saturating_duration_since(self.since).as_secs() / FORGET_TIME.as_secs();
        let forgotten = u32::try_from(passed).unwrap_or(u32::MAX);
        let since = self.since + FORGET_TIME * forgotten.min(MOST);
        Self { count: self.count.saturating_sub(forgotten), since }
    }
}

impl Peers {
    /// Records an invalid token or credential of a peer. Returns `false` if the peer has to wait, because too many
    /// came from there. Nothing tells this before a token is verified, so that nobody who shares an address keeps the
    /// owners of valid ones out.
    #[must_use]
    pub fn may_fail(&self, peer: IpAddr) -> bool {
        let now = Instant::now();
        let mut peers = self.0.lock();
        if peers.len() >= MAX_PEERS {
            peers.retain(|_, refused| refused.at(now).count > 0);
        }
        if peers.len() >= MAX_PEERS && !peers.contains_key(&whole(peer)) {
            // Peers are not blocked just because others fill the table.
            return true;
        }
        let known = peers.entry(whole(peer)).or_insert(Refused { count: 0, since: now });
        let current = known.at(now);
        if current.count >= MOST {
            return false;
        }
        let since = if current.count == 0 { now } else { current.since };
        *known = Refused { count: current.count + 1, since };
        true
    }
}

/// Returns the /64 prefix of an IPv6 address, because a client usually has all of its addresses.
pub fn whole(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_refused_too_often_waits_and_no_other_does() {
        let peers = Peers::default();
        let [one, same, other] =
            ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"].map(|peer| peer.parse().expect("an address"));
        assert!((0..MOST).all(|_| peers.may_fail(one)));
        assert!(!peers.may_fail(one) && !peers.may_fail(same) && peers.may_fail(other));
        let later = Instant::now() + FORGET_TIME * 2;
        let refused = peers.0.lock()[&whole(one)];
        assert!(refused.at(later).count < MOST);
    }
}
