//! Finds the ways to ask outside of the client: the available programs and their command lines.
//!
//! This module only decides; the caller starts the programs, without a shell. The caller tries one way after
//! the other until one of them asks, because a window may fail to open, or tmux may refuse a second popup.

mod dialog;
mod tmux;
mod variables;
mod window;

use std::ffi::OsString;
use std::path::PathBuf;

pub use dialog::{Chosen, Dialog, DialogError, DialogTool};
pub use variables::{is_passed_on, paths_in};

/// Environment of the process.
pub struct Surroundings<'a> {
    /// `TMUX`.
    pub tmux: Option<OsString>,
    /// `TMUX_PANE`.
    pub tmux_pane: Option<OsString>,
    /// `DISPLAY`.
    pub display: Option<OsString>,
    /// `WAYLAND_DISPLAY`.
    pub wayland_display: Option<OsString>,
    /// `SSH_CONNECTION`.
    pub ssh_connection: Option<OsString>,
    /// `TERM_PROGRAM`.
    pub term_program: Option<OsString>,
    /// `TERM_PROGRAM_VERSION`.
    pub term_program_version: Option<OsString>,
    /// `XDG_CURRENT_DESKTOP`.
    pub desktop: Option<OsString>,
    /// `true` on macOS, where windows need none of the variables.
    pub is_mac: bool,
    /// `true` if windows may be opened.
    pub may_open_windows: bool,
    /// Returns the path of a program on this system.
    pub find: &'a dyn Fn(&str) -> Option<PathBuf>,
}

/// A way to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// A terminal that runs the program with the screen.
    Screen(Window),
    /// A desktop dialog for each question.
    Dialog(Dialog),
}

impl Way {
    /// Returns the name of the window or dialog for users.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Screen(window) => window.name,
            Self::Dialog(dialog) => dialog.tool.name(),
        }
    }
}

/// A terminal window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Name of the window for users.
    pub name: &'static str,
    /// Command to start.
    pub call: Call,
    /// `true` if the started program always runs until the window is closed. If not, see
    /// [`crate::request::is_asking`].
    pub is_attended: bool,
}

/// A command line to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Path and arguments of the program.
    pub argv: Vec<OsString>,
    /// Additional environment variables. The rest of the environment is the part of this process's
    /// environment that [`is_passed_on`] selects; tmux and desktops find their server through it.
    pub env: Vec<(&'static str, &'static str)>,
}

impl Call {
    fn new(program: PathBuf) -> Self {
        Self { argv: vec![program.into()], env: Vec::new() }
    }

    fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.argv.extend(args.into_iter().map(Into::into));
        self
    }
}

impl<'a> Surroundings<'a> {
    /// Reads the environment, one variable at a time.
    pub fn new(
        variable: impl Fn(&str) -> Option<OsString>,
        find: &'a dyn Fn(&str) -> Option<PathBuf>,
    ) -> Self {
        // An empty variable counts as unset.
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        Self {
            tmux: variable("TMUX"),
            tmux_pane: variable("TMUX_PANE"),
            display: variable("DISPLAY"),
            wayland_display: variable("WAYLAND_DISPLAY"),
            ssh_connection: variable("SSH_CONNECTION"),
            term_program: variable("TERM_PROGRAM"),
            term_program_version: variable("TERM_PROGRAM_VERSION"),
            desktop: variable("XDG_CURRENT_DESKTOP"),
            is_mac: cfg!(target_os = "macos"),
            may_open_windows: true,
            find,
        }
    }

    fn has_x11(&self) -> bool {
        // Under SSH, a local display is not the user's; a forwarded display names a host.
        let is_local = |display: &OsString| {
            let display = display.to_string_lossy();
            display.starts_with(':') || display.starts_with("unix:")
        };
        let is_reached = |display: &OsString| self.ssh_connection.is_none() || !is_local(display);
        self.may_open_windows && self.display.as_ref().is_some_and(is_reached)
    }

    fn has_wayland(&self) -> bool {
        self.may_open_windows && self.wayland_display.is_some() && self.ssh_connection.is_none()
    }

    fn has_mac(&self) -> bool {
        self.may_open_windows && self.is_mac && self.ssh_connection.is_none()
    }

    fn has_windows(&self) -> bool {
        self.has_x11() || self.has_wayland() || self.has_mac()
    }

    fn is_kde(&self) -> bool {
        self.desktop.as_ref().is_some_and(|desktop| desktop.to_string_lossy().contains("KDE"))
    }
}

/// Returns all available ways, best first. `ask` is the program that shows the screen, with its arguments.
pub fn ways(around: &Surroundings<'_>, ask: &[OsString]) -> Vec<Way> {
    let windows = tmux::windows(around, ask).into_iter().chain(window::windows(around, ask));
    windows.map(Way::Screen).chain(dialog::dialogs(around).into_iter().map(Way::Dialog)).collect()
}

#[cfg(test)]
mod tests;
