//! `scorpiox-code uninstall`: what it removes, what it leaves, asked first.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum as _;
use scorpiox_cell::remove_folder;
use scorpiox_clients::{self as clients, Client, Removed, Surroundings};
use scorpiox_policy::MANAGED_FILE;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::environment::Environment;

/// What can be made again.
const MADE: [&str; 3] = ["cache", "run", "tmp"];
/// What was decided and stored, with what each is.
const KEPT: [(&str, &str); 14] = [
    ("policy.toml", "the policy"),
    ("policy.seen", "that there was one"),
    ("workspaces", "which folders were worked on"),
    ("commands.lock", "locks of commands that start"),
    ("running", "commands of which nobody was told what they brought"),
    ("plugins", "plugins"),
    ("plugins.json", "what was decided about them"),
    ("plugins.lock", "its lock"),
    ("secrets", "secrets of plugins"),
    ("audit", "what tools did"),
    ("state", "tasks, plans and what plugins stored"),
    ("output", "whole outputs of commands"),
    ("skills", "skills"),
    ("workspace", "the folder for work without a project"),
];

/// What there is to be removed.
struct Plan {
    /// Files of clients that have an entry.
    entries: Vec<(Client, PathBuf)>,
    /// Files and folders that go.
    go: Vec<PathBuf>,
    /// Those that stay, with what they are.
    stay: Vec<(PathBuf, &'static str)>,
}

pub(super) fn run(environment: &Environment, purge: bool, yes: bool) -> Result<ExitCode> {
    let plan = Plan::new(environment, purge);
    terminal::print(&Shown::text(&plan.text(environment)));
    if plan.go.is_empty() && plan.entries.is_empty() {
        terminal::print(&Shown::line("There is nothing to remove."));
        return Ok(ExitCode::SUCCESS);
    }
    if !yes {
        if !terminal::can_ask() {
            bail!("there is no terminal to ask at; --yes removes this without asking; nothing was removed");
        }
        if !terminal::ask("\nRemove all of this? [y/N] ")? {
            terminal::print(&Shown::line("Nothing was removed."));
            return Ok(ExitCode::FAILURE);
        }
    }
    plan.carry_out(environment)
}

impl Plan {
    fn new(environment: &Environment, purge: bool) -> Self {
        let own = &environment.own_home;
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        let made = MADE.iter().map(|name| own.join(name)).filter(is_there);
        // The program itself, where it was installed for one person; a package's is the package manager's to remove.
        let program = Some(environment.binary.clone()).filter(|binary| binary.starts_with(own));
        let kept = KEPT.iter().map(|(name, what)| (own.join(name), *what)).filter(|(path, _)| is_there(path));
        let (mut go, mut stay): (Vec<_>, Vec<_>) = (made.chain(program).collect(), kept.collect());
        if purge {
            go.extend(stay.drain(..).map(|(path, _)| path));
        }
        Self { entries: entries(environment), go, stay }
    }

    fn text(&self, environment: &Environment) -> String {
        let mut text = String::new();
        let list = |text: &mut String, title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                let _ = writeln!(text, "{title}");
                for line in &lines {
                    let _ = writeln!(text, "  {line}");
                }
            }
        };
        list(&mut text, "Removed:", self.go.iter().map(|path| path.display().to_string()).collect());
        let entries = self.entries.iter().map(|(_, path)| format!("the entry in {}", path.display()));
        list(&mut text, "Taken out, with a backup beside it:", entries.collect());
        let stay = self.stay.iter().map(|(path, what)| format!("{} ({what})", path.display()));
        list(&mut text, "Left (--purge removes it, too):", stay.collect());
        let mut others = Vec::new();
        if !environment.binary.starts_with(&environment.own_home) {
            others.push(format!("{} (the program)", environment.binary.display()));
        }
        if Path::new(MANAGED_FILE).exists() {
            others.push(format!("{MANAGED_FILE} (the policy for all users)"));
        }
        list(&mut text, "Left to who installed it:", others);
        text
    }

    /// The program goes last, so that what fails before can be tried again.
    fn carry_out(&self, environment: &Environment) -> Result<ExitCode> {
        let mut failed = false;
        for (client, path) in &self.entries {
            let said = match clients::remove(path, *client) {
                Ok(Removed::Out { backup }) => {
                    format!("took the entry out of {} (before: {})", path.display(), backup.display())
                }
                Ok(Removed::Nothing) => continue,
                Ok(Removed::Stays) => {
                    failed = true;
                    format!("{}: take the entry \"{}\" out by hand", path.display(), clients::ENTRY_NAME)
                }
                Err(error) => {
                    failed = true;
                    error.to_string()
                }
            };
            terminal::print(&Shown::line(&said));
        }
        for path in &self.go {
            if path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                remove_folder(path);
            } else if cfg!(windows) && *path == environment.binary {
                put_aside(path);
            } else {
                let _ = fs::remove_file(path);
            }
            if path.symlink_metadata().is_ok() {
                bail!("{} cannot be removed; everything above it was", path.display());
            }
        }
        // Only if nothing of anybody's is left in it.
        let _ = fs::remove_dir(&environment.own_home);
        terminal::print(&Shown::line("Removed."));
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Windows keeps the file of a program that runs, but lets it go elsewhere.
fn put_aside(program: &Path) {
    let name = format!("scorpiox-code-removed-{}.exe", std::process::id());
    let aside = env::temp_dir().join(name);
    if fs::rename(program, &aside).is_ok() {
        let said = format!("{} runs now, so Windows keeps it: remove it when you like", aside.display());
        terminal::print(&Shown::line(&said));
    }
}

/// The files of clients that start this program.
fn entries(environment: &Environment) -> Vec<(Client, PathBuf)> {
    let Some(home) = environment.home.as_ref().context("no home").ok() else { return Vec::new() };
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let around = Surroundings { home, workspace: &environment.workspace.path, variable: &variable };
    let files =
        Client::value_variants().iter().map(|client| (*client, clients::config_path(*client, &around)));
    // A file that cannot be read has nothing that could be taken out.
    files.filter(|(client, path)| clients::is_in(path, *client).unwrap_or(false)).collect()
}
