//! Input and output for users, on a terminal or a pipe. The type of printed text ensures that it cannot
//! control a terminal.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::shown::{Shown, fitted, terminal_columns, visible};
use crate::style::Style;
use crate::typed::forget_input;

/// Beginning of the message with which a command fails.
const PROGRAM: &str = "scorpiox-code:";

/// `true` once the reader of standard output is gone.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// Prints to standard output, with colors if it is a terminal that has them and `NO_COLOR` is not set. If the reader is gone, the text is dropped, and the program completes its work
/// anyway: its exit code is a result too.
pub fn print(shown: &Shown) {
    if is_unread() {
        return;
    }
    // Only the sequences of styles can be removed here, since a text has no others.
    let printed = if shown.has_styles() {
        let mut out = anstream::stdout().lock();
        out.write_all(shown.with_colors().as_bytes()).and_then(|()| out.flush())
    } else {
        let mut out = io::stdout().lock();
        out.write_all(shown.as_str().as_bytes()).and_then(|()| out.flush())
    };
    if printed.is_err() {
        IS_UNREAD.store(true, Ordering::Relaxed);
    }
}

/// Returns `true` if standard output has no reader. Commands that print indefinitely then stop.
pub fn is_unread() -> bool {
    IS_UNREAD.load(Ordering::Relaxed)
}

/// Prints a line to standard error. The text may contain parts from untrusted sources.
pub fn complain(text: &str) {
    let mut errors = io::stderr().lock();
    let columns = terminal_columns(&errors);
    let text: String = visible(text).lines().map(|line| fitted(line, columns)).collect();
    match text.strip_prefix(PROGRAM) {
        Some(rest) => {
            let mut colored = String::with_capacity(text.len() + 12);
            Style::Bad.paint(&mut colored, PROGRAM);
            colored.push_str(rest);
            let _ = anstream::AutoStream::auto(errors).write_all(colored.as_bytes());
        }
        None => _ = errors.write_all(text.as_bytes()),
    }
}

/// Returns `true` if standard input and output are a terminal, so that a user can answer.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Asks a yes-or-no question. Any answer other than yes means no.
pub fn ask(question: &str) -> anyhow::Result<bool> {
    // Input pasted together with the command must not answer a question that the user has not read yet.
    anyhow::ensure!(forget_input()?, "keys come without a pause, so nothing was asked and nothing changed");
    print(&Shown::text(question));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
