//! Usage by day, principal, and tool, retained for a month.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_executor::Cancel;
use scorpiox_store::{MAX_SCAN_ENTRIES, Mode, Order, Store, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::usage::day::Day;
use crate::usage::used::Used;

/// Store namespace of the ledger.
const NAMESPACE: &str = "usage";
/// Number of past days to retain.
const KEPT_DAYS: u64 = 31;
/// Store quota, with a large margin.
const QUOTA: u64 = 1 << 30;
/// Maximum number of rows per day and server. Users and tools come and go; further combinations share one
/// row, and their individual usage is unknown.
const MAX_ROWS: usize = if cfg!(test) { 8 } else { 65_536 };
/// Principal of the shared row.
const OTHERS: &str = "(others)";

/// Usage of a tool by a principal on a day, at one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Principal: a name, or an issuer and a name.
    pub principal: String,
    /// Tool; empty for usage not related to a tool.
    pub tool: String,
    /// Usage.
    #[serde(flatten)]
    pub used: Used,
}

/// Usage by principal and tool.
type Rows = BTreeMap<(String, String), Used>;

/// Accumulates usage, and knows the usage at all servers.
pub struct Ledger {
    store: Arc<dyn Store>,
    /// Random ID of this process.
    server: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    day: Option<Day>,
    /// Usage of the current day at this process.
    own: Rows,
    /// Usage of the current day at all other processes, as last read.
    others: Rows,
    /// Keys of `own` changed since the last write.
    changed: BTreeSet<(String, String)>,
    /// `true` once the usage at other processes has been read; until then it is unknown.
    is_read: bool,
    /// Unwritten rows of past days.
    unwritten: BTreeMap<Day, Rows>,
    /// Day of the last removal of expired rows.
    swept: Option<Day>,
}

impl Ledger {
    /// Creates a ledger in this store. Reads and writes nothing yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let mut random = [0; 8];
        // Without random numbers, the time distinguishes processes.
        if getrandom::fill(&mut random).is_err() {
            random = scorpiox_audit::time::now().to_be_bytes();
        }
        let server = format!("{:016x}", u64::from_be_bytes(random));
        Self { store, server, state: Mutex::default() }
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Adds usage of a tool by a principal today. Does not wait.
    pub fn add(&self, principal: &str, tool: &str, used: Used) {
        let mut state = self.state.lock();
        state.turn(Day::today());
        let key = (principal.to_owned(), tool.to_owned());
        let is_full = state.own.len() >= MAX_ROWS && !state.own.contains_key(&key);
        let key = if is_full { (OTHERS.to_owned(), String::new()) } else { key };
        if !state.changed.contains(&key) {
            state.changed.insert(key.clone());
        }
        *state.own.entry(key).or_default() += used;
    }

    /// Returns the usage of a principal today at all servers, summed over the tools for which `counts`
    /// returns `true`. Usage at other servers is as last read. Returns `None` if the usage is unknown.
    pub fn today(&self, principal: &str, tool: &str, counts: impl Fn(&str) -> bool) -> Option<Used> {
        let mut state = self.state.lock();
        state.turn(Day::today());
        let key = (principal.to_owned(), tool.to_owned());
        let is_counted = state.own.len() < MAX_ROWS || state.own.contains_key(&key);
        if !state.is_read || !is_counted {
            return None;
        }
        let mut sum = Used::default();
        for used in [&state.own, &state.others] {
            let own = used.range((principal.to_owned(), String::new())..);
            let own = own.take_while(|((of, _), _)| of == principal);
            own.filter(|((_, tool), _)| counts(tool)).for_each(|(_, used)| sum += *used);
        }
        Some(sum)
    }

    /// Writes changes since the last call, and reads the usage at other servers if `reads` is set.
    ///
    /// # Errors
    ///
    /// Fails if the store fails. Unwritten rows are retried on the next call.
    pub fn settle(&self, reads: bool) -> Result<(), StoreError> {
        let (day, rows, sweeps) = {
            let mut state = self.state.lock();
            let day = Day::today();
            state.turn(day);
            let mut rows = std::mem::take(&mut state.unwritten);
            let changed = state.take_changed();
            if !changed.is_empty() {
                rows.insert(day, changed);
            }
            let sweeps = state.swept != Some(day);
            state.swept = Some(day);
            (day, rows, sweeps)
        };
        if let Err(error) = self.write(day, &rows, sweeps) {
            let mut state = self.state.lock();
            for (day, rows) in rows {
                // The value may have grown since, so keep the key rather than the row.
                if state.day == Some(day) {
                    state.changed.extend(rows.into_keys());
                } else {
                    state.unwritten.entry(day).or_default().extend(rows);
                }
            }
            state.swept = state.swept.filter(|_| !sweeps);
            return Err(error);
        }
        if reads {
            let others = self.read(day)?;
            let mut state = self.state.lock();
            if state.day.is_none_or(|of| of == day) {
                state.others = others;
            }
            state.is_read = true;
        }
        Ok(())
    }

