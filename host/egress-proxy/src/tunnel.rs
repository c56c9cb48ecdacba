//! Bidirectional copying between two streams.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use socket2::Socket;

/// A connected stream of bytes.
pub(crate) trait Stream: Send + Sync {
    /// Reads some bytes; 0 at the end of the stream.
    fn receive(&self, bytes: &mut [u8]) -> io::Result<usize>;
    /// Writes all bytes.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
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
    // One direction failed, so the other is useless.
    from.close(Shutdown::Both);
    to.close(Shutdown::Both);
}
