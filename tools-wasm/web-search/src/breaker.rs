//! Circuit breaker: suspends engines for a while, with one record per engine in the store.
//!
//! Three consecutive failures suspend an engine, and a captcha suspends it immediately. After the suspension
//! the engine is queried again; another failure suspends it again. A denial by the operator's policy is not
//! counted, because it says nothing about the engine.

use std::collections::BTreeMap;

use scorpiox_tool_kit::store::decode;
use scorpiox_tool_kit::{Order, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::outcome::{Cause, Outcome, Report};

const PREFIX: &str = "engine/";
/// Upper bound for the number of engines.
const MAX_RECORDS: u32 = 100;
/// Number of consecutive failures that suspend an engine.
const MAX_FAILURES: u32 = 3;
const FAILED_MS: u64 = 5_000;
const REFUSED_MS: u64 = 3 * 60_000;
const CAPTCHA_MS: u64 = 60 * 60_000;

/// State of an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Number of consecutive failures.
    failures: u32,
    /// End of the suspension in milliseconds since 1970; 0 if the engine is not suspended.
    suspended_until: u64,
    cause: Cause,
}

impl Record {
    /// Returns the suspension if the engine must not be queried at `now`.
    pub(crate) fn suspension(&self, now: u64) -> Option<Outcome> {
        // A suspension that is too far in the future means that the clock was set back.
        let credible = self.suspended_until <= now.saturating_add(CAPTCHA_MS);
        (self.suspended_until > now && credible)
            .then_some(Outcome::Suspended { until: self.suspended_until, cause: self.cause })
    }

    /// Returns the record after an outcome.
    fn after(&self, outcome: &Outcome, now: u64) -> Self {
        let failures = self.failures.saturating_add(1).min(MAX_FAILURES);
        let (failures, cause, time) = match outcome {
            Outcome::Hits(_) | Outcome::Empty => return Self::default(),
            Outcome::Denied(_) | Outcome::Suspended { .. } => return self.clone(),
            Outcome::Captcha => (MAX_FAILURES, Cause::Captcha, CAPTCHA_MS),
            Outcome::Refused(_) => (failures, Cause::Refused, REFUSED_MS),
            Outcome::TimedOut | Outcome::Failed(_) => (failures, Cause::Failures, FAILED_MS),
        };
        let suspended_until = if failures >= MAX_FAILURES { now + time } else { 0 };
        Self { failures, suspended_until, cause }
    }
}

/// Loads the records by engine. An unreadable record is ignored, because the search is more important.
pub(crate) fn load(store: &mut impl Store) -> Result<BTreeMap<String, Record>, StoreError> {
    let entries = store.scan(PREFIX, None, MAX_RECORDS, Order::Ascending)?;
    let record = |key: &str, value: &[u8]| {
        let name = key.strip_prefix(PREFIX)?.to_owned();
        Some((name, decode(key, value).ok()?))
    };
    Ok(entries.iter().filter_map(|entry| record(&entry.key, &entry.value)).collect())
}

/// Saves the outcomes of the engines. The records are loaded again first, because another search may have
/// written them in the meantime.
pub(crate) fn save(store: &mut impl Store, reports: &[Report], now: u64) -> Result<(), StoreError> {
    let records = load(store)?;
    for report in reports {
        let name = report.engine.name;
        let known = records.get(name).cloned().unwrap_or_default();
        let record = known.after(&report.outcome, now);
        if record == known {
            continue;
        }
        let key = format!("{PREFIX}{name}");
        if record == Record::default() {
            store.delete(&key)?;
        } else {
            store.set_record(&key, &record)?;
        }
    }
    Ok(())
}