    fn write(&self, today: Day, rows: &BTreeMap<Day, Rows>, sweeps: bool) -> Result<(), StoreError> {
        if rows.is_empty() && !(sweeps && self.store.exists()) {
            return Ok(());
        }
        let mut transaction = self.store.begin(Mode::Write, &Cancel::default(), &mut || ())?;
        let each = rows.iter().flat_map(|(day, rows)| rows.iter().map(move |row| (*day, row)));
        for (day, ((principal, tool), used)) in each {
            let row = Row { principal: principal.clone(), tool: tool.clone(), used: *used };
            let value = serde_json::to_vec(&row).map_err(|error| StoreError::Other(error.to_string()))?;
            transaction.set(NAMESPACE, &key(day, &self.server, principal, tool), &value, QUOTA)?;
        }
        if sweeps {
            let oldest = today.before(KEPT_DAYS).to_string();
            loop {
                let scanned = transaction.scan(NAMESPACE, "", None, MAX_SCAN_ENTRIES, Order::Ascending)?;
                let old: Vec<_> = scanned.into_iter().filter(|entry| entry.key < oldest).collect();
                if old.is_empty() {
                    break;
                }
                for entry in old {
                    transaction.delete(NAMESPACE, &entry.key)?;
                }
            }
        }
        transaction.commit()
    }

    /// Returns the usage of a day at other processes.
    fn read(&self, day: Day) -> Result<Rows, StoreError> {
        let mut sums = Rows::new();
        each(&*self.store, &day.to_string(), |key, row| {
            if !key[day.to_string().len()..].starts_with(&format!("/{}/", self.server)) {
                *sums.entry((row.principal, row.tool)).or_default() += row.used;
            }
        })?;
        Ok(sums)
    }
}

impl State {
    /// Returns the rows changed since the last write.
    fn take_changed(&mut self) -> Rows {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().filter_map(|key| Some((key.clone(), *self.own.get(&key)?))).collect()
    }

    fn turn(&mut self, day: Day) {
        if self.day != Some(day) {
            let changed = self.take_changed();
            let before = self.day.replace(day);
            if let Some(before) = before.filter(|_| !changed.is_empty()) {
                self.unwritten.entry(before).or_default().extend(changed);
            }
            self.own.clear();
            self.others.clear();
        }
    }
}

/// Builds a key from the day, the process, and a hash of principal and tool, whose names may exceed the key
/// length.
fn key(day: Day, server: &str, principal: &str, tool: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(principal.as_bytes());
    hash.update([0]);
    hash.update(tool.as_bytes());
    let mut first = [0; 16];
    first.copy_from_slice(&hash.finalize()[..16]);
    format!("{day}/{server}/{:032x}", u128::from_be_bytes(first))
}

/// Visits all rows with this key prefix.
fn each(store: &dyn Store, prefix: &str, mut tell: impl FnMut(&str, Row)) -> Result<(), StoreError> {
    if store.is_absent()? {
        return Ok(());
    }
    let mut transaction = store.begin(Mode::ReadFirst, &Cancel::default(), &mut || ())?;
    let mut after: Option<String> = None;
    loop {
        let found =
            transaction.scan(NAMESPACE, prefix, after.as_deref(), MAX_SCAN_ENTRIES, Order::Ascending)?;
        let Some(last) = found.last() else { return Ok(()) };
        after = Some(last.key.clone());
        for entry in &found {
            // Unreadable rows come from a later version.
            if let Ok(row) = serde_json::from_slice(&entry.value) {
                tell(&entry.key, row);
            }
        }
    }
}

/// Returns the usage of each principal and tool at all servers since a day.
///
/// # Errors
///
/// Fails if the store fails.
pub fn since(store: &dyn Store, day: Day) -> Result<Vec<Row>, StoreError> {
    let mut sums = Rows::new();
    let first = day.to_string();
    each(store, "", |key, row| {
        if *key >= *first {
            *sums.entry((row.principal, row.tool)).or_default() += row.used;
        }
    })?;
    Ok(sums.into_iter().map(|((principal, tool), used)| Row { principal, tool, used }).collect())
}

