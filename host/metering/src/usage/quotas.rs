//! Daily call limits, counted before calls start, across all servers.
//!
//! The store holds the number of calls that servers have reserved for each day, which never exceeds the
//! limit. The limit therefore holds for any number of concurrent calls and servers. A server reserves several
//! calls at a time while many are left, so that few calls wait for the store. It returns unused reservations.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_executor::Cancel;
use scorpiox_store::{MAX_SCAN_ENTRIES, Mode, Order, Store, StoreError, Transaction};
use sha2::{Digest as _, Sha256};

use crate::usage::day::Day;

/// Store namespace of the quotas.
const NAMESPACE: &str = "quota";
/// Store quota, with a large margin.
const QUOTA: u64 = 1 << 30;
/// Divisor of the remaining calls that a server reserves, so that other servers get some.
const PART: u64 = 16;
/// Maximum number of calls reserved at once. A killed server loses them.
const MOST_AT_ONCE: u64 = 64;

/// Account that calls are counted for: a rule and a principal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Account {
    rule: String,
    who: String,
}

/// Reserved calls that this server has not used.
#[derive(Debug, Default)]
struct Held {
    left: u64,
    /// `true` if used since the last [`Quotas::settle`].
    is_used: bool,
}

/// Reserves daily calls, and returns unused ones.
pub(crate) struct Quotas {
    store: Arc<dyn Store>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    day: Option<Day>,
    held: HashMap<Account, Held>,
    /// Day of the last removal of past counts.
    swept: Option<Day>,
}

impl State {
    /// Switches to a day. Reservations for another day are worthless.
    fn turn(&mut self, day: Day) {
        if self.day.replace(day) != Some(day) {
            self.held.clear();
        }
    }
}

/// Counted call; returned on drop unless [`use_up`](Self::use_up) is called.
pub(crate) struct Counted {
    quotas: Arc<Quotas>,
    account: Account,
    day: Day,
    is_used: bool,
}

impl Counted {
    /// Makes the count permanent.
    pub(crate) fn use_up(&mut self) {
        self.is_used = true;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        let mut state = self.quotas.state.lock();
        if state.day == Some(self.day) {
            state.held.entry(self.account.clone()).or_default().left += 1;
        }
    }
}

impl Quotas {
    /// Creates quotas in this store. Reads and writes nothing yet.
    pub(crate) fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { store, state: Mutex::default() })
    }

    /// Counts a call of `who` under a rule that permits `most` calls per day. Returns `None` if none are
    /// left. `known` is the number of calls known to have run.
    ///
    /// # Errors
    ///
    /// Fails if the store fails. The call is not counted then.
    pub(crate) fn count(
        self: &Arc<Self>,
        rule: &str,
        who: &str,
        most: u64,
        known: u64,
    ) -> Result<Option<Counted>, StoreError> {
        let account = Account { rule: rule.to_owned(), who: who.to_owned() };
        let day = Day::today();
        let counted = |account| Counted { quotas: Arc::clone(self), account, day, is_used: false };
        if self.use_held(&account, day) {
            return Ok(Some(counted(account)));
        }
        let taken = self.take(&account, day, most, known)?;
        if taken == 0 {
            // Another call may have been returned meanwhile.
            return Ok(self.use_held(&account, day).then(|| counted(account)));
        }
        let mut state = self.state.lock();
        state.turn(day);
        let held = state.held.entry(account.clone()).or_default();
        held.left += taken - 1;
        held.is_used = true;
        drop(state);
        Ok(Some(counted(account)))
    }

    fn use_held(&self, account: &Account, day: Day) -> bool {
        let mut state = self.state.lock();
        state.turn(day);
        let Some(held) = state.held.get_mut(account).filter(|held| held.left > 0) else { return false };
        held.left -= 1;
        held.is_used = true;
        true
    }

    /// Reserves some of the remaining calls, and returns their number.
    fn take(&self, account: &Account, day: Day, most: u64, known: u64) -> Result<u64, StoreError> {
        let mut transaction = self.store.begin(Mode::Write, &Cancel::default(), &mut || ())?;
        let key = key(day, account);
        // Include calls that ran before the rule was introduced.
        let taken = taken(&mut *transaction, &key)?.max(known);
        let left = most.saturating_sub(taken);
        if left == 0 {
            return Ok(0);
        }
        let more = (left / PART).clamp(1, MOST_AT_ONCE);
        transaction.set(NAMESPACE, &key, (taken + more).to_string().as_bytes(), QUOTA)?;
        transaction.commit()?;
        Ok(more)
    }

    /// Returns reservations unused since the last call of this function, or `all` of them.
    ///
    /// # Errors
    ///
    /// Fails if the store fails. The reservations are retried on the next call.
    pub(crate) fn settle(&self, all: bool) -> Result<(), StoreError> {
        let day = Day::today();
        let (given, sweeps) = {
            let mut state = self.state.lock();
            state.turn(day);
            let mut given = Vec::new();
            state.held.retain(|account, held| {
                if all || !std::mem::take(&mut held.is_used) {
                    given.extend((held.left > 0).then(|| (account.clone(), held.left)));
                    return false;
                }
                true
            });
            let sweeps = state.swept.replace(day) != Some(day);
            (given, sweeps)
        };
        match self.give_back(day, &given, sweeps) {
            // If the commit took effect, returning the reservations again would exceed the limit.
            Ok(()) | Err(StoreError::InDoubt(_)) => Ok(()),
            Err(error) => {
                let mut state = self.state.lock();
                if state.day == Some(day) {
                    for (account, left) in given {
                        state.held.entry(account).or_default().left += left;
                    }
                }
                state.swept = state.swept.filter(|_| !sweeps);
                Err(error)
            }
        }
    }

    fn give_back(&self, day: Day, given: &[(Account, u64)], sweeps: bool) -> Result<(), StoreError> {
        if given.is_empty() && !(sweeps && self.store.exists()) {
            return Ok(());
        }
        let mut transaction = self.store.begin(Mode::Write, &Cancel::default(), &mut || ())?;
        for (account, left) in given {
            let key = key(day, account);
            let taken = taken(&mut *transaction, &key)?.saturating_sub(*left);
            transaction.set(NAMESPACE, &key, taken.to_string().as_bytes(), QUOTA)?;
        }
        // Remove the counts of past days in batches.
        let mut is_swept = !sweeps;
        while !is_swept {
            let scanned = transaction.scan(NAMESPACE, "", None, MAX_SCAN_ENTRIES, Order::Ascending)?;
            let today = day.to_string();
            let old: Vec<_> = scanned.into_iter().filter(|entry| *entry.key < *today).collect();
            is_swept = old.is_empty();
            for entry in old {
                transaction.delete(NAMESPACE, &entry.key)?;
            }
        }
        transaction.commit()
    }
}

