//! Controls a private tmux server and captures the pane with the question.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use scorpiox_tests::{Program, Served};
use tempfile::TempDir;

use super::program;

/// Maximum time until the expected content appears.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time without changes after which a screen is saved as the expected one. It is longer than the initial
/// period in which keys are ignored.
const UNCHANGED: Duration = Duration::from_millis(2500);

/// The lowest pane, which contains the question as soon as it is open.
const ASKING: &str = "{bottom}";

/// tmux server, with the directory of its socket, which tmux itself would not remove. Killed when dropped.
pub(super) struct Tmux(TempDir);

impl Tmux {
    /// Creates a window whose lower half has this size.
    pub(super) fn with_pane(width: u16, height: u16) -> Self {
        Self::with_window(width, 2 * height + 1, &["cat"])
    }

    /// Creates a window of this size with a command in its only pane.
    pub(super) fn with_window(width: u16, height: u16, command: &[&str]) -> Self {
        let tmux = Self(TempDir::new().expect("a temporary folder"));
        let size = [width.to_string(), height.to_string()];
        let start = ["-f", "/dev/null", "new-session", "-d", "-x", &size[0], "-y", &size[1]];
        tmux.run(&[&start, command, &[";", "set-option", "-g", "status", "off"]].concat());
        tmux
    }

    pub(super) fn socket(&self) -> String {
        self.0.path().join("tmux").display().to_string()
    }

    /// Starts a server in the first pane, for a client without forms.
    pub(super) fn serve(&self) -> Served {
        let mut server = self.program().serve();
        server.initialize("2025-11-25");
        server
    }

    /// Returns the program, configured to run in the first pane.
    pub(super) fn program(&self) -> Program {
        let variable = self.run(&["display-message", "-p", "#{socket_path},#{pid},0"]);
        program().with("TMUX", variable.trim()).with("TMUX_PANE", "%0").with("TERM", "screen")
    }

    /// Runs tmux commands, separated by `;`, which must succeed, and returns their output.
    pub(super) fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {}: {errors}", arguments.join(" "));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn output(&self, arguments: &[&str]) -> Output {
        // Without `-u`, the output depends on the locale.
        let mut command = Command::new("tmux");
        command.args(["-u", "-S", &self.socket()]).args(arguments).output().expect("tmux runs")
    }

    pub(super) fn panes(&self) -> usize {
        self.run(&["list-panes"]).lines().count()
    }

    /// Waits until only the first pane is left.
    pub(super) fn waits_for_one_pane(&self) {
        until(|| (self.panes() == 1).then_some(()).ok_or_else(|| "the pane stays".to_owned()));
    }

    /// Waits until the question pane contains this text and returns its content.
    pub(super) fn screen_with(&self, piece: &str) -> String {
        until(|| {
            let screen = self.text();
            if screen.contains(piece) { Ok(screen) } else { Err(format!("no {piece:?} in:\n{screen}")) }
        })
    }

    /// Like [`Self::screen_with`], but also waits until keys are accepted.
    pub(super) fn listens_with(&self, piece: &str) -> String {
        self.screen_with("  Esc ");
        self.screen_with(piece)
    }

    /// Waits until the question pane matches the file `tests/screens/<name>.txt`. `BLESS=1` rewrites the
    /// file.
    pub(super) fn shows(&self, name: &str) {
        let path = folder().join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
            return std::fs::write(&path, self.settled()).expect("the screen is written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        until(|| {
            let screen = self.screen();
            let differs = || format!("{name} is now (BLESS=1 accepts it)\n{screen}\nbut was\n{expected}");
            if screen == expected { Ok(()) } else { Err(differs()) }
        });
    }

    /// Waits until the question pane has its previous content again.
    pub(super) fn is_again(&self, before: &str) {
        until(|| {
            let screen = self.text();
            if screen == before { Ok(()) } else { Err(format!("now\n{screen}\nbut was\n{before}")) }
        });
    }

    fn text(&self) -> String {
        self.run(&["capture-pane", "-p", "-t", ASKING])
    }

    /// Returns the text, the size and the cursor of the question pane.
    fn screen(&self) -> String {
        let more =
            "#{pane_width}x#{pane_height}, cursor: #{?cursor_flag,column #{cursor_x}#, row #{cursor_y},none}";
        let text = ["capture-pane", "-p", "-t", ASKING, ";"];
        self.run(&[&text[..], &["display-message", "-p", "-t", ASKING, more]].concat())
    }

    /// Returns the screen after it stopped changing.
    fn settled(&self) -> String {
        let (mut screen, mut since) = (self.screen(), Instant::now());
        while since.elapsed() < UNCHANGED {
            let now = self.screen();
            if now != screen {
                (screen, since) = (now, Instant::now());
            }
        }
        screen
    }

    /// Presses keys by name.
    pub(super) fn press(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "-t", ASKING], keys].concat());
    }

    /// Types a literal text.
    pub(super) fn write(&self, text: &str) {
        self.press(&["-l", text]);
    }

    /// Pastes a text in bracketed paste mode.
    pub(super) fn paste(&self, text: &str) {
        self.run(&["set-buffer", text, ";", "paste-buffer", "-p", "-t", ASKING]);
    }

    /// Writes onto the screen directly, like leftover output of another program.
    pub(super) fn scribble(&self, text: &str) {
        const ROW: u16 = 4;
        let tty = self.run(&["display-message", "-p", "-t", ASKING, "#{pane_tty}"]);
        let mut tty = OpenOptions::new().write(true).open(tty.trim()).expect("the pane's terminal");
        write!(tty, "\x1b7\x1b[{ROW};1H{text}\x1b8").expect("the pane's terminal");
        self.screen_with(text);
    }

    /// Resizes the question pane.
    pub(super) fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.run(&["resize-window", "-x", &width, ";", "resize-pane", "-t", ASKING, "-y", &height]);
    }

    /// Closes the question pane.
    pub(super) fn close_pane(&self) {
        self.run(&["kill-pane", "-t", ASKING]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.output(&["kill-server"]);
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("screens")
}

/// Polls until `look` succeeds. Panics with its last error on a timeout.
pub(super) fn until<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let begin = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(why) => assert!(begin.elapsed() < PATIENCE, "{why}"),
        }
        std::thread::yield_now();
    }
}
