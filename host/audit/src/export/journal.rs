//! Export to the systemd journal by its native protocol: <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.
//!
//! Each line is one datagram. The journal adds the sender's identity (`_UID`, `_PID`, `_EXE`), which the
//! sender cannot forge.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use super::{APP_NAME, FACILITY, SEND_TIME, SEVERITY, Sink};

/// Socket on which the journal accepts messages.
pub(super) const SOCKET: &str = "/run/systemd/journal/socket";

#[derive(Debug)]
pub(super) struct JournalSink {
    path: PathBuf,
    socket: Option<UnixDatagram>,
}

impl JournalSink {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, socket: None }
    }
}

impl Sink for JournalSink {
    fn check(&mut self) -> io::Result<()> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => UnixDatagram::unbound()?,
        };
        socket.set_write_timeout(Some(SEND_TIME))?;
        // Reconnect even if connected: the journal may have been restarted.
        socket.connect(&self.path)?;
        self.socket = Some(socket);
        Ok(())
    }

    fn send(&mut self, lines: &[u8]) -> io::Result<u64> {
        let Some(socket) = &self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut left_out = 0;
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match socket.send(&message(line)) {
                Ok(_) => {}
                // Too large for a datagram. Retrying would block all later lines.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) => {
                    left_out += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(left_out)
    }
}

fn message(line: &[u8]) -> Vec<u8> {
    let rest = format!("\nPRIORITY={SEVERITY}\nSYSLOG_FACILITY={FACILITY}\nSYSLOG_IDENTIFIER={APP_NAME}\n");
    [b"MESSAGE=", line, rest.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_message_of_its_own_in_the_journal_that_is_there() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("socket");
        let mut sink = JournalSink::new(path.clone());
        assert_eq!(sink.check().unwrap_err().kind(), io::ErrorKind::NotFound);
        let journal = UnixDatagram::bind(&path).unwrap();
        sink.check().unwrap();
        assert_eq!(sink.send(b"{\"n\":1}\n{\"n\":2}\n").unwrap(), 0);
        let next = |journal: &UnixDatagram| {
            let mut text = vec![0; 1000];
            let read = journal.recv(&mut text).unwrap();
            String::from_utf8(text[..read].to_vec()).unwrap()
        };
        assert_eq!(
            next(&journal),
            "MESSAGE={\"n\":1}\nPRIORITY=6\nSYSLOG_FACILITY=13\nSYSLOG_IDENTIFIER=scorpiox-code\n"
        );
        assert!(next(&journal).starts_with("MESSAGE={\"n\":2}\n"));
        // A new journal takes over the path.
        drop(journal);
        std::fs::remove_file(&path).unwrap();
        assert!(sink.send(b"{}\n").is_err() && sink.check().is_err());
        let journal = UnixDatagram::bind(&path).unwrap();
        sink.check().unwrap();
        sink.send(b"{\"n\":3}\n").unwrap();
        assert!(next(&journal).starts_with("MESSAGE={\"n\":3}\n"));
    }

    #[test]
    fn what_no_datagram_holds_is_left_out_and_counted() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("socket");
        let _journal = UnixDatagram::bind(&path).unwrap();
        let mut sink = JournalSink::new(path);
        sink.check().unwrap();
        let long = [&vec![b'x'; 8 << 20][..], b"\n{}\n"].concat();
        assert_eq!(sink.send(&long).unwrap(), 1);
    }
}
