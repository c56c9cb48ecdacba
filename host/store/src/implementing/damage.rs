//! Rows that cannot be read: somebody wrote them by hand, or the disk did.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Rows that are remembered as told.
const MAX_TOLD: usize = 1024;

/// Tells of a damaged row, once in a process. It is left out and kept: one of them must not stop all others.
pub fn tell_damaged(location: &str, what: &str) {
    static TOLD: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock();
    if told.len() < MAX_TOLD && told.insert((location.to_owned(), what.to_owned())) {
        tracing::warn!(
            "{location}: {what} is damaged, left out and kept; `scorpiox-code store check` lists all that are"
        );
    }
}
