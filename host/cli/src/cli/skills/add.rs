//! The command `skills add`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_plugin::Fingerprint;
use scorpiox_plugin_manager::skills::{SkillFiles, SkillOrigin, Staging, difference};
use scorpiox_server::Workspace;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, one_line, rows, size};

use super::agreement::{Action, Agreed, hash_of, refused};
use super::offered::{Offered, offered, remark};
use super::{library, own};
use crate::cli::environment::Environment;

/// Maximum number of displayed rows of a description.
const MAX_ROWS: usize = 12;
/// Maximum number of displayed file names, and their maximum width in columns.
const MAX_FILES: usize = 24;
const MAX_NAME: usize = 60;

/// Name of the action in the audit.
const ADD: &str = "skills add";
/// The action in the past, in messages.
const DONE: &str = "added";

/// Answers given on the command line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// `true` if skills of the same names may be replaced.
    pub(super) replace: bool,
    /// Hash of the skills that the user agreed to in advance.
    pub(super) yes: Option<&'a str>,
}

pub(super) fn run(
    environment: &Environment,
    source: &Path,
    wanted: &[String],
    said: Said<'_>,
) -> Result<ExitCode> {
    let workspace = environment.open();
    let root = own(environment);
    let is_own = dunce::canonicalize(source)
        .is_ok_and(|source| dunce::canonicalize(&root).is_ok_and(|root| source.starts_with(root)));
    ensure!(!is_own, "{} is among your skills already", source.display());
    let found = offered(&workspace, source, wanted)?;
    // Of all that were named, so that the hash depends on nothing that is there already.
    let hash = hash_of(&found);
    let all: Vec<_> = found.iter().collect();
    let agreed = Agreed::check(environment, (ADD, DONE), &all, said.yes)?;
    let staging = Staging::new(&root)?;
    let mut new = Vec::new();
    for skill in &found {
        let place = staging.place(&skill.name);
        let here = installed(&place)?;
        if here.as_ref() == Some(&skill.files) {
            let line = format!("{} is there already, exactly like this.", skill.name);
            terminal::print(&Shown::line(&line));
            continue;
        }
        if (here.is_some() || place.symlink_metadata().is_ok()) && !said.replace {
            let name = &skill.name;
            refused(environment, ADD, &all, &format!("{name} exists, and is different"));
            bail!(
                "{} exists, and is different; nothing was added. --replace shows the difference and asks, \
                 --skill NAME leaves {name} out",
                place.display()
            );
        }
        staging.put(&skill.name, &skill.files)?;
        new.push((skill, here));
    }
    if new.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let shown = described(&workspace, &staging, &new)?;
    terminal::print(&Shown::text(&with_hash(shown, &hash)));
    let names: Vec<_> = new.iter().map(|(skill, _)| skill.name.clone()).collect();
    let question = format!("Add {} to {}?", names.join(", "), root.display());
    let skills: Vec<_> = new.iter().map(|(skill, _)| *skill).collect();
    let action = Action { name: ADD, question: &question, done: DONE, skills: &skills };
    if !action.is_agreed(environment, agreed)? {
        return Ok(ExitCode::FAILURE);
    }
    for (skill, _) in &new {
        install(&staging, skill)?;
    }
    let next = match &names[..] {
        [name] => format!("{name} is added. `scorpiox-code skills show {name}` shows what a model gets."),
        several => format!("{} skills are added. `scorpiox-code skills list` shows all.", several.len()),
    };
    terminal::print(&Shown::line(&next));
    for (skill, _) in new.iter().filter(|(skill, _)| skill.files.component().is_some()) {
        let place = staging.place(&skill.name);
        let next = format!("`scorpiox-code plugin add {}` approves its component.", place.display());
        terminal::print(&Shown::line(&next));
    }
    Ok(ExitCode::SUCCESS)
}

/// Appends the hash that `--yes` takes to the description of skills.
pub(super) fn with_hash(mut described: String, hash: &Fingerprint) -> String {
    let _ = writeln!(described, "hash {hash}");
    described
}

/// Moves a staged skill into place.
pub(super) fn install(staging: &Staging, skill: &Offered) -> Result<()> {
    let origin = SkillOrigin { source: skill.source.clone(), content: skill.files.fingerprint() };
    staging.install(&skill.name, &origin)
}

/// Returns the files of an installed skill. Returns `None` if nothing is there.
pub(super) fn installed(place: &Path) -> Result<Option<SkillFiles>> {
    if !place.is_dir() || place.is_symlink() {
        return Ok(None);
    }
    let read = SkillFiles::read(place);
    let (files, _) = read.with_context(|| format!("{} is no skill; move it away", place.display()))?;
    Ok(Some(files))
}

/// Describes staged skills for the user, as the server reads them, with what they replace.
pub(super) fn described(
    workspace: &Workspace,
    staging: &Staging,
    new: &[(&Offered, Option<SkillFiles>)],
) -> Result<String> {
    let own = library(workspace, None)?;
    let staged = library(workspace, Some(workspace.skills().only(staging.path())))?;
    let mut text = String::new();
    for (offered, here) in new {
        let name = &offered.name;
        let read = staged.catalogue.skills.iter().find(|skill| skill.name == *name);
        let Some(read) = read else {
            let why = staged.catalogue.skipped.iter().find(|skipped| skipped.path.ends_with(name.as_str()));
            let why = why.map_or("its SKILL.md has another name", |skipped| skipped.reason.as_str());
            bail!("{name} cannot be a skill: {why}");
        };
        let _ = writeln!(text, "{name}");
        rows(&mut text, "  ", &read.description, MAX_ROWS);
        for warning in &read.warnings {
            remark(&mut text, &format!("  warning: {warning}"));
        }
        let place = staging.place(name);
        let other = own.catalogue.skills.iter().find(|skill| skill.name == *name);
        if let Some(other) = other.and_then(|skill| own.source(skill)).filter(|other| other.path != place) {
            remark(&mut text, &format!("  it takes precedence over {}", other.path.display()));
        }
        match here {
            Some(here) => {
                let _ = writeln!(text, "  what changes:");
                text.push_str(&difference(here, &offered.files));
            }
            None => files(&mut text, offered),
        }
        if let Some(component) = offered.files.component() {
            remark(
                &mut text,
                &format!(
                    "  It carries a component ({}). It runs only after `scorpiox-code plugin add` approves it, \
                     which also adds its tools.",
                    one_line(component, MAX_NAME)
                ),
            );
        }
    }
    Ok(text)
}

fn files(text: &mut String, offered: &Offered) {
    let count = offered.files.names().count();
    let names: Vec<_> =
        offered.files.names().take(MAX_FILES).map(|(name, _)| one_line(name, MAX_NAME)).collect();
    let more = count.saturating_sub(MAX_FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    remark(text, &format!("  files, {}: {}{more}", size(offered.files.size()), names.join(", ")));
    if !offered.left_out.is_empty() {
        let left: Vec<_> =
            offered.left_out.iter().take(MAX_FILES).map(|name| one_line(name, MAX_NAME)).collect();
        remark(text, &format!("  left out: {}", left.join(", ")));
    }
}
