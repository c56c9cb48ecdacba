//! Random identifiers that are never reused.
//!
//! The database can assign a sequence number twice: after a crash, or after a failover to a standby without
//! the last writes. Rows that are searched for later are therefore identified by a mark.

use scorpiox_store::StoreError;

/// Identifier of 128 random bits.
pub(crate) type Mark = [u8; 16];

/// Returns a unique mark.
pub(crate) fn mark() -> Result<Mark, StoreError> {
    let mut mark = Mark::default();
    getrandom::fill(&mut mark)
        .map_err(|error| StoreError::Other(format!("the system gives no random bytes: {error}")))?;
    Ok(mark)
}

/// Returns a unique positive number.
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
