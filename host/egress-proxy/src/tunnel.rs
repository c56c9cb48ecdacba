//! Bidirectional copying between two streams.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use socket2::Socket;

/// A connected stream of bytes.
pub(crate) trait Stream: Send + Sync {
    /// Reads some bytes; 0 at the end of the stream.
    fn receive(&self, bytes: &mut [u8]) -> io::Result<usize>;
    /// Writes all bytes.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
    /// Writes some bytes and returns their number.
    fn send_some(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Limits the time of each read and write. Afterwards they fail with `WouldBlock` or `TimedOut`.
    fn limit(&self, time: Duration) -> io::Result<()>;
    /// Returns `true` if the other side is known to have closed both directions, as with Unix sockets.
    fn is_gone(&self) -> bool {
        false
    }
    /// Shuts one direction down, or both.
    fn close(&self, how: Shutdown);
}

impl Stream for TcpStream {
    fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        Read::read(&mut &*self, bytes)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        Write::write_all(&mut &*self, bytes)
    }

    fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut &*self, bytes)
    }

    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }

    fn close(&self, how: Shutdown) {
        let _ = self.shutdown(how);
    }
}

impl Stream for Socket {
    fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        Read::read(&mut &*self, bytes)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        Write::write_all(&mut &*self, bytes)
    }

    fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut &*self, bytes)
    }

    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }

    #[cfg(unix)]
    fn is_gone(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut polled = [PollFd::new(self, PollFlags::empty())];
        poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().contains(PollFlags::HUP)
    }

    fn close(&self, how: Shutdown) {
        let _ = self.shutdown(how);
    }
}

/// Copies in both directions until both have ended or an idle timeout of the streams expires.
pub(crate) fn run(client: &dyn Stream, server: &dyn Stream) -> io::Result<()> {
    thread::scope(|scope| {
        let back =
            thread::Builder::new().name("tunnel".to_owned()).spawn_scoped(scope, || copy(server, client))?;
        copy(client, server);
        drop(back);
        Ok(())
    })
}

/// Copies in both directions until both have ended. The streams may be idle for any time while both directions are
/// open. Once one has ended, the other ends when it is idle for `idle`, so a side that never closes keeps no place.
pub(crate) fn run_patiently(client: &dyn Stream, server: &dyn Stream, idle: Duration) -> io::Result<()> {
    client.limit(idle)?;
    server.limit(idle)?;
    let ended = OnceLock::new();
    thread::scope(|scope| {
        let back = thread::Builder::new()
            .name("tunnel".to_owned())
            .spawn_scoped(scope, || copy_patiently(server, client, (&ended, idle)))?;
        copy_patiently(client, server, (&ended, idle));
        drop(back);
        Ok(())
    })
}

/// Copies until the end of the stream, and then shuts down the other side for writing. `ended` is the time at which the
/// first of both directions ended.
fn copy_patiently(from: &dyn Stream, to: &dyn Stream, (ended, idle): (&OnceLock<Instant>, Duration)) {
    let waits = |error: &io::Error| match error.kind() {
        io::ErrorKind::Interrupted => true,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            ended.get().is_none_or(|ended| ended.elapsed() < idle)
        }
        _ => false,
    };
    let mut bytes = vec![0; 64 * 1024];
    loop {
        match from.receive(&mut bytes) {
            // Nobody reads the other direction.
            Ok(0) if from.is_gone() => return close(from, to),
            Ok(0) => {
                to.close(Shutdown::Write);
                ended.get_or_init(Instant::now);
                return;
            }
            Ok(count) => {
                let mut left = &bytes[..count];
                while !left.is_empty() {
                    match to.send_some(left) {
                        Ok(sent) if sent > 0 => left = &left[sent..],
                        Err(error) if waits(&error) => {}
                        _ => return close(from, to),
                    }
                }
            }
            Err(error) if waits(&error) => {}
            Err(_) => return close(from, to),
        }
    }
}

/// Copies until the end of the stream, and then shuts down the other side for writing.
pub(crate) fn copy(from: &dyn Stream, to: &dyn Stream) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        match from.receive(&mut bytes) {
            Ok(count) if count > 0 => {
                if to.send(&bytes[..count]).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) => {
                to.close(Shutdown::Write);
                return;
            }
            Err(_) => break,
        }
    }
    close(from, to);
}

/// Closes both streams: if one direction failed, the other is useless.
fn close(from: &dyn Stream, to: &dyn Stream) {
    from.close(Shutdown::Both);
    to.close(Shutdown::Both);
}
