//! The command `skills update`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use scorpiox_plugin_manager::skills::{SkillFiles, SkillOrigin, Staging, is_folder_name};
use scorpiox_server::Workspace;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::add::{described, install, installed, with_hash};
use super::agreement::{Action, Agreed, hash_of};
use super::offered::{Offered, offered};
use super::own;
use crate::cli::environment::Environment;

/// Name of the action in the audit.
const UPDATE: &str = "skills update";
/// The action in the past, in messages.
const DONE: &str = "changed";

pub(super) fn run(environment: &Environment, name: Option<&str>, yes: Option<&str>) -> Result<ExitCode> {
    let (workspace, root) = (environment.open(), own(environment));
    let skills = match name {
        Some(name) => vec![named(&root, name)?],
        None => added(&root)?,
    };
    if skills.is_empty() {
        let none = "No skill here was added with `scorpiox-code skills add`, so there is nothing to update.";
        terminal::print(&Shown::line(none));
        return Ok(ExitCode::SUCCESS);
    }
    let (mut current, mut failed) = (Vec::new(), false);
    for (name, origin) in skills {
        match update(environment, &workspace, (&name, &origin), yes) {
            Ok(Updated::Current) => current.push(name),
            Ok(Updated::Replaced) => {}
            Ok(Updated::Refused) => failed = true,
            Err(error) => {
                terminal::complain(&format!("scorpiox-code: {name}: {error:#}"));
                failed = true;
            }
        }
    }
    match &current[..] {
        [] => {}
        [one] => terminal::print(&Shown::line(&format!("{one} is current."))),
        all => terminal::print(&Shown::line(&format!("{} are current.", all.join(", ")))),
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Outcome for one skill.
enum Updated {
    Current,
    Replaced,
    Refused,
}

/// Returns the skills that `skills add` added, in the order of their names.
fn added(root: &Path) -> Result<Vec<(String, SkillOrigin)>> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| is_folder_name(name));
    names.sort();
    let mut found = Vec::new();
    for name in names {
        let place = root.join(&name);
        if place.is_dir() && !place.is_symlink() {
            found.extend(SkillOrigin::read(&place)?.map(|origin| (name, origin)));
        }
    }
    Ok(found)
}

fn named(root: &Path, name: &str) -> Result<(String, SkillOrigin)> {
    let place = root.join(name);
    ensure!(
        is_folder_name(name) && place.is_dir(),
        "there is no skill {name:?} in {}; `scorpiox-code skills list` shows all",
        root.display()
    );
    let origin = SkillOrigin::read(&place)?.with_context(|| {
        format!(
            "{name} was not added with `skills add`; `scorpiox-code skills add SOURCE --replace` replaces it"
        )
    })?;
    Ok((name.to_owned(), origin))
}

fn update(
    environment: &Environment,
    workspace: &Workspace,
    (name, origin): (&str, &SkillOrigin),
    yes: Option<&str>,
) -> Result<Updated> {
    let root = own(environment);
    let wanted = [name.to_owned()];
    let found = offered(workspace, &origin.source, &wanted)
        .with_context(|| format!("it was added from {}", origin.source.display()))?;
    let new: Offered = found.into_iter().find(|skill| skill.name == name).context("it is gone")?;
    let agreed = Agreed::check(environment, (UPDATE, DONE), &[&new], yes)?;
    let here = installed(&root.join(name))?;
    if here.as_ref() == Some(&new.files) {
        return Ok(Updated::Current);
    }
    let is_changed = |files: &SkillFiles| files.fingerprint() != origin.content;
    let is_own = here.as_ref().is_some_and(is_changed);
    let staging = Staging::new(&root)?;
    staging.put(name, &new.files)?;
    let hash = hash_of([&new]);
    let new = [(&new, here)];
    let shown = described(workspace, &staging, &new)?;
    terminal::print(&Shown::text(&with_hash(shown, &hash)));
    if is_own {
        let said = format!("{name} was changed here since it was added; these changes will be lost.");
        terminal::print(&Shown::line(&said));
    }
    let question = format!("Replace {name} by this?");
    let skills: Vec<_> = new.iter().map(|(skill, _)| *skill).collect();
    let action = Action { name: UPDATE, question: &question, done: DONE, skills: &skills };
    if !action.is_agreed(environment, agreed)? {
        return Ok(Updated::Refused);
    }
    for (skill, _) in &new {
        install(&staging, skill)?;
    }
    terminal::print(&Shown::line(&format!("{name} is renewed.")));
    Ok(Updated::Replaced)
}
