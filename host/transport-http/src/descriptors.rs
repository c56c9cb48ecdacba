//! Limit on open connections of the process.

/// Descriptors for everything except connections of clients: calls, the store, the audit and probes.
const RESERVED: usize = 256;
/// Minimum number of connections, whatever the limit is.
const MIN_CONNECTIONS: usize = 64;

/// Returns the number of connections that leave room for other descriptors, at most `most`. Raises the limit on
/// open files first, because the default is for programs that open few.
pub(crate) fn connections(most: usize) -> usize {
    let Some(limit) = raised_limit() else { return most };
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
    limit.saturating_sub(RESERVED).clamp(MIN_CONNECTIONS, most)
}

/// Raises the limit on open files to its maximum, and returns it.
#[cfg(unix)]
fn raised_limit() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Some systems have an additional maximum and refuse more.
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!("the bound on open files stays as it is: {error}");
    }
    getrlimit(Resource::Nofile).current.and_then(|limit| limit.try_into().ok())
}

/// Returns `None`, because Windows has no such limit.
#[cfg(windows)]
fn raised_limit() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_calls_and_probes() {
        assert_eq!(within(1_000_000, 16_384), 16_384);
        assert_eq!(within(1024, 16_384), 768);
        assert_eq!(within(100, 16_384), MIN_CONNECTIONS);
    }
}
