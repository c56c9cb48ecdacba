//! Admits calls, and accounts for them when they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::records::{Ended, Kind, Watcher};
use parking_lot::{Condvar, Mutex};
use scorpiox_audit::Outcome;
use scorpiox_executor::threads;
use scorpiox_policy::access::{LimitRule, LimitsPolicy, Principal};
use scorpiox_policy::rule::shorten;

use crate::usage::admitted::{Admitted, Counts, InFlight, Minutes};
use crate::usage::buckets::Buckets;
use crate::usage::day::Day;
use crate::usage::exceeded::Exceeded;
use crate::usage::ledger::Ledger;
use crate::usage::quotas::Quotas;
use crate::usage::used::Used;

/// Interval between writes and reads of the ledger.
const EVERY: Duration = Duration::from_secs(10);
/// Maximum time that startup waits for earlier usage to be read.
const BEGIN_TIME: Duration = Duration::from_secs(2);
/// Maximum time that shutdown waits for the last write.
const END_TIME: Duration = Duration::from_secs(2);
/// Retry delay if another call has to end first, which is unpredictable.
const SOON: Duration = Duration::from_secs(1);

/// Meters usage and admits calls.
pub struct Meter {
    rules: Vec<Limit>,
    ledger: Ledger,
    quotas: Arc<Quotas>,
    reads: bool,
    /// Time of the last availability check of the store. The result is in `is_reached`.
    looked: Mutex<Option<Instant>>,
    is_reached: AtomicBool,
    end: Mutex<Ending>,
    bell: Condvar,
}

#[derive(Default)]
struct Ending {
    /// `true` once earlier usage has been read, or reading it has failed.
    has_begun: bool,
    is_asked: bool,
    is_over: bool,
}

/// Rule with its counters.
pub(crate) struct Limit {
    name: String,
    /// Account for daily calls. It differs from `name` if a machine-wide rule has the same name.
    account: String,
    rule: LimitRule,
    pub(crate) minute: Mutex<Buckets>,
    in_flight: Counts,
}

impl Meter {
    /// Creates a meter for these limits, and starts the thread that writes the ledger.
    ///
    /// # Errors
    ///
    /// Fails if the thread cannot be started.
    pub fn start(policy: &LimitsPolicy, ledger: Ledger) -> std::io::Result<Arc<Self>> {
        let limit = |(name, rule): (&str, &LimitRule)| Limit {
            name: name.to_owned(),
            account: name.to_owned(),
            rule: rule.clone(),
            minute: Mutex::default(),
            in_flight: Arc::default(),
        };
        let mut rules: Vec<_> = policy.all().map(limit).collect();
        for at in 1..rules.len() {
            let (before, rest) = rules.split_at_mut(at);
            if before.iter().any(|limit| limit.name == rest[0].name) {
                rest[0].account.push_str(" of the user");
            }
        }
        let reads = rules.iter().any(|limit| limit.rule.has_days());
        let quotas = Quotas::new(Arc::clone(ledger.store()));
        let meter = Arc::new(Self {
            rules,
            ledger,
            quotas,
            reads,
            looked: Mutex::default(),
            is_reached: AtomicBool::new(true),
            end: Mutex::default(),
            bell: Condvar::new(),
        });
        let settling = Arc::clone(&meter);
        threads::start_small("usage", move || settling.settle())?;
        if meter.reads {
            // Wait for earlier usage, so that early calls are judged correctly.
            meter.bell.wait_while_for(&mut meter.end.lock(), |end| !end.has_begun, BEGIN_TIME);
        }
        Ok(meter)
    }

