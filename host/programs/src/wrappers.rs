//! Programs that start the program in their arguments.

use crate::word::{ANY, Count, Word};

/// Usage of a program that starts another. Options that are not listed make the program unknown.
pub(crate) struct Wrapper {
    pub(crate) name: &'static str,
    /// Letters of options without a value.
    pub(crate) flags: &'static str,
    /// Letters of options with a value.
    pub(crate) valued: &'static str,
    /// Long options that have no value, or one after `=`.
    pub(crate) long_flags: &'static [&'static str],
    /// Long options with a value, which may be the next word.
    pub(crate) long_valued: &'static [&'static str],
    /// Options with which nothing is started.
    pub(crate) inert: &'static [&'static str],
    /// Number of arguments before the program.
    pub(crate) operands: usize,
    /// `true` if variables may be assigned before the program.
    pub(crate) assigns: bool,
    /// `true` if the program gets more arguments from elsewhere.
    pub(crate) adds: bool,
}

/// Meaning of an option of a wrapper.
pub(crate) enum Usage<'t> {
    /// Nothing is started.
    Inert,
    /// End of the options.
    End,
    /// An option without a value in the next word.
    Alone,
    /// An option with a value: inside of the word, or in the next one.
    Valued { letter: Option<char>, inside: Option<&'t str> },
    /// Not listed.
    Unknown,
}

impl Wrapper {
    /// Returns the meaning of an option.
    pub(crate) fn usage<'t>(&self, text: &'t str) -> Usage<'t> {
        if self.inert.contains(&text) {
            return Usage::Inert;
        }
        if text == "--" {
            return Usage::End;
        }
        if text.starts_with("--") {
            let (key, inside) = text.split_once('=').map_or((text, None), |(key, value)| (key, Some(value)));
            return match (self.long_valued.contains(&key), self.long_flags.contains(&key)) {
                (true, _) => Usage::Valued { letter: None, inside },
                (_, true) => Usage::Alone,
                _ => Usage::Unknown,
            };
        }
        let letters = text.strip_prefix('-').unwrap_or_default();
        match letters.char_indices().find(|(_, c)| !self.flags.contains(*c)) {
            None if letters.is_empty() => Usage::Unknown,
            None => Usage::Alone,
            Some((at, c)) if self.valued.contains(c) => {
                let inside = letters.get(at + c.len_utf8()..).filter(|inside| !inside.is_empty());
                Usage::Valued { letter: Some(c), inside }
            }
            Some(_) => Usage::Unknown,
        }
    }

    /// Returns the name that a word assigns to, if the wrapper takes it as an assignment.
    pub(crate) fn assigned<'t>(&self, word: &'t Word) -> Option<&'t str> {
        let (name, _) = word.text.split_once('=').filter(|_| self.assigns)?;
        let is_known = !name.contains(ANY) && matches!(word.count, Count::One | Count::Alike);
        let is_path = self.name == "sudo" && name.starts_with('/');
        (is_known && !is_path).then_some(name)
    }
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    flags: "",
    valued: "",
    long_flags: &[],
    long_valued: &[],
    inert: &["--help", "--version"],
    operands: 0,
    assigns: false,
    adds: false,
};

