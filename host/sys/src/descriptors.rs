//! Limit of open files.

use std::io;

/// Returns the maximum number of open files of this process. The first call raises the limit to the maximum that
/// the system grants, because the default is for programs that open few. Returns `None` without a limit.
#[cfg(unix)]
pub fn open_files_limit() -> Option<usize> {
    use std::sync::OnceLock;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    static LIMIT: OnceLock<Option<usize>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Some systems have an additional maximum and refuse more. The lower limit then stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
        getrlimit(Resource::Nofile).current.and_then(|limit| limit.try_into().ok())
    })
}

/// Returns `None`, because Windows has no such limit.
#[cfg(windows)]
pub fn open_files_limit() -> Option<usize> {
    None
}

/// Returns `true` if an operation failed because the process or the system may open no more files, or pass no more of
/// them to other processes.
#[cfg(unix)]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::MFILE | Errno::NFILE | Errno::TOOMANYREFS))
}

/// Returns `false`, because Windows has no such limit.
#[cfg(windows)]
pub fn is_out_of_descriptors(_: &io::Error) -> bool {
    false
}

/// Returns `true` if the number of a system's error means that the process or the system has no descriptors, memory
/// or processes left. The same operation may succeed later.
#[cfg(unix)]
pub fn is_lack(code: i32) -> bool {
    use rustix::io::Errno;

    let code = Errno::from_raw_os_error(code);
    matches!(code, Errno::MFILE | Errno::NFILE | Errno::TOOMANYREFS | Errno::NOMEM | Errno::AGAIN)
}

/// Returns `false`: on Windows no operation is repeated for that reason.
#[cfg(windows)]
pub fn is_lack(_: i32) -> bool {
    false
}