    /// Returns `true` if there are limits.
    pub fn has_limits(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Counts a call that is about to start, if all limits permit it. The caller must already be authorized
    /// to use the tool.
    ///
    /// # Errors
    ///
    /// Returns the first exceeded limit. In that case nothing is counted.
    pub fn admit(
        &self,
        principal: &Principal,
        tool: &str,
        original: Option<&str>,
    ) -> Result<Admitted, Exceeded> {
        let is_for = |limit: &&Limit| {
            let mut names = std::iter::once(tool).chain(original);
            names.any(|name| limit.rule.is_for(principal, name))
        };
        let limits: Vec<_> = self.rules.iter().filter(is_for).collect();
        if limits.is_empty() {
            return Ok(Admitted::default());
        }
        let (who, now) = (principal.key(), Instant::now());
        for limit in &limits {
            limit
                .check(&who, tool, now, &self.ledger)
                .map_err(|reached| limit.exceeded(principal, &reached, self.reaches_store()))?;
        }
        // Other calls may have started since the check, so each limit is checked again under its lock.
        let mut admitted = Admitted::default();
        let mut minutes = Minutes::default();
        let refused = limits.iter().find_map(|limit| {
            limit.take(&who, tool, now, self, &mut admitted, &mut minutes).err().map(|why| (limit, why))
        });
        if let Some((limit, reached)) = refused {
            // Release the slots first, because `reaches_store` may be slow.
            drop((admitted, minutes));
            return Err(limit.exceeded(principal, &reached, self.reaches_store()));
        }
        minutes.is_kept = true;
        Ok(admitted)
    }

    /// Returns `true` if the store was reachable within the last second. A flood of calls tests it once a
    /// second, and no call waits for the test of another.
    fn reaches_store(&self) -> bool {
        if let Some(mut looked) = self.looked.try_lock()
            && looked.is_none_or(|at| at.elapsed() >= SOON)
        {
            self.is_reached.store(self.ledger.store().changes().is_ok(), Ordering::Release);
            *looked = Some(Instant::now());
        }
        self.is_reached.load(Ordering::Acquire)
    }

    fn settle(&self) {
        // Read the usage from before this server started.
        self.settle_once();
        self.end.lock().has_begun = true;
        self.bell.notify_all();
        loop {
            let is_over = {
                let mut end = self.end.lock();
                self.bell.wait_while_for(&mut end, |end| !end.is_asked, EVERY);
                end.is_asked
            };
            self.settle_once();
            if self.reads
                && let Err(error) = self.quotas.settle(is_over)
            {
                tracing::warn!("calls that were counted and not used are not given back yet: {error}");
            }
            if is_over {
                self.end.lock().is_over = true;
                self.bell.notify_all();
                return;
            }
        }
    }

    fn settle_once(&self) {
        if let Err(error) = self.ledger.settle(self.reads) {
            tracing::warn!("what was used is not written yet: {error}");
        }
    }

    /// Writes the remaining usage, for a limited time.
    pub fn end(&self) {
        let mut end = self.end.lock();
        end.is_asked = true;
        self.bell.notify_all();
        if self.bell.wait_while_for(&mut end, |end| !end.is_over, END_TIME).timed_out() {
            tracing::warn!("what was used in the last seconds could not be written");
        }
    }
}

/// Reached limit, and the retry delay.
struct Reached {
    /// Description of the usage; `None` if unknown.
    what: Option<String>,
    wait: Duration,
}

impl Reached {
    fn new(what: String, wait: Duration) -> Self {
        Self { what: Some(what), wait }
    }

    fn a_minute(most: u32, wait: Duration) -> Self {
        Self::new(format!("has no call left of {most} a minute"), wait)
    }

    /// If fewer calls ran than are reserved, unused reservations may be returned soon.
    fn a_day(most: u64, known: u64) -> Self {
        let wait = if known < most { EVERY } else { Day::left() };
        Self::new(format!("has no call left of {most} a day"), wait)
    }

    fn at_once(most: u32) -> Self {
        Self::new(format!("has {most} calls in flight"), SOON)
    }
}

impl Limit {
    /// Checks whether the limit permits a call of the tool.
    fn check(&self, who: &str, tool: &str, now: Instant, ledger: &Ledger) -> Result<(), Reached> {
        let rule = &self.rule;
        if let Some(most) = &rule.in_flight
            && self.in_flight.lock().get(who).is_some_and(|count| *count >= most.value)
        {
            return Err(Reached::at_once(most.value));
        }
        if let Some(most) = &rule.calls_per_minute {
            let has_one = self.minute.lock().has_one(who, most.value, now);
            has_one.map_err(|wait| Reached::a_minute(most.value, wait))?;
        }
        if !rule.has_days() {
            return Ok(());
        }
        // Usage that cannot be determined cannot be limited, so the call is refused.
        let used = ledger.today(who, tool, |tool| rule.counts(tool));
        let used = used.ok_or(Reached { what: None, wait: SOON })?;
        let reached = [
            (&rule.calls_per_day, used.calls, "calls"),
            (&rule.processor_seconds_per_day, used.processor().as_secs(), "s of processor time"),
            (&rule.stored_per_day, used.stored, "bytes of storage"),
        ];
        for (most, used, what) in reached {
            if let Some(most) = most
                && used >= most.value
            {
                return Err(Reached::new(format!("used {used} {what} of {} a day", most.value), Day::left()));
            }
        }
        Ok(())
    }

