//! The command `policy diff`: lists the differences between two policies by key.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use scorpiox_policy::{Policy, differences};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use crate::cli::environment::Environment;
use scorpiox_workspace_config::Operator;

/// Compares the policy in use with the built-in policy, or a file with the policy in use.
pub(super) fn run(environment: &Environment, file: Option<&Path>) -> Result<ExitCode> {
    let operator = Operator::new(environment.site());
    let in_use = &operator.loaded()?.policy;
    let (before, after) = match file {
        None => (Policy::builtin(), in_use.clone()),
        Some(file) => {
            ensure!(file.exists(), "{} does not exist", file.display());
            (in_use.clone(), Policy::load(file)?)
        }
    };
    let text = differences(&before, &after);
    terminal::print(&Shown::text(if text.is_empty() { "Nothing differs.\n" } else { &text }));
    Ok(ExitCode::SUCCESS)
}