#[cfg(test)]
mod tests {
    use scorpiox_store::MemoryStore;

    use super::*;

    fn calls(calls: u64) -> Used {
        Used { calls, processor_us: calls * 10, ..Used::default() }
    }

    #[test]
    fn servers_know_of_each_others_use_and_of_nothing_twice() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let [one, other] = [Ledger::new(Arc::clone(&store)), Ledger::new(Arc::clone(&store))];
        one.add("ann", "Bash", calls(2));
        one.add("ann", "ReadDocs", calls(5));
        one.add("an", "Bash", calls(100));
        other.add("ann", "Bash", calls(3));
        one.settle(true).unwrap();
        assert_eq!(one.today("ann", "Bash", |_| true).unwrap().calls, 7, "the other has written nothing");
        other.settle(true).unwrap();
        for _ in 0..3 {
            one.settle(true).unwrap();
            other.settle(true).unwrap();
        }
        for ledger in [&one, &other] {
            assert_eq!(ledger.today("ann", "Bash", |tool| tool == "Bash"), Some(calls(5)));
            assert_eq!(ledger.today("ann", "Bash", |_| true), Some(calls(10)));
        }
        other.add("ann", "Bash", calls(1));
        other.settle(true).unwrap();
        let rows = since(&*store, Day::today()).unwrap();
        let bash = rows.iter().find(|row| row.principal == "ann" && row.tool == "Bash").unwrap();
        assert_eq!((bash.used, rows.len()), (calls(6), 3));
    }

    #[test]
    fn a_server_that_begins_anew_goes_on_counting() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let before = Ledger::new(Arc::clone(&store));
        before.add("ann", "Bash", calls(2));
        before.settle(false).unwrap();
        let after = Ledger::new(Arc::clone(&store));
        after.add("ann", "Bash", calls(1));
        after.settle(true).unwrap();
        assert_eq!(after.today("ann", "Bash", |_| true), Some(calls(3)));
    }

    #[test]
    fn what_is_not_counted_is_not_known() {
        let ledger = Ledger::new(Arc::new(MemoryStore::default()));
        assert_eq!(ledger.today("ann", "Bash", |_| true), None, "nobody has read what others wrote");
        ledger.settle(true).unwrap();
        assert_eq!(ledger.today("ann", "Bash", |_| true), Some(Used::default()));
        for number in 0..MAX_ROWS {
            ledger.add(&format!("user{number}"), "Bash", calls(1));
        }
        ledger.add("ann", "Bash", calls(1));
        assert_eq!(ledger.today("ann", "Bash", |_| true), None, "she is one of the others");
        assert_eq!(ledger.today("user0", "Bash", |_| true), Some(calls(1)));
        assert_eq!(ledger.today("user0", "ReadDocs", |_| true), None, "no more is counted of anybody");
    }

    #[test]
    fn only_what_changed_is_written_again() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let ledger = Ledger::new(Arc::clone(&store));
        ledger.add("ann", "Bash", calls(1));
        ledger.add("bob", "Bash", calls(1));
        ledger.settle(false).unwrap();
        ledger.add("bob", "Bash", calls(1));
        let changed = ledger.state.lock().take_changed();
        assert_eq!(
            changed.into_iter().collect::<Vec<_>>(),
            [(("bob".to_owned(), "Bash".to_owned()), calls(2))]
        );
    }

    #[test]
    fn what_is_older_than_a_month_goes() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let ledger = Ledger::new(Arc::clone(&store));
        let today = Day::today();
        let of = |days| (today.before(days), [(("ann".to_owned(), "Bash".to_owned()), calls(1))].into());
        let rows = [0, KEPT_DAYS, KEPT_DAYS + 1, 400].map(of).into();
        ledger.write(today, &rows, false).unwrap();
        ledger.settle(false).unwrap();
        let mut days = Vec::new();
        each(&*store, "", |key, _| days.push(key[..10].to_owned())).unwrap();
        assert_eq!(days, [today.before(KEPT_DAYS).to_string(), today.to_string()]);
    }

    #[test]
    fn what_nobody_used_makes_no_store() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        Ledger::new(Arc::clone(&store)).settle(true).unwrap();
        assert!(!store.exists());
    }
}
