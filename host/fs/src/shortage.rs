//! Errors caused by a lack of system resources rather than by a path.

use std::io;

/// Returns advice if the error is due to a lack of file descriptors or memory, and `None` otherwise. Such an
/// error says nothing about the file or directory.
#[must_use]
pub fn shortage(error: &io::Error) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        match Errno::from_io_error(error) {
            Some(Errno::MFILE) => {
                return Some("raise the limit of open files with `ulimit -n` where the server is started");
            }
            Some(Errno::NFILE) => return Some("end some programs: together they have too many files open"),
            _ => {}
        }
    }
    (error.kind() == io::ErrorKind::OutOfMemory).then_some("end some programs: the system has no memory left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_system_lacks_is_a_shortage() {
        assert!(shortage(&io::Error::from(io::ErrorKind::OutOfMemory)).is_some());
        assert_eq!(shortage(&io::Error::from(io::ErrorKind::PermissionDenied)), None);
        #[cfg(unix)]
        assert!(shortage(&io::Error::from(rustix::io::Errno::MFILE)).unwrap().contains("ulimit -n"));
    }
}
