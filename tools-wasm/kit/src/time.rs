//! Times as people and models read them.

/// `2026-11-20T22:40:32Z` from milliseconds since 1970.
pub fn rfc3339(millis: u64) -> String {
    let seconds = millis / 1000;
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_date(days);
    let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The Gregorian date of a day counted from 1970-01-01. Years are counted from March
/// so that the leap day comes last.
fn civil_date(days_since_1970: u64) -> (u64, u64, u64) {
    const DAYS_FROM_MARCH_0000: u64 = 719_468;
    const DAYS_IN_400_YEARS: u64 = 146_097;
    let days = days_since_1970 + DAYS_FROM_MARCH_0000;
    let era = days / DAYS_IN_400_YEARS;
    let day_of_era = days % DAYS_IN_400_YEARS;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// `45s`, `0m12s` style lengths: `12s`, `3m05s`, `2h07m`, `4d03h`.
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