    /// Reserves capacity for a call.
    fn take<'a>(
        &'a self,
        who: &'a str,
        tool: &str,
        now: Instant,
        meter: &Meter,
        admitted: &mut Admitted,
        minutes: &mut Minutes<'a>,
    ) -> Result<(), Reached> {
        if let Some(most) = &self.rule.in_flight {
            let mut of = self.in_flight.lock();
            let count = of.entry(who.to_owned()).or_default();
            if *count >= most.value {
                return Err(Reached::at_once(most.value));
            }
            *count += 1;
            admitted.in_flight.push(InFlight::new(&self.in_flight, who));
        }
        if let Some(most) = &self.rule.calls_per_minute {
            let mut minute = self.minute.lock();
            minute.has_one(who, most.value, now).map_err(|wait| Reached::a_minute(most.value, wait))?;
            minute.take(who, most.value, now);
            minutes.taken.push((self, who));
        }
        if let Some(most) = &self.rule.calls_per_day {
            let used = meter.ledger.today(who, tool, |tool| self.rule.counts(tool));
            let known = used.ok_or(Reached { what: None, wait: SOON })?.calls;
            let counted = meter.quotas.count(&self.account, who, most.value, known).map_err(|error| {
                tracing::warn!("a call is refused that cannot be counted: {error}");
                Reached { what: None, wait: SOON }
            })?;
            admitted.days.push(counted.ok_or_else(|| Reached::a_day(most.value, known))?);
        }
        Ok(())
    }

    fn exceeded(&self, principal: &Principal, reached: &Reached, reaches_store: bool) -> Exceeded {
        let Reached { what, wait } = reached;
        let retry_after = Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(SOON);
        let (who, source) = (shorten(&principal.name), self.rule.source);
        let rule = format!("[limits.{}] ({source})", self.name);
        let seconds = retry_after.as_secs();
        let away = if reaches_store { "" } else { "; the store of this server cannot be reached" };
        let why = match what {
            Some(what) => {
                format!("{who} {what}, which is what {rule} allows{away}; try again in {seconds} s")
            }
            None => format!(
                "it is not known what {who} used today, which {rule} bounds{away}; try again in {seconds} s"
            ),
        };
        Exceeded { why, decided_by: source, retry_after, is_sure: what.is_some() && reaches_store }
    }
}

impl Watcher for Meter {
    fn ended(&self, ended: &Ended<'_>) {
        let Some(principal) = ended.client.and_then(|client| client.principal.as_deref()) else { return };
        let is_refused = matches!(ended.outcome, Outcome::Refused(_));
        let is_call = ended.kind != Kind::Task;
        let used = Used {
            calls: u64::from(is_call && !is_refused),
            refused: u64::from(is_call && is_refused),
            processor_us: u64::try_from(ended.cost.processor.as_micros()).unwrap_or(u64::MAX),
            stored: ended.cost.stored,
            ..Used::default()
        };
        // The ledger does not store names of nonexistent tools.
        let tool = if matches!(ended.kind, Kind::Call | Kind::Method) { ended.name } else { "" };
        self.ledger.add(principal, tool, used);
    }

