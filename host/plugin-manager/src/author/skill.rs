//! Creates a skill from a template.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use crate::install::as_word;

/// File name of a skill.
const SKILL: &str = "SKILL.md";
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 64;

const TEMPLATE: &str = include_str!("templates/skill/SKILL.md");

/// Writes a skill to a new directory with its name inside `parent`, and prints the next steps.
pub fn new_skill(name: &str, parent: &Path) -> Result<()> {
    ensure!(
        is_name(name),
        "{name:?} is not a skill name; write 1 to {MAX_NAME} lowercase letters, digits and single hyphens"
    );
    fs::create_dir_all(parent).with_context(|| format!("{} cannot be created", parent.display()))?;
    let folder = parent.join(name);
    write(&folder, name)?;
    terminal::print(&Shown::text(&format!(
        "Created {}.\nEdit its description and its instructions, then run:\n\
         \x20 scorpiox-code skills check {}\n",
        folder.join(SKILL).display(),
        as_word(&folder)
    )));
    Ok(())
}

/// Returns `true` if all programs that support skills accept the name.
fn is_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(is_plain)
        && name.split('-').all(|word| !word.is_empty())
}

fn write(folder: &Path, name: &str) -> Result<()> {
    let shown = folder.display();
    if let Err(error) = fs::create_dir(folder) {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            bail!("{shown} exists; choose another name, or remove it");
        }
        return Err(error).with_context(|| format!("{shown} cannot be created"));
    }
    let file = folder.join(SKILL);
    fs::write(&file, TEMPLATE.replace("{{name}}", name))
        .with_context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_all_programs_take() {
        for name in ["a", "release-notes", "v2", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "A", "a_b", "a--b", "-a", "a-", "a b", "../a", "\u{e9}", &"x".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn only_what_is_not_there_is_written() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("notes");
        write(&folder, "notes").expect("writes");
        let text = fs::read_to_string(folder.join(SKILL)).expect("reads");
        assert!(text.starts_with("---\nname: notes\ndescription: Use when "), "{text}");
        assert!(!text.contains("{{"), "{text}");
        fs::write(folder.join(SKILL), "mine").expect("writes");
        let error = write(&folder, "notes").expect_err("an error").to_string();
        assert!(error.ends_with("notes exists; choose another name, or remove it"), "{error}");
        assert_eq!(fs::read_to_string(folder.join(SKILL)).expect("reads"), "mine");
    }
}
