//! What was used, by day, principal and tool, for a month.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_executor::Cancel;
use scorpiox_store::{MAX_SCAN_ENTRIES, Mode, Order, Store, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::day::Day;
use crate::used::Used;

/// Whose data it is in the store.
const NAMESPACE: &str = "usage";
/// Days that are kept beside today.
const KEPT_DAYS: u64 = 31;
/// Most bytes that it may take: far more than it needs.
const QUOTA: u64 = 1 << 30;
/// Most rows of a day that a server makes. People and tools may come and go; what is more is counted together, and nobody
/// knows of those what they used.
const MAX_ROWS: usize = if cfg!(test) { 8 } else { 65_536 };
/// Who all others are.
const OTHERS: &str = "(others)";

/// What a principal used with a tool on a day, at one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Who: an issuer and a name, or a name.
    pub principal: String,
    /// With which tool; empty for what belongs to none.
    pub tool: String,
    /// How much.
    #[serde(flatten)]
    pub used: Used,
}

/// By principal and tool.
type Rows = BTreeMap<(String, String), Used>;

/// Keeps what is used, and knows what all servers did.
pub struct Ledger {
    store: Arc<dyn Store>,
    /// Tells this process from others, and from those before it.
    server: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    day: Option<Day>,
    /// Of this day and this process, by principal and tool.
    own: Rows,
    /// Of this day and all other processes, as it was read last.
    others: Rows,
    /// Of those, what is not written as it is now.
    changed: BTreeSet<(String, String)>,
    /// What others wrote was read once: before, nobody knows what was used.
    is_read: bool,
    /// Of days before, and not written yet.
    unwritten: BTreeMap<Day, Rows>,
    /// Rows of days before this one were taken away.
    swept: Option<Day>,
}

impl Ledger {
    /// In this store. Nothing is read or written yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let mut random = [0; 8];
        // Without random numbers the time tells processes apart.
        if getrandom::fill(&mut random).is_err() {
            random = scorpiox_audit::time::now().to_be_bytes();
        }
        let server = format!("{:016x}", u64::from_be_bytes(random));
        Self { store, server, state: Mutex::default() }
    }

    /// The place where it is kept.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Adds what a principal used with a tool today. Does not wait.
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

    /// What a principal used today with a tool and some others, at all servers: with those of others as they were read last.
    /// None where that is not known.
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

    /// Writes what came since the last time, and reads what others wrote.
    ///
    /// # Errors
    ///
    /// Those of the store; what could not be written is written the next time.
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
                // What it was then is less than what it is.
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

    /// What other processes wrote of a day.
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
    /// Rows that are not written as they are now.
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

/// The day, the process, and who used what: as a hash, since names may be longer than a key.
fn key(day: Day, server: &str, principal: &str, tool: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(principal.as_bytes());
    hash.update([0]);
    hash.update(tool.as_bytes());
    let mut first = [0; 16];
    first.copy_from_slice(&hash.finalize()[..16]);
    format!("{day}/{server}/{:032x}", u128::from_be_bytes(first))
}

/// Goes through all rows whose keys begin like this.
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
            // What cannot be read is of a version to come.
            if let Ok(row) = serde_json::from_slice(&entry.value) {
                tell(&entry.key, row);
            }
        }
    }
}

/// What each principal used at all servers, with each tool, since a day.
///
/// # Errors
///
/// Those of the store.
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
