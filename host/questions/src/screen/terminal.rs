//! Sets up the terminal for the screen, and restores it.

use std::fs::File;
use std::io::{self, IsTerminal, Stdout, stdin, stdout};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// `true` while there is a terminal state to restore.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The process's terminal. It is restored on drop, and before a panic is reported.
pub(super) struct Taken {
    /// Never dropped, because its drop shows the cursor and panics if the terminal is closed.
    pub(super) terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

/// Opens the source of keys, with the same choice as the terminal library.
pub(super) fn input() -> io::Result<OwnedFd> {
    if !stdout().is_terminal() {
        return Err(no_terminal("stdout is not a terminal"));
    }
    if stdin().is_terminal() {
        return stdin().as_fd().try_clone_to_owned();
    }
    let file = File::options().read(true).write(true).open("/dev/tty");
    Ok(file.map_err(|_| no_terminal("the process has no terminal"))?.into())
}

fn no_terminal(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("{why}, so nothing can be asked on it"))
}

impl Taken {
    pub(super) fn take() -> io::Result<Self> {
        restore_on_panic();
        IS_TAKEN.store(true, Ordering::Release);
        Self::set_up().inspect_err(|_| restore())
    }

    fn set_up() -> io::Result<Self> {
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(Self { terminal: ManuallyDrop::new(terminal) })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal's modes without writing to it.
pub(super) fn restore_modes() {
    // Nothing is left to do if the terminal is closed.
    let _ = disable_raw_mode();
}

fn restore() {
    if IS_TAKEN.swap(false, Ordering::AcqRel) {
        let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        restore_modes();
    }
}

/// Installs a panic hook that restores the terminal first, because the message would be lost with the
/// alternate screen.
fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            report(info);
        }));
    });
}
