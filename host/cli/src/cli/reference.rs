//! The commands `completions` and `man`, which export the command line to shells and manual pages.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;

/// Prints a completion script for a shell.
pub(super) fn completions(shell: Shell) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "scorpiox-code", &mut text);
    printed(&text)
}

/// Prints the manual page, or writes the pages of all commands to a directory.
pub(super) fn man(out: Option<&Path>) -> Result<ExitCode> {
    let command = Cli::command().disable_help_subcommand(true);
    if let Some(folder) = out {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        clap_mangen::generate_to(command, folder)
            .with_context(|| format!("cannot write to {}", folder.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    printed(&text)
}

/// Prints text for other programs without escaping it for terminals. A closed pipe is not an error.
fn printed(text: &[u8]) -> Result<ExitCode> {
    match std::io::stdout().write_all(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot print"),
        _ => Ok(ExitCode::SUCCESS),
    }
}
