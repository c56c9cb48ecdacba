//! Which engines are left alone for a while: one record each, in the store.
//!
//! Three failures in a row suspend an engine, a captcha at once. After the suspension the
//! engine is asked again; if it fails once more, it is suspended once more. What the operator's
//! policy denies says nothing about the engine and is not counted.

use std::collections::BTreeMap;

use scorpiox_tool_kit::store::decode;
use scorpiox_tool_kit::{Order, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::outcome::{Cause, Outcome, Report};

const PREFIX: &str = "engine/";
/// More than there are engines.
const MAX_RECORDS: u32 = 100;
/// Failures in a row that suspend.
const MAX_FAILURES: u32 = 3;
const FAILED_MS: u64 = 5_000;
const REFUSED_MS: u64 = 3 * 60_000;
const CAPTCHA_MS: u64 = 60 * 60_000;

/// What is remembered of an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// In a row.
    failures: u32,
    /// Milliseconds since 1970; 0 when it is not suspended.
    suspended_until: u64,
    cause: Cause,
}

impl Record {
    /// Why the engine is not to be asked now, if so.
    pub(crate) fn suspension(&self, now: u64) -> Option<Outcome> {
        // Farther away than any suspension: the clock was set back meanwhile.
        let credible = self.suspended_until <= now.saturating_add(CAPTCHA_MS);
        (self.suspended_until > now && credible)
            .then_some(Outcome::Suspended { until: self.suspended_until, cause: self.cause })
    }

    /// The record after an outcome.
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

/// What is remembered, by engine. A record that cannot be read counts as none: searching is
/// worth more than remembering.
pub(crate) fn load(store: &mut impl Store) -> Result<BTreeMap<String, Record>, StoreError> {
    let entries = store.scan(PREFIX, None, MAX_RECORDS, Order::Ascending)?;
    let record = |key: &str, value: &[u8]| {
        let name = key.strip_prefix(PREFIX)?.to_owned();
        Some((name, decode(key, value).ok()?))
    };
    Ok(entries.iter().filter_map(|entry| record(&entry.key, &entry.value)).collect())
}

/// Remembers what became of the engines. Records are read again first: another search may have
/// written meanwhile.
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
