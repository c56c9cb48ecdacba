//! Numbers that JSON cannot represent, or that clients which read all numbers as doubles would change.

use serde_json::{Number, Value};

/// Largest integer up to which a double represents every integer exactly.
pub(crate) const MAX_SAFE: i64 = (1 << 53) - 1;

pub(crate) const NOT_FINITE: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

pub(crate) fn from_u64(value: u64) -> Value {
    if value <= MAX_SAFE.unsigned_abs() { value.into() } else { value.to_string().into() }
}

pub(crate) fn from_s64(value: i64) -> Value {
    if value.unsigned_abs() <= MAX_SAFE.unsigned_abs() { value.into() } else { value.to_string().into() }
}

pub(crate) fn from_f64(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| not_finite(value), Value::Number)
}

pub(crate) fn from_f32(value: f32) -> Value {
    // Uses the shortest digits, unless parsing them as a double first would change the value.
    let short: f64 = value.to_string().parse().unwrap_or(f64::NAN);
    #[allow(clippy::cast_possible_truncation, reason = "it is looked at whether that loses something")]
    let exact = if (short as f32).to_bits() == value.to_bits() { short } else { f64::from(value) };
    from_f64(exact)
}

fn not_finite(value: f64) -> Value {
    let name = match value {
        _ if value.is_nan() => "NaN",
        _ if value.is_sign_negative() => "-Infinity",
        _ => "Infinity",
    };
    name.into()
}

/// Returns a float; `None` if the value is not a float.
pub(crate) fn to_f64(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(name) => NOT_FINITE.iter().find(|(known, _)| known == name).map(|(_, value)| *value),
        _ => None,
    }
}

/// Returns an integer of any type; `None` if the value is not an integer. Accepts numbers such as `3.0`,
/// because clients that only have doubles send them.
pub(crate) fn to_integer(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => {
            let integer = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            integer.or_else(|| whole(number.as_f64()?))
        }
        Value::String(digits) => {
            let plain = digits.strip_prefix('-').unwrap_or(digits);
            let is_plain = !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit());
            if is_plain { digits.parse().ok() } else { None }
        }
        _ => None,
    }
}

fn whole(value: f64) -> Option<i128> {
    #[allow(clippy::cast_possible_truncation, reason = "bounded")]
    (value.fract() == 0.0 && value.abs() <= 2_f64.powi(64)).then_some(value as i128)
}
