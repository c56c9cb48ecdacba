//! Times in the format that users and models read.

use jiff::{Timestamp, tz::Offset};

/// Formats milliseconds since 1970 as `2026-11-20T22:40:32Z`. Times after the year 9999 are clamped.
pub fn rfc3339(millis: u64) -> String {
    let seconds = i64::try_from(millis / 1000).unwrap_or(i64::MAX);
    let at = Offset::UTC.to_datetime(Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX));
    let (year, month, day) = (at.year(), at.month(), at.day());
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", at.hour(), at.minute(), at.second())
}

/// Formats a duration as `12s`, `3m05s`, `2h07m` or `4d03h`.
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399_999), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_214_432_000), "2026-11-20T22:40:32Z");
        assert_eq!(rfc3339(4_107_542_400_000), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn durations_name_two_units() {
        assert_eq!(duration(999), "0s");
        assert_eq!(duration(185_000), "3m05s");
        assert_eq!(duration(7_620_000), "2h07m");
        assert_eq!(duration(356_400_000), "4d03h");
    }
}
