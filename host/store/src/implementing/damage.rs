//! Damaged rows, caused by manual edits or by disk errors.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Maximum number of rows remembered as reported.
const MAX_TOLD: usize = 1024;

/// Logs a damaged row, once for each process. The row is skipped and retained: it must not affect other rows.
pub fn tell_damaged(location: &str, what: &str) {
    static TOLD: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock();
    if told.len() < MAX_TOLD && told.insert((location.to_owned(), what.to_owned())) {
        tracing::warn!(
            "{location}: {what} is damaged, left out and kept; `scorpiox-code store check` lists all that are"
        );
    }
}
