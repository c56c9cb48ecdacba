//! Bidirectional copying between two streams.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

/// Copies in both directions until both have ended or an idle timeout of the streams expires.
pub(crate) fn run(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    thread::scope(|scope| {
        let back =
            thread::Builder::new().name("tunnel".to_owned()).spawn_scoped(scope, || copy(server, client))?;
        copy(client, server);
        drop(back);
        Ok(())
    })
}

/// Copies until the end of the stream, and then shuts down the other side for writing.
pub(crate) fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        match from.read(&mut bytes) {
            Ok(count) if count > 0 => {
                if to.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) => {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            Err(_) => break,
        }
    }
    // One direction failed, so the other is useless.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
