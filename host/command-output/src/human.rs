//! Human-readable numbers.

use std::time::Duration;

/// Formats a number of bytes, such as `12,345 bytes`.
pub fn human_bytes(bytes: u64) -> String {
    format!("{} byte{}", grouped(bytes), if bytes == 1 { "" } else { "s" })
}

/// Formats a number with thousands separators.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration, such as `0.25 s`, `12.3 s` or `1 h 05 min`.
pub fn human_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.2} s", time.as_secs_f64()),
        10..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_times_read_well() {
        assert_eq!(human_bytes(0), "0 bytes");
        assert_eq!(human_bytes(1), "1 byte");
        assert_eq!(human_bytes(12_345_678), "12,345,678 bytes");
        assert_eq!(human_duration(Duration::from_millis(1_234)), "1.23 s");
        assert_eq!(human_duration(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(human_duration(Duration::from_secs(65)), "1 min 05 s");
        assert_eq!(human_duration(Duration::from_mins(65)), "1 h 05 min");
    }
}
