//! The database's clock, which all servers use. Their own clocks may differ by minutes, and a timer armed by
//! one server may be fired by another.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use scorpiox_store::StoreError;

use crate::begin::LOOK;
use crate::connection::Connection;

/// Smaller differences are ignored, because the query itself takes time.
const TOLERANCE_MS: i64 = 1000;

/// Difference between the database's clock and this machine's.
#[derive(Debug, Default)]
pub(crate) struct Clock(AtomicI64);

impl Clock {
    /// Returns how far the database's clock is ahead, in milliseconds.
    pub(crate) fn ahead(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Compares the clocks over a new connection. Also finds out whether the server can check for a
    /// disconnected client.
    pub(crate) fn compare(&self, connection: &mut Connection) -> Result<(), StoreError> {
        // Servers on other systems than Linux may reject the setting.
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

    /// Records a measurement: the local times before and after the query, and the database's time in between.
    fn found(&self, before: i64, there: i64, after: i64) {
        // The local clock jumped, or the answer took too long to be useful.
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

/// Returns the milliseconds since 1970.
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
        // Small drift does not change the offset with each connection.
        clock.found(1000, 301_505, 1010);
        assert_eq!(clock.ahead(), 300_000);
        // Ignores an answer that took too long, and a clock that was set back in the meantime.
        clock.found(1000, 900_000, 2500);
        clock.found(1000, 900_000, 500);
        assert_eq!(clock.ahead(), 300_000);
        clock.found(1000, -298_995, 1010);
        assert_eq!(clock.ahead(), -300_000);
        clock.found(1000, 1005, 1010);
        assert_eq!(clock.ahead(), 0);
    }
}