    fn moved(&self, principal: &str, received: u64, sent: u64) {
        self.ledger.add(principal, "", Used { received, sent, ..Used::default() });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{OnceLock, Weak};

    use scorpiox_executor::Cancel;
    use scorpiox_policy::rule::{Source, Sourced};
    use scorpiox_store::{Changes, MemoryStore, Mode, Store, StoreError, Transaction};

    use super::*;

    fn meter(change: impl FnOnce(&mut LimitRule)) -> Arc<Meter> {
        let mut rule = LimitRule::none(Source::Builtin);
        change(&mut rule);
        let policy = LimitsPolicy { rules: [("all".to_owned(), rule)].into(), outer: None };
        let ledger = Ledger::new(Arc::new(MemoryStore::default()));
        ledger.settle(true).unwrap();
        Meter::start(&policy, ledger).unwrap()
    }

    #[test]
    fn calls_in_flight_are_each_ones_own_and_over_when_they_end() {
        let meter = meter(|rule| rule.in_flight = Some(Sourced::builtin(2)));
        let (ann, bob) = (Principal::named("ann"), Principal::named("bob"));
        let [one, _other] = ["Bash", "ReadDocs"].map(|tool| meter.admit(&ann, tool, None).unwrap());
        let exceeded = meter.admit(&ann, "Bash", None).err().unwrap();
        assert_eq!(exceeded.retry_after, SOON);
        assert!(
            exceeded.why.starts_with("ann has 2 calls in flight, which is what [limits.all]"),
            "{exceeded:?}"
        );
        assert!(meter.admit(&bob, "Bash", None).is_ok());
        drop(one);
        assert!(meter.admit(&ann, "Bash", None).is_ok());
        assert_eq!(meter.rules[0].in_flight.lock().len(), 1, "who has none is forgotten");
        meter.end();
    }

    #[test]
    fn a_call_that_is_refused_counts_for_no_other_rule() {
        let meter = meter(|rule| {
            rule.in_flight = Some(Sourced::builtin(1));
            rule.calls_per_minute = Some(Sourced::builtin(2));
        });
        let ann = Principal::named("ann");
        let admitted = meter.admit(&ann, "Bash", None).unwrap();
        for _ in 0..10 {
            assert!(meter.admit(&ann, "Bash", None).is_err());
        }
        drop(admitted);
        assert!(meter.admit(&ann, "Bash", None).is_ok(), "one of two is left");
        let exceeded = meter.admit(&ann, "Bash", None).err().unwrap();
        assert!(exceeded.why.contains("has no call left of 2 a minute"), "{exceeded:?}");
        assert!((25..=30).contains(&exceeded.retry_after.as_secs()), "{exceeded:?}");
        meter.end();
    }

    #[test]
    fn nobody_is_let_through_of_whom_it_is_not_known_what_they_used() {
        let meter = meter(|rule| rule.calls_per_day = Some(Sourced::builtin(10)));
        for number in 0..100 {
            meter.ledger.add(&format!("user{number}"), "Bash", Used { calls: 1, ..Used::default() });
        }
        assert!(meter.admit(&Principal::named("user0"), "Bash", None).is_ok());
        let exceeded = meter.admit(&Principal::named("user99"), "Bash", None).err().unwrap();
        assert!(
            exceeded.why.starts_with("it is not known what user99 used today, which [limits.all]"),
            "{exceeded:?}"
        );
        meter.end();
    }

    /// Store that inspects the meter on each availability check.
    #[derive(Debug)]
    struct Watched {
        store: MemoryStore,
        meter: Arc<OnceLock<Weak<Meter>>>,
        in_flight: Arc<Mutex<Vec<u32>>>,
    }

    impl Store for Watched {
        fn location(&self) -> String {
            self.store.location()
        }

        fn exists(&self) -> bool {
            self.store.exists()
        }

        fn is_absent(&self) -> Result<bool, StoreError> {
            self.store.is_absent()
        }

        fn begin(
            &self,
            mode: Mode,
            cancel: &Cancel,
            on_wait: &mut dyn FnMut(),
        ) -> Result<Box<dyn Transaction>, StoreError> {
            self.store.begin(mode, cancel, on_wait)
        }

        fn try_begin(&self, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
            self.store.try_begin(mode)
        }

        fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
            if let Some(meter) = self.meter.get().and_then(Weak::upgrade) {
                let in_flight = meter.rules[0].in_flight.lock().values().sum();
                self.in_flight.lock().push(in_flight);
            }
            self.store.changes()
        }
    }

    #[test]
    fn a_call_that_is_refused_holds_no_place_while_the_store_is_asked() {
        let mut rule = LimitRule::none(Source::Builtin);
        rule.in_flight = Some(Sourced::builtin(5));
        rule.calls_per_day = Some(Sourced::builtin(1));
        let policy = LimitsPolicy { rules: [("all".to_owned(), rule)].into(), outer: None };
        let (of, in_flight) = (Arc::new(OnceLock::new()), Arc::new(Mutex::new(Vec::new())));
        let store = MemoryStore::default();
        let ledger = Ledger::new(Arc::new(Watched {
            store,
            meter: Arc::clone(&of),
            in_flight: Arc::clone(&in_flight),
        }));
        ledger.settle(true).unwrap();
        let meter = Meter::start(&policy, ledger).unwrap();
        of.set(Arc::downgrade(&meter)).unwrap();
        let ann = Principal::named("ann");
        let admitted = meter.admit(&ann, "Bash", None).unwrap();
        // The only call of the day is taken before the slot in flight is.
        assert!(meter.admit(&ann, "Bash", None).err().unwrap().why.contains("has no call left of 1 a day"));
        assert_eq!(*in_flight.lock(), [1], "the call that runs");
        drop(admitted);
        meter.end();
    }

    #[test]
    fn days_are_bounded_by_what_all_servers_counted() {
        let meter = meter(|rule| {
            rule.processor_seconds_per_day = Some(Sourced::builtin(10));
            rule.stored_per_day = Some(Sourced::builtin(1000));
        });
        let (ann, bob) = (Principal::named("ann"), Principal::named("bob"));
        meter.ledger.add("ann", "Bash", Used { processor_us: 9_999_999, stored: 999, ..Used::default() });
        assert!(meter.admit(&ann, "Bash", None).is_ok());
        meter.ledger.add("ann", "Bash", Used { stored: 1, ..Used::default() });
        let exceeded = meter.admit(&ann, "Bash", None).err().unwrap();
        assert!(exceeded.why.contains("used 1000 bytes of storage of 1000 a day"), "{exceeded:?}");
        assert!(exceeded.retry_after <= Duration::from_hours(24));
        meter.ledger.add("bob", "Bash", Used { processor_us: 10_000_000, ..Used::default() });
        let exceeded = meter.admit(&bob, "Bash", None).err().unwrap();
        assert!(exceeded.why.contains("used 10 s of processor time of 10 a day"), "{exceeded:?}");
        meter.end();
    }
}
