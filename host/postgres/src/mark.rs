//! Random names for what must never be taken for something else.
//!
//! A number that the database gives out can be given out again: after a crash, or where a standby takes over that did not
//! have the last writes yet. So whatever is looked for later is known by a mark.

use scorpiox_store::StoreError;

/// 128 random bits.
pub(crate) type Mark = [u8; 16];

/// A mark that nothing else has.
pub(crate) fn mark() -> Result<Mark, StoreError> {
    let mut mark = Mark::default();
    getrandom::fill(&mut mark)
        .map_err(|error| StoreError::Other(format!("the system gives no random bytes: {error}")))?;
    Ok(mark)
}

/// A positive number that nothing else has.
pub(crate) fn number() -> Result<i64, StoreError> {
    let mark = mark()?;
    let mut low = [0; 8];
    low.copy_from_slice(&mark[..8]);
    Ok((u64::from_be_bytes(low) >> 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_positive_and_differ() {
        let numbers: std::collections::BTreeSet<_> = (0..1000).map(|_| number().expect("random")).collect();
        assert!(numbers.len() == 1000 && numbers.iter().all(|number| *number >= 0));
    }
}
