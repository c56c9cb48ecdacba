//! Programs that start the program in their arguments.

/// Usage of a program that starts another.
pub(crate) struct Wrapper {
    pub(crate) name: &'static str,
    /// Letters of options with a value.
    pub(crate) valued: &'static str,
    /// Long options with a value in the next word.
    pub(crate) long: &'static [&'static str],
    /// Options after which the program cannot be told, or a shell runs the rest.
    pub(crate) doubtful: &'static [&'static str],
    /// Options with which nothing is started.
    pub(crate) inert: &'static [&'static str],
    /// Number of arguments before the program.
    pub(crate) operands: usize,
    /// `true` if variables may be assigned before the program.
    pub(crate) assigns: bool,
    /// `true` if the program gets more arguments from elsewhere.
    pub(crate) adds: bool,
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    valued: "",
    long: &[],
    doubtful: &[],
    inert: &["--help", "--version"],
    operands: 0,
    assigns: false,
    adds: false,
};

static WRAPPERS: [Wrapper; 19] = [
    Wrapper {
        name: "env",
        valued: "uC",
        long: &["--unset", "--chdir"],
        doubtful: &["-S", "--split-string"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "command", inert: &["-v", "-V"], ..PLAIN },
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper { name: "exec", valued: "a", ..PLAIN },
    Wrapper {
        name: "sudo",
        valued: "ugpCcrtThDRU",
        long: &[
            "--user",
            "--group",
            "--prompt",
            "--close-from",
            "--host",
            "--chdir",
            "--chroot",
            "--role",
            "--type",
        ],
        doubtful: &["-s", "-i", "--shell", "--login"],
        inert: &["-l", "-v", "-k", "-K", "-e", "-V", "--list", "--edit", "--validate", "--help", "--version"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "doas", valued: "uCa", doubtful: &["-s"], inert: &["-L"], ..PLAIN },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "setsid", ..PLAIN },
    Wrapper { name: "chronic", ..PLAIN },
    Wrapper { name: "unbuffer", ..PLAIN },
    Wrapper { name: "busybox", inert: &["--list", "--help"], ..PLAIN },
    Wrapper { name: "nice", valued: "n", long: &["--adjustment"], ..PLAIN },
    Wrapper {
        name: "ionice",
        valued: "cnpPu",
        long: &["--class", "--classdata"],
        inert: &["-p", "--pid"],
        ..PLAIN
    },
    Wrapper { name: "time", valued: "fo", long: &["--format", "--output"], ..PLAIN },
    Wrapper { name: "timeout", valued: "ks", long: &["--kill-after", "--signal"], operands: 1, ..PLAIN },
    Wrapper { name: "stdbuf", valued: "ioe", long: &["--input", "--output", "--error"], ..PLAIN },
    Wrapper {
        name: "flock",
        valued: "wE",
        long: &["--timeout", "--wait", "--conflict-exit-code"],
        doubtful: &["-c", "--command"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        valued: "aEIdLnPs",
        long: &["--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars"],
        adds: true,
        ..PLAIN
    },
    Wrapper { name: "caffeinate", valued: "tw", ..PLAIN },
];

/// Builtins and programs that run text or files whose content is not known here.
const RUNNERS: [&str; 17] = [
    "eval", "source", ".", "alias", "fc", "enable", "bind", "complete", "parallel", "watch", "script", "su",
    "runuser", "entr", "expect", "at", "batch",
];

/// Interpreters without a version in their names. `python` is also `python3.12`.
const INTERPRETERS: [&str; 27] = [
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
];

/// Shells that take a text as the argument of `-c`.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"];

/// Treatment of a program's arguments.
pub(crate) enum Kind {
    Wrapper(&'static Wrapper),
    Runner,
    Interpreter,
    Shell,
    Other,
}

/// Returns the treatment of a program.
pub(crate) fn kind(name: &str) -> Kind {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        Kind::Wrapper(wrapper)
    } else if RUNNERS.contains(&name) {
        Kind::Runner
    } else if SHELLS.contains(&name) {
        Kind::Shell
    } else if INTERPRETERS.contains(&bare) {
        Kind::Interpreter
    } else {
        Kind::Other
    }
}
