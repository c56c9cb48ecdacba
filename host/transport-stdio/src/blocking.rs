//! A descriptor that blocks although somebody made it non-blocking.
//!
//! A pipe's mode belongs to the pipe and not to the process: a client in Node.js or Go that starts the server, or a
//! shell that shares its terminal, may leave `O_NONBLOCK` set. Clearing it would break the other side.

use std::fs::File;
use std::io::{self, Read, Write};

/// Reads and writes a file; waits where it would block.
#[derive(Debug)]
pub struct Blocking(File);

impl From<File> for Blocking {
    fn from(file: File) -> Self {
        Self(file)
    }
}

impl Read for Blocking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(&self.0, Ready::ToRead)?,
                done => return done,
            }
        }
    }
}

impl Write for Blocking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(&self.0, Ready::ToWrite)?,
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The state that [`wait`] waits for.
#[derive(Clone, Copy)]
enum Ready {
    ToRead,
    ToWrite,
}

#[cfg(unix)]
fn wait(file: &File, ready: Ready) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};

    let flags = match ready {
        Ready::ToRead => PollFlags::IN,
        Ready::ToWrite => PollFlags::OUT,
    };
    match poll(&mut [PollFd::new(file, flags)], None) {
        // After a signal the caller tries again, and comes back here.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Windows has no such mode for pipes that programs start with.
#[cfg(windows)]
fn wait(_: &File, _: Ready) -> io::Result<()> {
    Err(io::ErrorKind::WouldBlock.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::thread;

    fn non_blocking(end: OwnedFd) -> Blocking {
        rustix::io::ioctl_fionbio(&end, true).expect("a mode");
        File::from(end).into()
    }

    #[test]
    fn both_directions_wait_where_the_pipe_is_non_blocking() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let (mut reader, mut writer) = (non_blocking(reader.into()), non_blocking(writer.into()));
        // Far more than a pipe holds.
        let sent = vec![7; 4 << 20];
        let expected = sent.clone();
        let receiving = thread::spawn(move || {
            let mut received = Vec::new();
            reader.read_to_end(&mut received).map(|_| received)
        });
        writer.write_all(&sent).expect("written");
        drop(writer);
        assert!(receiving.join().expect("no panic").expect("read") == expected);
    }
}