/// Reads the number of reserved calls. Fails if the value is not a number, because the count is unknown then.
fn taken(transaction: &mut dyn Transaction, key: &str) -> Result<u64, StoreError> {
    let Some(value) = transaction.get(NAMESPACE, key)? else { return Ok(0) };
    let number = std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| StoreError::Other(format!("the value at {key:?} of {NAMESPACE} is no number")))
}

/// Builds a key from the day and a hash of the account, whose names may exceed the key length.
fn key(day: Day, account: &Account) -> String {
    let mut hash = Sha256::new();
    hash.update(account.rule.as_bytes());
    hash.update([0]);
    hash.update(account.who.as_bytes());
    let mut first = [0; 16];
    first.copy_from_slice(&hash.finalize()[..16]);
    format!("{day}/{:032x}", u128::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use scorpiox_store::MemoryStore;

    use super::*;

    /// Returns how many of `calls` concurrent calls at these servers are admitted.
    fn let_through(servers: &[Arc<Quotas>], calls: u64, most: u64) -> u64 {
        thread::scope(|scope| {
            let all: Vec<_> = (0..calls)
                .zip(servers.iter().cycle())
                .map(|(_, quotas)| {
                    scope.spawn(move || {
                        let mut counted = quotas.count("all", "ann", most, 0).expect("a store");
                        counted.iter_mut().for_each(Counted::use_up);
                        counted.is_some()
                    })
                })
                .collect();
            all.into_iter().map(|one| u64::from(one.join().expect("no panic"))).sum()
        })
    }

    #[test]
    fn no_more_calls_are_let_through_than_there_are_however_many_come_at_once() {
        for (servers, calls, most) in [(1, 40, 25), (2, 80, 40), (3, 300, 200)] {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
            let servers: Vec<_> = (0..servers).map(|_| Quotas::new(Arc::clone(&store))).collect();
            let mut through = let_through(&servers, calls, most);
            assert!(through <= most, "{through} of {most}");
            // Returned reservations become available to other servers.
            for server in &servers {
                server.settle(true).expect("a store");
            }
            through += let_through(&servers, calls, most);
            for server in &servers {
                server.settle(true).expect("a store");
            }
            through += let_through(&servers[..1], most, most);
            assert_eq!(through, most);
        }
    }

    #[test]
    fn a_call_that_did_not_run_is_given_back_and_one_that_ran_is_not() {
        let quotas = Quotas::new(Arc::new(MemoryStore::new()));
        for _ in 0..10 {
            assert!(quotas.count("all", "ann", 2, 0).expect("a store").is_some());
        }
        for _ in 0..2 {
            quotas.count("all", "ann", 2, 0).expect("a store").expect("one is left").use_up();
        }
        assert!(quotas.count("all", "ann", 2, 0).expect("a store").is_none());
        assert!(quotas.count("all", "bob", 2, 0).expect("a store").is_some());
        assert!(quotas.count("some", "ann", 2, 0).expect("a store").is_some());
        assert!(quotas.count("some", "eve", 2, 2).expect("a store").is_none(), "they ran before");
    }
}
