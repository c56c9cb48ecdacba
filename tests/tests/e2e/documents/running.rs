//! Runs the commands of a document.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;
use scorpiox_tests::program::install;

use super::reading::{Block, Document, project};

/// Script of a simulated machine: a home directory with a project, and the program first on `PATH`. Each
/// block starts in the project, under `/bin/bash -euo pipefail`, with a timeout of five minutes, because one
/// of them compiles a plugin.
const MACHINE: &str = r#"set -e
here="$(dirname "$0")"
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
export HOME="$here/home" PATH="$here/bin:$PATH" LANG=C.UTF-8
workspace="$HOME/src/project"
mkdir -p "$workspace"; cd "$workspace"
. "$here/fixture" > "$here/fixture.out" 2>&1
for block in "$here"/block-*.sh; do
    (cd "$workspace"; timeout --kill-after 5 300 /bin/bash -euo pipefail "$block" < /dev/null > "${block%.sh}.out" 2>&1) || {
        echo "exit code $?" >> "${block%.sh}.out"; exit 1; }
    touch "${block%.sh}.done"
done
"#;

/// Prints the failed line as `LINE 7: command`.
const TRAP: &str = r#"trap 'printf "\nLINE %s: %s\n" "$LINENO" "$BASH_COMMAND" >&2' ERR"#;

/// Script with the document's line number of each of its lines.
pub(super) struct Script {
    pub text: String,
    lines: Vec<usize>,
}

/// Converts a block into a script. A line that begins with `! ` must fail with an ordinary exit code; bash
/// alone would accept any outcome.
pub(super) fn checked(name: &str, block: &Block) -> Script {
    let mut script = Script { text: String::new(), lines: Vec::new() };
    for (line, number) in block.text.lines().zip(block.line..) {
        assert!(
            !line.contains("|| true") && !line.contains("|| :"),
            "{name} line {number}: write `! command`"
        );
        let fails = line.strip_prefix("! ");
        if let Some(command) = fails {
            assert!(
                !line.ends_with('\\') && !line.contains("<<"),
                "{name} line {number}: `! command` is one line"
            );
            script.push(number, &format!("code=0; if {command}"));
            script.push(number, "then echo 'it was to fail, and did not' >&2; false; else code=$?; fi");
            script.push(number, "(exit $(( code < 126 ? 0 : code )))");
        } else {
            script.push(number, line);
        }
    }
    script
}

impl Script {
    fn push(&mut self, number: usize, line: &str) {
        self.text += &format!("{line}\n");
        self.lines.push(number);
    }

    /// Replaces script lines in the output by lines of the document.
    fn with_lines(&self, printed: &str) -> String {
        let line = Regex::new(r"(?m)^LINE (\d+): ").expect("an expression");
        let found = |number: &str| {
            number.parse::<usize>().ok().and_then(|number| self.lines.get(number.checked_sub(2)?))
        };
        line.replace_all(printed, |captures: &regex::Captures<'_>| match found(&captures[1]) {
            Some(number) => format!("line {number}: "),
            None => "in it: ".to_owned(),
        })
        .into_owned()
    }
}

/// Runs all unmarked shell blocks of a document in order, after `fixture`.
#[track_caller]
pub(super) fn runs(name: &str, fixture: &str) {
    let document = Document::read(name);
    let blocks: Vec<&Block> =
        document.blocks.iter().filter(|block| block.language == "sh" && !is_not_run(block)).collect();
    let scripts: Vec<Script> = blocks.iter().map(|block| checked(name, block)).collect();
    // Not below `/tmp`, which commands see as a private directory.
    let folder = tempfile::tempdir_in(project().join("tests/target")).expect("a folder");
    fs::create_dir(folder.path().join("bin")).expect("a folder");
    let own = folder.path().join("bin/scorpiox-code");
    install(&own);
    let file = |name: String| folder.path().join(name);
    for (number, script) in scripts.iter().enumerate() {
        fs::write(file(format!("block-{number:03}.sh")), format!("{TRAP}\n{}", script.text))
            .expect("a script");
    }
    fs::write(file("fixture".to_owned()), fixture).expect("a fixture");
    let machine = file("machine".to_owned());
    fs::write(&machine, format!("#!/bin/bash\n{MACHINE}")).expect("a script");
    fs::set_permissions(&machine, fs::Permissions::from_mode(0o755)).expect("sets");
    let ran = start(&machine);
    for (number, (block, script)) in blocks.iter().zip(&scripts).enumerate() {
        let printed = fs::read_to_string(file(format!("block-{number:03}.out"))).unwrap_or_default();
        let shown = script.with_lines(&printed);
        let at = format!("{name}, the block of line {}", block.line);
        if !file(format!("block-{number:03}.done")).exists() {
            let before = fs::read_to_string(file("fixture.out".to_owned())).unwrap_or_default();
            panic!("{at} fails:\n{}\n{shown}\n{before}{ran}", block.text);
        }
        if let Some(expected) = &block.prints {
            assert!(
                is_like(&printed, expected),
                "{at} prints other than it says:\n{printed}\nand not:\n{expected}"
            );
        }
    }
}

fn start(machine: &Path) -> String {
    let kept = project().join("target/templates");
    let mut command = Command::new("/bin/bash");
    for (name, _) in std::env::vars().filter(|(name, _)| {
        ["SCORPIOX_", "CLAUDE_", "XDG_", "MAKE"].iter().any(|start| name.starts_with(start))
    }) {
        command.env_remove(name);
    }
    let output = command
        .arg(machine)
        .env("PROJECT", project())
        .env("CARGO_TARGET_DIR", kept.join("documents"))
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

pub(super) fn is_not_run(block: &Block) -> bool {
    block.marker.as_ref().is_some_and(|marker| marker.starts_with("not run:"))
}

/// `true` if the output contains the documented text. `…` matches anything. Line breaks are ignored, even
/// within a long path.
fn is_like(printed: &str, expected: &str) -> bool {
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let parts: Vec<String> = bare(expected).split('…').map(regex::escape).collect();
    Regex::new(&parts.join("(?s:.*?)")).expect("an expression").is_match(&bare(printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Block {
        let (language, text) = ("sh".to_owned(), text.to_owned());
        Block { line: 10, language, text, marker: None, prints: None }
    }

    /// Runs a block and returns whether it succeeded, and its output.
    fn ends(text: &str) -> (bool, String) {
        let script = checked("a document", &block(text));
        let output = Command::new("/bin/bash")
            .args(["-euo", "pipefail", "-c", &format!("{TRAP}\n{}", script.text)])
            .output()
            .expect("it runs");
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), script.with_lines(&printed))
    }

    #[test]
    fn a_command_that_has_to_fail_fails_by_its_own_decision() {
        assert_eq!(ends("! test -e /missing   # as it should\necho after\n"), (true, "after\n".to_owned()));
        let (works, printed) = ends("echo before\n! true\n");
        assert!(!works && printed.contains("line 11: "), "{printed}");
        let (works, printed) = ends("echo before\n! no-such-program\n");
        assert!(!works && printed.contains("line 11: "), "{printed}");
        let (works, printed) = ends("! test -e /missing\nfalse && true\nfalse | cat\n");
        assert!(!works && printed.contains("line 12: "), "{printed}");
    }

    #[test]
    fn what_is_printed_is_compared_by_its_words() {
        assert!(is_like("a  b\n   c d\n", "b c"));
        assert!(is_like("took 3 ms in /tmp/x", "took … ms in …"));
        assert!(!is_like("took 3 ms", "took … s in"));
        assert!(!is_like("a.b", "a?b"));
    }
}
