//! Terminal emulators.

use std::ffi::OsString;

use super::{Call, Surroundings, Window};

struct Emulator {
    program: &'static str,
    /// Arguments before the command.
    before: &'static [&'static str],
    on: On,
    /// `true` if the emulator never hands its window to a running process, and cannot be configured to do so.
    is_attended: bool,
    /// Value of `TERM_PROGRAM` in this emulator.
    term_program: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Any,
    X11,
    Wayland,
}

/// Emulators in order of preference. The first ones are the user's choice or belong to the desktop.
const EMULATORS: [Emulator; 10] = [
    emulator("x-terminal-emulator", &["-e"], On::Any, false, ""),
    emulator("gnome-terminal", &["--wait", "--"], On::Any, true, ""),
    emulator("konsole", &["-e"], On::Any, false, ""),
    emulator("ghostty", &["-e"], On::Any, false, "ghostty"),
    emulator("kitty", &[], On::Any, true, "kitty"),
    emulator("alacritty", &["-e"], On::Any, true, "alacritty"),
    emulator("wezterm", &["start", "--always-new-process", "--"], On::Any, true, "WezTerm"),
    emulator("foot", &[], On::Wayland, true, "foot"),
    emulator("xfce4-terminal", &["--disable-server", "-x"], On::Any, true, ""),
    emulator("xterm", &["-e"], On::X11, true, "xterm"),
];

const fn emulator(
    program: &'static str,
    before: &'static [&'static str],
    on: On,
    is_attended: bool,
    term_program: &'static str,
) -> Emulator {
    Emulator { program, before, on, is_attended, term_program }
}

pub(super) fn windows(around: &Surroundings<'_>, ask: &[OsString]) -> Vec<Window> {
    let mut usable: Vec<_> = EMULATORS.iter().filter(|emulator| emulator.is_usable(around)).collect();
    // The sort is stable: the user's current emulator comes first, and all others keep their order.
    usable.sort_by_key(|emulator| !emulator.is_preferred(around));
    let window = |emulator: &Emulator| {
        let call = Call::new((around.find)(emulator.program)?).args(emulator.before).args(ask);
        Some(Window { name: emulator.program, call, is_attended: emulator.is_attended })
    };
    usable.into_iter().filter_map(window).collect()
}

impl Emulator {
    fn is_usable(&self, around: &Surroundings<'_>) -> bool {
        match self.on {
            On::Any => around.has_windows(),
            On::X11 => around.has_x11(),
            On::Wayland => around.has_wayland(),
        }
    }

    fn is_preferred(&self, around: &Surroundings<'_>) -> bool {
        let current = around.term_program.as_deref().and_then(|name| name.to_str());
        current.is_some_and(|name| name == self.term_program) || self.program == "konsole" && around.is_kde()
    }
}
