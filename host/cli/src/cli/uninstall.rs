//! The command `scorpiox-code uninstall`: lists the files to remove and to keep, asks, and removes them.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use scorpiox_client_config::{self as clients, Client, Removed, WriteError, allow};
use scorpiox_policy::MANAGED_FILE;
use scorpiox_sandbox::remove_folder;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::clients::{entries, forget, lists};
use super::environment::Environment;

/// Files and directories that the program can create again.
const MADE: [&str; 3] = ["cache", "run", "tmp"];
/// Decisions and stored data, with a description of each.
const KEPT: [(&str, &str); 14] = [
    ("policy.toml", "the policy"),
    ("policy.seen", "a note that a policy was in use"),
    ("workspaces", "the list of folders that were worked on"),
    ("commands.lock", "locks of commands that start"),
    ("running", "notes on commands that ran"),
    ("plugins", "plugins"),
    ("plugins.json", "decisions about plugins"),
    ("plugins.lock", "the lock of plugins.json"),
    ("secrets", "secrets of plugins"),
    ("audit", "the record of tool calls"),
    ("state", "tasks, plans, approvals and what plugins stored"),
    ("output", "whole outputs of commands"),
    ("skills", "skills"),
    ("workspace", "the folder for work without a project"),
];

type Remove = fn(&Path, Client) -> Result<Removed, WriteError>;

/// Planned removal, which is displayed before it is carried out.
struct Plan {
    /// Configuration files of clients with an entry for this program.
    entries: Vec<(Client, PathBuf)>,
    /// Files of clients with an allow-list.
    lists: Vec<(Client, PathBuf)>,
    /// Files and directories to remove.
    go: Vec<PathBuf>,
    /// Files and directories to keep, with their descriptions.
    stay: Vec<(PathBuf, &'static str)>,
}

pub(super) fn run(environment: &Environment, purge: bool, yes: bool) -> Result<ExitCode> {
    let plan = Plan::new(environment, purge);
    terminal::print(&Shown::text(&plan.text(environment)));
    if plan.go.is_empty() && plan.entries.is_empty() && plan.lists.is_empty() {
        forget(environment);
        let _ = fs::remove_dir(&environment.own_home);
        terminal::print(&Shown::line("There is nothing to remove."));
        return Ok(ExitCode::SUCCESS);
    }
    if !yes {
        if !terminal::can_ask() {
            bail!("there is no terminal to ask at; --yes removes this without asking; nothing was removed");
        }
        if !terminal::ask("\nGo ahead? [y/N] ")? {
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
        // Removes the program only if it is installed for a single user. Packages belong to the package
        // manager.
        let program = Some(environment.binary.clone()).filter(|binary| binary.starts_with(own));
        let kept = KEPT.iter().map(|(name, what)| (own.join(name), *what)).filter(|(path, _)| is_there(path));
        let (mut go, mut stay): (Vec<_>, Vec<_>) = (made.chain(program).collect(), kept.collect());
        if purge {
            go.extend(stay.drain(..).map(|(path, _)| path));
        }
        Self { entries: entries(environment), lists: lists(environment), go, stay }
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
        list(&mut text, "Will remove:", self.go.iter().map(|path| path.display().to_string()).collect());
        let entries = self.entries.iter().map(|(_, path)| format!("the entry in {}", path.display()));
        let lists = self.lists.iter().map(|(_, path)| format!("the allowed tools in {}", path.display()));
        let entries = entries.chain(lists);
        list(&mut text, "Will take out, with a backup of each file that has more in it:", entries.collect());
        let stay = self.stay.iter().map(|(path, what)| format!("{} ({what})", path.display()));
        list(&mut text, "Will keep (--purge removes it, too):", stay.collect());
        let mut others = Vec::new();
        if !environment.binary.starts_with(&environment.own_home) {
            others.push(format!("{} (the program)", environment.binary.display()));
        }
        if Path::new(MANAGED_FILE).exists() {
            others.push(format!("{MANAGED_FILE} (the policy for all users)"));
        }
        list(&mut text, "Will keep, for its installer or an administrator to remove:", others);
        text
    }

    /// Carries out the removal. The program is removed last, so that a failed removal can be repeated.
    fn carry_out(&self, environment: &Environment) -> Result<ExitCode> {
        let mut failed = false;
        let entries = self.entries.iter().map(|found| (found, "the entry", clients::remove as Remove));
        let lists = self.lists.iter().map(|found| (found, "the allowed tools", allow::remove as Remove));
        for ((client, path), what, remove) in entries.chain(lists) {
            let said = match remove(path, *client) {
                Ok(Removed::Out { backup }) => {
                    format!("Took {what} out of {} (before: {}).", path.display(), backup.display())
                }
                Ok(Removed::Gone) => format!("Removed {}, which had nothing else.", path.display()),
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
        if !failed {
            forget(environment);
        }
        for path in &self.go {
            if path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                remove_folder(path).with_context(|| format!("{} cannot be removed", path.display()))?;
            } else if cfg!(windows) && *path == environment.binary {
                put_aside(path);
            } else {
                let _ = fs::remove_file(path);
            }
            if path.symlink_metadata().is_ok() {
                bail!("{} cannot be removed", path.display());
            }
            terminal::print(&Shown::line(&format!("Removed {}.", path.display())));
        }
        // Succeeds only if no other files are left in it.
        let _ = fs::remove_dir(&environment.own_home);
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Moves the program away, since Windows cannot delete the file of a running program.
fn put_aside(program: &Path) {
    let name = format!("scorpiox-code-removed-{}.exe", std::process::id());
    let aside = env::temp_dir().join(name);
    if fs::rename(program, &aside).is_ok() {
        let said = format!("{} runs now, so Windows keeps it: remove it when you like", aside.display());
        terminal::print(&Shown::line(&said));
    }
}
