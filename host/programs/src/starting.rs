//! Options with which programs start others that are no words of the command.

use crate::word::Word;

/// Programs, each with the options that name a program to start, or a text for a shell. An option with one hyphen may be
/// one of several letters of a word, or have its value in the same word. Long options may be abbreviated.
const STARTING: [(&str, &[&str]); 9] = [
    (
        "tar",
        &[
            "-F",
            "-I",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
    ),
    ("bsdtar", &["--use-compress-program"]),
    ("split", &["--filter"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-F", "-S"]),
    ("sftp", &["-D", "-F", "-S"]),
    ("ssh", &["-F", "-I"]),
    ("man", &["-H", "-P", "--html", "--pager"]),
];

/// Options of commands of git. An empty name stands for each of them.
const STARTING_BY_GIT: [(&str, &[&str]); 4] = [
    ("", &["--config", "--exec", "--open-files-in-pager", "--receive-pack", "--upload-pack"]),
    ("clone", &["-c", "-u"]),
    ("grep", &["-O"]),
    ("rebase", &["-x"]),
];

/// Beginning of the address of a repository for which git starts a program.
const BY_PROGRAM: &str = "ext::";

/// Returns `true` if arguments of a program may start another one.
pub(crate) fn may_start(program: &str, arguments: &[Word]) -> bool {
    let options = STARTING.iter().find(|(name, _)| *name == program);
    let starts = match program {
        "sqlite3" => arguments.iter().any(|word| word.text().is_none_or(runs_in_sqlite)),
        "scp" | "sftp" | "ssh" => names_command(arguments),
        // Its first argument needs no hyphen.
        "tar" => arguments.first().is_some_and(|word| word.text.contains(['F', 'I'])),
        _ => false,
    };
    starts || options.is_some_and(|(_, options)| has_option(options, arguments))
}

/// Returns `true` if a setting of ssh has a command, or a library.
fn names_command(arguments: &[Word]) -> bool {
    let values = arguments.iter().enumerate().filter_map(|(at, word)| {
        let is_value =
            at > 0 && arguments[at - 1].text.starts_with('-') && arguments[at - 1].text.ends_with('o');
        (is_value || word.text.starts_with("-o")).then_some(word)
    });
    values.into_iter().any(|word| {
        let text = word.text.to_ascii_lowercase();
        word.text().is_none() || ["command", "provider", "include"].iter().any(|part| text.contains(part))
    })
}

/// Returns `true` if arguments of a command of git may start a program.
pub(crate) fn may_git_start(command: &str, arguments: &[Word]) -> bool {
    let is_asked = |(name, _): &&(&str, _)| name.is_empty() || *name == command;
    STARTING_BY_GIT.iter().filter(is_asked).any(|(_, options)| has_option(options, arguments))
        || arguments.iter().any(|word| word.text.contains(BY_PROGRAM))
}

/// Returns `true` if a word is one of these options, however it is written.
fn has_option(options: &[&str], arguments: &[Word]) -> bool {
    let words = arguments.iter().take_while(|word| word.text() != Some("--"));
    words.filter(|word| word.text.starts_with('-')).any(|word| {
        let key = word.text.split('=').next().unwrap_or_default();
        options.iter().any(|option| match option.strip_prefix("--") {
            // Shorter abbreviations are ambiguous.
            Some(_) => key.len() > "--x".len() && option.starts_with(key),
            None => !key.starts_with("--") && key.contains(option.trim_start_matches('-')),
        })
    })
}

/// Returns `true` for a text in which the shell of SQLite may start a program.
fn runs_in_sqlite(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start);
    lines.filter(|line| line.starts_with('.')).any(|line| {
        [".shell", ".system", ".once", ".output", ".excel", ".load", ".read", ".import"].iter().any(
            |command| {
                let name = line.split_whitespace().next().unwrap_or_default();
                name.len() > 1 && command.starts_with(name)
            },
        )
    })
}
