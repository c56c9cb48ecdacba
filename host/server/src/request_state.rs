//! `requestState`: marks by which this server knows again what it gave a client, and when.

use std::time::{Duration, SystemTime};

use scorpiox_seal::Seal;

/// A client that asks a person longer than this has to begin anew.
const MAX_AGE: Duration = Duration::from_hours(24);

/// The mark of a call with these arguments, made now.
pub(crate) fn mark(seal: &Seal, name: &str, arguments: &str) -> Option<String> {
    seal.seal(&since_epoch(SystemTime::now()).as_millis().to_be_bytes(), &[name, arguments])
}

/// How long ago this very mark was made for these arguments; none where it was not, or too long ago.
pub(crate) fn age(seal: &Seal, mark: &str, name: &str, arguments: &str) -> Option<Duration> {
    let made: [u8; 16] = seal.open(mark, &[name, arguments])?.try_into().ok()?;
    let made = Duration::from_millis(u64::try_from(u128::from_be_bytes(made)).ok()?);
    let age = since_epoch(SystemTime::now()).saturating_sub(made);
    (age <= MAX_AGE).then_some(age)
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
