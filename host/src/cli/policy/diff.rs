//! `policy diff`: what differs between two policies, key by key.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use scorpiox_policy::{Policy, render};

use super::setup;
use crate::capabilities::shell::Shell;
use crate::cli::environment::Environment;
use crate::cli::quote::Shown;
use crate::cli::terminal;

/// Shows what the policy in use changes of the built-in one, or a file of the policy in use.
pub(super) fn run(environment: &Environment, file: Option<&Path>) -> Result<ExitCode> {
    let shell = Shell::new(setup(environment));
    let in_use = shell.policy()?;
    let (before, after) = match file {
        None => (Policy::builtin(), in_use.clone()),
        Some(file) => {
            ensure!(file.exists(), "{} does not exist", file.display());
            (in_use.clone(), Policy::load(file)?)
        }
    };
    let text = differences(&render(&before), &render(&after));
    terminal::print(&Shown::text(if text.is_empty() { "Nothing differs.\n" } else { &text }));
    Ok(ExitCode::SUCCESS)
}

/// Keys with their values, by the header that they stand under.
fn keys(page: &str) -> BTreeMap<(String, String), String> {
    let mut header = String::new();
    let mut keys = BTreeMap::new();
    for line in page.lines() {
        // Who gave a value is no difference.
        let line = line.rsplit_once(" # ").map_or(line, |(line, _)| line).trim_end();
        if line.starts_with('[') {
            line.clone_into(&mut header);
        } else if let Some((key, value)) = line.split_once(" = ") {
            keys.insert((header.clone(), key.to_owned()), value.to_owned());
        }
    }
    keys
}

fn differences(before: &str, after: &str) -> String {
    let (before, after) = (keys(before), keys(after));
    let mut text = String::new();
    let mut under = String::new();
    let all: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for at in all {
        let (old, new) = (before.get(at), after.get(at));
        if old == new {
            continue;
        }
        let (header, key) = at;
        if *header != under {
            text.push_str(if under.is_empty() { "" } else { "\n" });
            text.push_str(header);
            text.push('\n');
            under.clone_from(header);
        }
        for (mark, value) in [('-', old), ('+', new)] {
            if let Some(value) = value {
                text.extend([mark, ' ']);
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_differ_are_shown_under_their_headers() {
        let other =
            Policy::parse("version = 1\n[web]\nenabled = false\n[audit]\nrequired = true\n", Path::new("p"));
        let text = differences(&render(&Policy::builtin()), &render(&other.unwrap()));
        assert_eq!(
            text,
            "[audit]\n- required = false\n+ required = true\n\n[web]\n- enabled = true\n+ enabled = false\n"
        );
        assert_eq!(differences(&render(&Policy::builtin()), &render(&Policy::builtin())), "");
    }
}
