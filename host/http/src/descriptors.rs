//! How many connections the system lets the process have.

/// Lets the process have as many files and connections open as it may: the usual bound is for programs that open few.
#[cfg(unix)]
pub(crate) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Some systems take no more than a number of their own, and say so.
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!("the bound on open files stays as it is: {error}");
    }
}

/// There is no such bound.
#[cfg(windows)]
pub(crate) fn raise_limit() {}
