//! Input of secrets without echo.

use std::io::{self, IsTerminal as _, Read as _};

use crate::shown::Shown;

/// Reads a secret: on a terminal, a line without echo after a question; otherwise all of standard input,
/// without a final line ending. A longer secret is cut after at least `most + 1` bytes, so that the caller
/// can detect it.
pub fn read_secret(question: &str, most: usize) -> io::Result<Vec<u8>> {
    if !io::stdin().is_terminal() {
        let mut read = Vec::new();
        // Two more bytes for a line ending, and one to detect excess.
        io::stdin().take(most as u64 + 3).read_to_end(&mut read)?;
        if read.ends_with(b"\n") {
            read.pop();
            if read.ends_with(b"\r") {
                read.pop();
            }
        }
        return Ok(read);
    }
    // Discard input typed before the question.
    if !crate::forget_input()? {
        return Err(io::Error::other("keys come without a pause, so nothing was asked"));
    }
    let read = system::hidden_line(most, || crate::print(&Shown::text(question)));
    crate::print(&Shown::text("\n"));
    read
}

#[cfg(unix)]
mod system {
    use std::io;

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

    /// Control character that Ctrl-C sends.
    const INTERRUPT: u8 = 3;

    /// Restores the settings of the terminal on drop.
    struct Restored(Termios);

    impl Drop for Restored {
        fn drop(&mut self) {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.0);
        }
    }

    /// Disables echo, asks the question, and reads a line. Ctrl-C cancels the input instead of killing the
    /// program, which would leave the terminal without echo.
    pub(super) fn hidden_line(most: usize, ask: impl FnOnce()) -> io::Result<Vec<u8>> {
        let input = rustix::stdio::stdin();
        let before = tcgetattr(input)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ISIG);
        hidden.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        let _restored = Restored(before);
        tcsetattr(input, OptionalActions::Flush, &hidden)?;
        ask();
        let mut line = Vec::new();
        let mut piece = [0; 1024];
        loop {
            let count = match rustix::io::read(input, &mut piece) {
                Err(rustix::io::Errno::INTR) => continue,
                count => count?,
            };
            let piece = &piece[..count];
            if piece.contains(&INTERRUPT) {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "it was cancelled"));
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            line.extend_from_slice(&piece[..end.unwrap_or(count)]);
            if end.is_some() || count == 0 || line.len() > most {
                return Ok(line);
            }
        }
    }
}

#[cfg(windows)]
mod system {
    use std::io;

    pub(super) fn hidden_line(_: usize, _: impl FnOnce()) -> io::Result<Vec<u8>> {
        Err(io::Error::other(
            "a terminal of Windows would show it; write it to standard input, from a file or a pipe",
        ))
    }
}
