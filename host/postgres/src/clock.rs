//! The clock that all servers go by: the database's. Theirs may differ by minutes, and a timer that one armed is fired by
//! another.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use scorpiox_store::StoreError;

use crate::begin::LOOK;
use crate::connection::Connection;

/// What differs less is the same: asking takes its time, too.
const TOLERANCE_MS: i64 = 1000;

/// How far the database's clock is ahead of this machine's.
#[derive(Debug, Default)]
pub(crate) struct Clock(AtomicI64);

impl Clock {
    /// In milliseconds.
    pub(crate) fn ahead(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks, over a connection that is new; and whether its server can look for its client.
    pub(crate) fn compare(&self, connection: &mut Connection) -> Result<(), StoreError> {
        // Other systems refuse the setting.
        let sql = "SELECT (extract(epoch FROM clock_timestamp())::numeric * 1000::numeric)::bigint,
                 version() LIKE '%linux%' AND current_setting('client_connection_check_interval', true) IS NOT NULL";
        let (before, row) = connection.look(|connection| {
            let before = here();
            connection.row(sql, &[]).map(|row| (before, row))
        })?;
        let after = here();
        if let Some((there, can_look)) = row.map(|row| (row.get::<_, i64>(0), row.get(1))) {
            connection.look_setting = if can_look { LOOK } else { "" };
            self.found(before, there, after);
        }
        Ok(())
    }

    /// Takes what was asked for: the times here before and after, and there in between.
    fn found(&self, before: i64, there: i64, after: i64) {
        // It jumped, or the answer took so long that it says nothing.
        if !(0..TOLERANCE_MS).contains(&(after - before)) {
            return;
        }
        let ahead = there - i64::midpoint(before, after);
        let ahead = if ahead.abs() < TOLERANCE_MS { 0 } else { ahead };
        let known = self.0.load(Ordering::Relaxed);
        let is_news = (ahead - known).abs() >= TOLERANCE_MS || ahead == 0;
        if is_news && self.0.swap(ahead, Ordering::Relaxed) != ahead {
            tracing::warn!("this machine's clock and the database's differ by {} s", ahead.abs() / 1000);
        }
    }
}

/// Milliseconds since 1970.
fn here() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_by_little_are_one() {
        let clock = Clock::default();
        clock.found(1000, 1950, 1010);
        assert_eq!(clock.ahead(), 0);
        clock.found(1000, 301_005, 1010);
        assert_eq!(clock.ahead(), 300_000);
        // Those that drift are not moved with each connection.
        clock.found(1000, 301_505, 1010);
        assert_eq!(clock.ahead(), 300_000);
        // An answer that took too long, and a clock that was set back meanwhile, say nothing.
        clock.found(1000, 900_000, 2500);
        clock.found(1000, 900_000, 500);
        assert_eq!(clock.ahead(), 300_000);
        clock.found(1000, -298_995, 1010);
        assert_eq!(clock.ahead(), -300_000);
        clock.found(1000, 1005, 1010);
        assert_eq!(clock.ahead(), 0);
    }
}