static WRAPPERS: [Wrapper; 19] = [
    Wrapper {
        name: "env",
        flags: "i0v",
        valued: "uC",
        long_flags: &["--ignore-environment", "--null", "--debug"],
        long_valued: &["--unset", "--chdir"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "command", flags: "p", inert: &["-v", "-V"], ..PLAIN },
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper { name: "exec", flags: "cl", valued: "a", ..PLAIN },
    Wrapper {
        name: "sudo",
        flags: "ABbEHknNPS",
        valued: "ugpCrtTDRU",
        long_flags: &[
            "--askpass",
            "--background",
            "--non-interactive",
            "--preserve-env",
            "--preserve-groups",
            "--set-home",
            "--stdin",
        ],
        long_valued: &[
            "--user",
            "--group",
            "--prompt",
            "--close-from",
            "--chdir",
            "--chroot",
            "--role",
            "--type",
            "--command-timeout",
        ],
        inert: &["-l", "-v", "-K", "-e", "-V", "--list", "--edit", "--validate", "--help", "--version"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "doas", flags: "n", valued: "uCa", inert: &["-L"], ..PLAIN },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "setsid", flags: "cfw", long_flags: &["--ctty", "--fork", "--wait"], ..PLAIN },
    Wrapper { name: "chronic", flags: "ve", ..PLAIN },
    Wrapper { name: "unbuffer", flags: "p", ..PLAIN },
    Wrapper { name: "busybox", inert: &["--list", "--help"], ..PLAIN },
    Wrapper { name: "nice", flags: "0123456789", valued: "n", long_valued: &["--adjustment"], ..PLAIN },
    Wrapper {
        name: "ionice",
        flags: "t",
        valued: "cn",
        long_flags: &["--ignore"],
        long_valued: &["--class", "--classdata"],
        inert: &["-p", "--pid", "--help", "--version"],
        ..PLAIN
    },
    Wrapper {
        name: "time",
        flags: "apqv",
        valued: "fo",
        long_flags: &["--append", "--portability", "--quiet", "--verbose"],
        long_valued: &["--format", "--output"],
        ..PLAIN
    },
    Wrapper {
        name: "timeout",
        flags: "fpv",
        valued: "ks",
        long_flags: &["--foreground", "--preserve-status", "--verbose"],
        long_valued: &["--kill-after", "--signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "stdbuf", valued: "ioe", long_valued: &["--input", "--output", "--error"], ..PLAIN },
    Wrapper {
        name: "flock",
        flags: "sxeunoF",
        valued: "wE",
        long_flags: &[
            "--shared",
            "--exclusive",
            "--unlock",
            "--nonblock",
            "--close",
            "--no-fork",
            "--verbose",
        ],
        long_valued: &["--timeout", "--wait", "--conflict-exit-code"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        flags: "0oprtx",
        valued: "aEIdLnPs",
        long_flags: &["--null", "--open-tty", "--interactive", "--no-run-if-empty", "--verbose", "--exit"],
        long_valued: &["--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars"],
        adds: true,
        ..PLAIN
    },
    Wrapper { name: "caffeinate", flags: "disum", valued: "tw", ..PLAIN },
];

/// Builtins and programs that run text, files or programs in a way that is not known here.
const RUNNERS: [&str; 97] = [
    "eval",
    "source",
    ".",
    "alias",
    "fc",
    "enable",
    "bind",
    "complete",
    "parallel",
    "watch",
    "script",
    "su",
    "runuser",
    "entr",
    "expect",
    "at",
    "batch",
    "bwrap",
    "capsh",
    "cgexec",
    "choom",
    "chpst",
    "chroot",
    "chrt",
    "coproc",
    "daemon",
    "daemonize",
    "dbus-launch",
    "dbus-run-session",
    "direnv",
    "dtach",
    "dtruss",
    "dumb-init",
    "eatmydata",
    "ed",
    "emacs",
    "envdir",
    "ex",
    "fakeroot",
    "faketime",
    "firejail",
    "gdb",
    "genv",
    "gnice",
    "gosu",
    "gtimeout",
    "gxargs",
    "hyperfine",
    "i386",
    "ld.so",
    "linux32",
    "linux64",
    "lldb",
    "logsave",
    "ltrace",
    "m4",
    "newgrp",
    "nsenter",
    "numactl",
    "nvim",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "rr",
    "run-parts",
    "run0",
    "runcon",
    "runsv",
    "screen",
    "setarch",
    "setpriv",
    "setuidgid",
    "sg",
    "socat",
    "softlimit",
    "ssh-agent",
    "sshpass",
    "start-stop-daemon",
    "strace",
    "su-exec",
    "systemd-inhibit",
    "systemd-run",
    "taskset",
    "tini",
    "tmux",
    "torsocks",
    "toybox",
    "unshare",
    "valgrind",
    "vi",
    "vim",
    "x86_64",
    "xvfb-run",
];

/// Interpreters without a version in their names. `python` is also `python3.12`.
const INTERPRETERS: [&str; 31] = [
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "expect",
    "Rscript",
    "osascript",
    "pwsh",
    "powershell",
    "guile",
    "julia",
    "groovy",
    "scala",
    "elixir",
    "fish",
    "csh",
    "tcsh",
    "yash",
    "posh",
    "bash-static",
];

/// Shells that take a text as the argument of `-c`.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ash", "rbash"];
/// Shells whose texts mean almost the same.
const OTHER_SHELLS: [&str; 3] = ["zsh", "ksh", "mksh"];
/// Interpreters of the same language.
const AWKS: [&str; 5] = ["awk", "gawk", "mawk", "nawk", "original-awk"];

/// Treatment of a program's arguments.
pub(crate) enum Kind {
    Wrapper(&'static Wrapper),
    Runner,
    Interpreter,
    Awk,
    Shell { is_bash: bool },
    Other,
}

/// Returns the treatment of a program.
pub(crate) fn kind(name: &str) -> Kind {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        Kind::Wrapper(wrapper)
    } else if RUNNERS.contains(&name) {
        Kind::Runner
    } else if SHELLS.contains(&name) || OTHER_SHELLS.contains(&bare) {
        Kind::Shell { is_bash: SHELLS.contains(&name) }
    } else if AWKS.contains(&name) {
        Kind::Awk
    } else if INTERPRETERS.contains(&bare) {
        Kind::Interpreter
    } else {
        Kind::Other
    }
}
