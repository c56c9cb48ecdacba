//! Text for people, on a terminal or in a pipe. What is printed cannot act on a terminal, by its type.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::shown::{Shown, fitted, terminal_columns, visible};
use crate::typed::forget_input;

/// Whether nobody reads standard output any more.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// Prints to standard output. Where the reader went away the rest is not printed, and the program does what
/// it was asked for all the same: how it ends is an answer, too.
pub fn print(shown: &Shown) {
    if is_unread() {
        return;
    }
    let mut out = io::stdout().lock();
    if out.write_all(shown.as_str().as_bytes()).and_then(|()| out.flush()).is_err() {
        IS_UNREAD.store(true, Ordering::Relaxed);
    }
}

/// Whether what is printed from now on is read by nobody: what has no end can end.
pub fn is_unread() -> bool {
    IS_UNREAD.load(Ordering::Relaxed)
}

/// Prints a line to standard error. Others may have chosen a part of it.
pub fn complain(text: &str) {
    let mut errors = io::stderr().lock();
    let columns = terminal_columns(&errors);
    let text: String = visible(text).lines().map(|line| fitted(line, columns)).collect();
    let _ = errors.write_all(text.as_bytes());
}

/// A person, not a program that reads and writes for one.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Asks a question that is answered with yes or no; anything else is no.
pub fn ask(question: &str) -> anyhow::Result<bool> {
    // What was pasted together with the command must not answer what nobody has read yet.
    anyhow::ensure!(forget_input()?, "keys come without a pause, so nothing was asked and nothing changed");
    print(&Shown::text(question));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
