//! Text for people, on a terminal or in a pipe.

use std::io::{self, Write};

use super::quote::visible;

/// Prints to standard output. A reader that went away ends the program quietly.
pub(super) fn print(text: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Prints a line to standard error. Others may have chosen a part of it.
pub(super) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(text));
}
