//! Points in time, as milliseconds since the Unix epoch, and their textual forms. Always UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::civil::{self, Date};

const EPOCH: Date = civil::date(1970, 1, 1);
const SECOND: u64 = 1000;
const DAY: u64 = 86_400 * SECOND;
/// Last millisecond of the year 9999; later years have more than four digits.
const LAST: u64 = 253_402_300_799_999;

/// Returns the current time; 0 if the clock is set before 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(LAST)
}

/// Formats as RFC 3339: `2026-11-22T02:08:36.123Z`.
pub fn rfc3339(millis: u64) -> String {
    String::from_utf8_lossy(&digits(millis)).into_owned()
}

/// Formats as RFC 3339 without allocating, because it runs for each call.
pub(crate) fn digits(millis: u64) -> [u8; 24] {
    let millis = millis.min(LAST);
    let date = EPOCH.saturating_add(Duration::from_millis(millis));
    let of_day = millis % DAY;
    let second = of_day / SECOND;
    let mut text = *b"0000-00-00T00:00:00.000Z";
    put(&mut text[0..4], date.year().unsigned_abs().into());
    put(&mut text[5..7], date.month().unsigned_abs().into());
    put(&mut text[8..10], date.day().unsigned_abs().into());
    put(&mut text[11..13], second / 3600);
    put(&mut text[14..16], second / 60 % 60);
    put(&mut text[17..19], second % 60);
    put(&mut text[20..23], of_day % SECOND);
    text
}

fn put(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Returns the number of days since the Unix epoch, or `None` for an earlier or invalid date.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    u64::try_from(date.duration_since(EPOCH).as_hours() / 24).ok()
}

/// Parses a date such as `2026-11-22`, optionally followed by `T` and a time of day.
pub fn parse(text: &str) -> Option<u64> {
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        Some((day, time)) => (day, time.strip_suffix(['Z', 'z']).unwrap_or(time)),
        None => (text, "0:00"),
    };
    let mut parts = day.splitn(3, '-').map(|part| number(part, 4));
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    Some(days(year, month, day)? * DAY + of_day(time)?)
}

fn of_day(time: &str) -> Option<u64> {
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = time.splitn(3, ':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |second| number(second, 2))?;
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| (1..=9).contains(digits))?;
    let millis = number(fraction, 9)? * SECOND / 10_u64.pow(digits);
    (hour < 24 && minute < 60 && second < 60).then(|| (hour * 3600 + minute * 60 + second) * SECOND + millis)
}

/// Parses a start time: a date, or an age such as `90s`, `30m`, `2h`, `7d`.
pub fn parse_since(text: &str, now: u64) -> Option<u64> {
    let unit = match text.chars().next_back()? {
        's' => SECOND,
        'm' => 60 * SECOND,
        'h' => 3600 * SECOND,
        'd' => DAY,
        _ => return parse(text),
    };
    let count = number(&text[..text.len() - 1], 9)?;
    Some(now.saturating_sub(count.saturating_mul(unit)))
}

fn number(text: &str, most: usize) -> Option<u64> {
    let fits = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

/// Parses a start time given by the user. The error explains the syntax.
pub fn since(text: &str) -> Result<u64, String> {
    parse_since(text, now())
        .ok_or_else(|| "write how long ago (90s, 30m, 2h, 7d), or a day such as 2026-11-22".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times_are_written_and_read() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_795_313_316_123, "2026-11-22T02:08:36.123Z"),
            (LAST, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(millis), text);
            assert_eq!(parse(text), Some(millis), "{text}");
        }
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn since_is_a_day_a_time_or_a_while_ago() {
        let now = 1_795_313_316_123;
        assert_eq!(parse_since("2h", now), Some(now - 7_200_000));
        assert_eq!(parse_since("999999999d", now), Some(0));
        assert_eq!(parse_since("2026-11-22", now).map(rfc3339).unwrap(), "2026-11-22T00:00:00.000Z");
        assert_eq!(parse_since("2026-11-22T09:30", now).map(rfc3339).unwrap(), "2026-11-22T09:30:00.000Z");
        for wrong in
            ["", "h", "2", "-2h", "é", "2é", "2026-02-30", "2026-13-01", "1969-12-31", "2026-11-22T24:00"]
        {
            assert_eq!(parse_since(wrong, now), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_time_comes_back(millis in 0..=LAST) {
            prop_assert_eq!(parse(&rfc3339(millis)), Some(millis));
        }

        #[test]
        fn nothing_that_is_written_is_a_panic(text in "\\PC{0,30}", now in any::<u64>()) {
            let _ = parse_since(&text, now);
        }
    }
}
