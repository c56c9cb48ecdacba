//! The command `policy show`: prints the effective policy, or what of it is not built in.

use std::process::ExitCode;

use anyhow::Result;
use scorpiox_policy::{Loaded, render};
use scorpiox_shell::READ_ONLY_PROFILE;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, Style};

use super::{Caller, held, reads, shell_for};
use crate::cli::environment::Environment;

/// Ending of a line whose value is built in.
const BUILTIN: &str = " # built-in";

pub(super) fn run(environment: &Environment, caller: &Caller, all: bool) -> Result<ExitCode> {
    let (shell, principal) = shell_for(environment, caller, |_, _| ())?;
    let Loaded { policy, files, hash, .. } = shell.operator().loaded()?;
    let faint = |line: &str| Shown::line_with(line, line, Style::Faint);
    let mut page = match files.as_slice() {
        [] => faint("# built-in defaults"),
        files => files
            .iter()
            .fold(Shown::default(), |page, file| page.and(&faint(&format!("# {}", file.display())))),
    };
    if !files.is_empty() {
        page = page.and(&faint(&format!("# sha256:{hash}")));
    }
    let circumstances = reads::circumstances(environment, shell.operator(), principal.as_ref())?;
    for held in held(&shell, &circumstances)? {
        page = page.and(&faint(&format!("# restricted by {held}")));
    }
    for (glob, first) in &circumstances.read_before.0 {
        page = page.and(&faint(&format!("# {}", reads::shown(glob, first))));
    }
    // The profile that commands get: it shows at most what the default profile shows.
    let mut shown = policy.clone();
    shown
        .shell
        .profiles
        .insert(READ_ONLY_PROFILE.to_owned(), shell.operator().profile(READ_ONLY_PROFILE)?.into_owned());
    let rendered = render(&shown);
    if all {
        terminal::print(&page.and(&Shown::text(&rendered)));
        return Ok(ExitCode::SUCCESS);
    }
    let (text, hidden) = differing(&rendered);
    let rest = format!("# built-in lines: {hidden}; `scorpiox-code policy show --all` shows them, too");
    terminal::print(&page.and(&Shown::text(&text)).and(&faint(&rest)));
    Ok(ExitCode::SUCCESS)
}

/// Returns the values of a rendered policy that are not built in, under their headers, and the number of lines that are
/// left out. The result is a policy file, too.
fn differing(page: &str) -> (String, usize) {
    let (mut text, mut hidden) = (String::new(), 0);
    let mut header = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        if line.starts_with('[') {
            header = Some(line);
            // A section of a file stays even if it has no values.
            if line.contains(" # ") && !line.ends_with(BUILTIN) {
                push_header(&mut text, &mut header);
            }
            continue;
        }
        let mut value = vec![line];
        // A list whose entries have several sources has one line for each.
        if line.split(" # ").next().is_some_and(|line| line.trim_end().ends_with("= [")) {
            for entry in lines.by_ref() {
                value.push(entry);
                if entry.starts_with(']') {
                    break;
                }
            }
        }
        let is_sourced = |line: &&str| line.contains(" # ");
        let mut sourced = value.iter().filter(|line| is_sourced(line)).peekable();
        if sourced.peek().is_some() && sourced.all(|line| line.ends_with(BUILTIN)) {
            hidden += value.len();
            continue;
        }
        push_header(&mut text, &mut header);
        for line in value {
            text.push_str(line);
            text.push('\n');
        }
    }
    (text, hidden)
}

/// Appends a section's header before its first value.
fn push_header(text: &mut String, header: &mut Option<&str>) {
    if let Some(header) = header.take() {
        text.push('\n');
        text.push_str(header);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_left_out_with_its_section() {
        let page = "version = 1\n\n[shell]\nmin_tier = \"T2\"   # built-in\n\n[web]\nallow = [\n    \"a\",  # built-in\n    \
                    \"# built-in\",  # policy.toml line 3\n]\nenabled = true # built-in\n\n[grant.\"x\"] # policy.toml line 5\n\n\
                    [tools]\nallow = [\"*\"]  # built-in\ndeny = [\"x # built-in\"]  # policy.toml line 9\n";
        let (text, hidden) = differing(page);
        assert_eq!(
            text,
            "version = 1\n\n[web]\nallow = [\n    \"a\",  # built-in\n    \"# built-in\",  # policy.toml line 3\n]\n\n\
             [grant.\"x\"] # policy.toml line 5\n\n[tools]\ndeny = [\"x # built-in\"]  # policy.toml line 9\n"
        );
        assert_eq!(hidden, 3);
    }

    #[test]
    fn nothing_of_the_built_in_policy_differs() {
        let (text, hidden) = differing(&render(&scorpiox_policy::Policy::builtin()));
        assert_eq!(text, "version = 1\n");
        assert!(hidden > 40, "{hidden}");
    }
}
