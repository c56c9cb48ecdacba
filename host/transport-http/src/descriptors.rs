//! Limit on open connections of the process.

use scorpiox_sys::open_files_limit;

/// Descriptors for everything except connections of clients and of commands: 64 calls and 16 background commands with
/// six each, the store, the audit and probes.
const RESERVED: usize = 512 + 64;
/// Minimum number of connections, whatever the limit is.
const MIN_CONNECTIONS: usize = 64;

/// Returns the number of connections that leave room for other descriptors, at most `most`.
pub(crate) fn connections(most: usize) -> usize {
    let Some(limit) = open_files_limit() else { return most };
    let connections = within(limit, most);
    if connections < most {
        tracing::warn!(
            "the limit on open files is {limit}: at most {connections} connections are served at the same time, and \
             not {most}"
        );
    }
    connections
}

fn within(limit: usize, most: usize) -> usize {
    let reserved = RESERVED + scorpiox_egress_proxy::descriptors(limit);
    limit.saturating_sub(reserved).clamp(MIN_CONNECTIONS, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_calls_commands_and_probes() {
        assert_eq!(within(1_000_000, 16_384), 16_384);
        assert_eq!(within(1024, 16_384), 192);
        assert_eq!(within(100, 16_384), MIN_CONNECTIONS);
    }
}
