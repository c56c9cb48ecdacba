//! Errors that say something about the system, and nothing about the path.

use std::io;

/// Returns the advice for an error that comes of too few descriptors or too little memory, and nothing for others.
/// Such an error must not be taken for a property of the folder or file.
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
