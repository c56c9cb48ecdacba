//! Notes on commands that only prepare the shell for a next command, which starts in another one.

use std::path::Path;

/// Builtins that change only the shell's folder, and those that change only its variables and names.
const OF_FOLDER: [&str; 2] = ["cd", "pushd"];
const OF_NAMES: [&str; 5] = ["export", "source", ".", "alias", "declare"];
/// Characters by which a command has more than one part, or an effect of its own.
const OF_MORE: [char; 10] = [';', '&', '|', '<', '>', '(', ')', '`', '\n', '#'];

/// Returns a note if a command consists of nothing but such a builtin.
pub(super) fn note(command: &str, workspace: &Path) -> Option<String> {
    let command = command.trim_ascii();
    if command.contains(OF_MORE) {
        return None;
    }
    let mut words = command.split_ascii_whitespace();
    let first = words.next()?;
    if OF_FOLDER.contains(&first) {
        let workspace = workspace.display();
        return Some(format!("`{first}` lasts for one command: the next one starts in {workspace} again"));
    }
    // Without arguments, these print something.
    let is_of_names = OF_NAMES.contains(&first) && words.next().is_some_and(|word| word != "-p");
    is_of_names.then(|| {
        format!(
            "`{first}` lasts for one command: put it before the next one (`{first} … && …`), in the same call"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_that_is_forgotten_as_a_whole_is_noted() {
        let note = |command: &str| note(command, Path::new("/srv/w"));
        for command in ["cd src", " cd 'a b' ", "cd", "pushd /usr"] {
            let note = note(command).unwrap_or_else(|| panic!("{command}"));
            assert!(note.ends_with("the next one starts in /srv/w again"), "{note}");
        }
        for command in ["export A=1", "source venv/bin/activate", ". ./env", "alias l=ls"] {
            assert!(note(command).is_some_and(|note| note.contains("in the same call")), "{command}");
        }
        for command in [
            "cd src && ls",
            "cd src\nls",
            "(cd src)",
            "cdx",
            "export",
            "export -p",
            "echo cd",
            "",
            "source <(x)",
        ] {
            assert_eq!(note(command), None, "{command}");
        }
    }
}
