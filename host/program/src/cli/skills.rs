//! `scorpiox-code skills`: what models have of the skills, for people and authors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Subcommand;
use scorpiox_install::{Keys, Source};
use scorpiox_operator::SkillFolders;
use scorpiox_plugin::MANIFEST;
use scorpiox_server::Workspace;
use scorpiox_skills::library::Library;
use scorpiox_skills::report;
use scorpiox_terminal as terminal;

use super::environment::Environment;

/// The tool whose component knows skills.
const SKILL_TOOL: &str = "InvokeSkill";

#[derive(Subcommand)]
pub(super) enum SkillsCommand {
    /// Show all skills, and the words by which models choose them
    List,
    /// Show a skill as a model gets it, how long it is, and what is wrong with it
    Show {
        /// The skill's name
        name: String,
        /// Its arguments, as a model or a person would give them
        arguments: Option<String>,
    },
    /// Say what is wrong with skills; they need not be installed
    Check {
        /// Folders, each of a skill, of a repository with some, or of skills
        #[arg(required = true)]
        folders: Vec<PathBuf>,
    },
}

pub(super) fn run(environment: &Environment, command: SkillsCommand) -> Result<ExitCode> {
    let workspace = environment.open();
    match command {
        SkillsCommand::List => terminal::print(&report::list(&library(&workspace, None)?)),
        SkillsCommand::Show { name, arguments } => {
            let arguments = arguments.unwrap_or_default();
            let shown = report::show(&library(&workspace, None)?, &name, &arguments);
            let shown = shown.ok_or_else(|| {
                anyhow!("there is no skill {name:?}; `scorpiox-code skills list` shows all")
            })?;
            terminal::print(&shown);
        }
        SkillsCommand::Check { folders } => {
            let mut is_good = true;
            for folder in &folders {
                is_good &= check(&workspace, folder)?;
            }
            return Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn check(workspace: &Workspace, folder: &Path) -> Result<bool> {
    let found = dunce::canonicalize(folder);
    let found = found.with_context(|| format!("{} cannot be checked", folder.display()))?;
    if !found.is_dir() {
        bail!("{} is no folder; name the folder that the SKILL.md is in", folder.display());
    }
    let only = workspace.skills().only(&found);
    let (shown, is_good) = report::check(&library(workspace, Some(only))?, &found, component);
    terminal::print(&shown);
    Ok(is_good)
}

/// Whether the component that a skill brings, if it does, can be installed.
fn component(folder: &Path) -> Result<(), String> {
    let is_component = |path: PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
    let mut files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    if !folder.join(MANIFEST).exists() && !files.any(is_component) {
        return Ok(());
    }
    Source::read(folder, None, &Keys::default()).map(drop).map_err(|error| format!("{error:#}"))
}

/// The skills of the workspace's folders, or of these.
pub(super) fn library(workspace: &Workspace, folders: Option<SkillFolders>) -> Result<Library<'_>> {
    let component = workspace.component(SKILL_TOOL).context("this program was built without InvokeSkill")?;
    let (runtime, setup) = (workspace.runtime(), workspace.own_setup());
    let library = match folders {
        None => Library::read(runtime, component, setup),
        Some(folders) => Library::read_in(runtime, component, setup, folders),
    };
    library.context("skills cannot be read")
}
