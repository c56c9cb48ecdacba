//! Environment variables passed to the programs that ask.
//!
//! This is an allowlist of variables that locate the display, the session and tmux, or that affect how text
//! is displayed. It excludes variables that make programs load or start something.

/// Allowed names.
const NAMES: [&str; 38] = [
    "COLORTERM",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "DISPLAY",
    "GDK_BACKEND",
    "GDK_DPI_SCALE",
    "GDK_SCALE",
    "GTK_THEME",
    "HOME",
    "KDE_FULL_SESSION",
    "KDE_SESSION_VERSION",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "QT_QPA_PLATFORM",
    "QT_SCALE_FACTOR",
    "SSH_CONNECTION",
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "TMUX_PANE",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XCURSOR_SIZE",
    "XCURSOR_THEME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_ID",
    "XDG_SESSION_TYPE",
    "XDG_STATE_HOME",
];

/// Returns `true` if a variable is passed on, provided that the paths in it are trusted.
pub fn is_passed_on(name: &str) -> bool {
    NAMES.contains(&name) || name.starts_with("LC_")
}

/// Returns the paths in a value, for each separator that such variables use.
pub fn paths_in(value: &str) -> impl Iterator<Item = &str> {
    value.split([':', ',', ';', '=']).filter(|piece| piece.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_programs_load_or_start_something_is_not_passed_on() {
        for name in [
            "BASH_ENV",
            "BROWSER",
            "ENV",
            "GTK_MODULES",
            "GTK_PATH",
            "KITTY_CONFIG_DIRECTORY",
            "LD_PRELOAD",
            "PATH",
            "PERL5LIB",
            "PYTHONPATH",
            "QT_PLUGIN_PATH",
            "SHELL",
            "TERMINAL",
            "TMUX_TMPDIR",
        ] {
            assert!(!is_passed_on(name), "{name}");
        }
        assert!(NAMES.is_sorted());
        assert!(is_passed_on("LC_TIME") && is_passed_on("DISPLAY"));
    }

    #[test]
    fn paths_are_found_however_they_are_written() {
        let found = |value| paths_in(value).collect::<Vec<_>>();
        assert_eq!(found("/tmp/tmux-1000/default,42,0"), ["/tmp/tmux-1000/default"]);
        assert_eq!(found("unix:path=/run/user/1/bus,guid=1"), ["/run/user/1/bus"]);
        assert_eq!(found("/usr/share:/opt/share"), ["/usr/share", "/opt/share"]);
        assert_eq!(found("../x"), ["../x"]);
        assert!(found("localhost:10.0").is_empty());
    }
}
