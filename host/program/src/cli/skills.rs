//! `scorpiox-code skills`: what models have of the skills, for people and authors.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Subcommand;
use scorpiox_operator::SkillFolders;
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
    },
    /// Say what is wrong with a skill, or with all skills of a folder; they need not be installed
    Check {
        /// The folder of the skill, or of skills
        folder: PathBuf,
    },
}

pub(super) fn run(environment: &Environment, command: SkillsCommand) -> Result<ExitCode> {
    let workspace = environment.open();
    match command {
        SkillsCommand::List => terminal::print(&report::list(&library(&workspace, None)?)),
        SkillsCommand::Show { name } => {
            let shown = report::show(&library(&workspace, None)?, &name);
            let shown = shown.ok_or_else(|| {
                anyhow!("there is no skill {name:?}; `scorpiox-code skills list` shows all")
            })?;
            terminal::print(&shown);
        }
        SkillsCommand::Check { folder } => {
            let found = dunce::canonicalize(&folder);
            let found = found.with_context(|| format!("{} cannot be checked", folder.display()))?;
            if !found.is_dir() {
                bail!("{} is no folder; name the folder that the SKILL.md is in", folder.display());
            }
            let folders = SkillFolders::only(&environment.workspace.path, &found);
            let (shown, is_good) = report::check(&library(&workspace, Some(folders))?, &found);
            terminal::print(&shown);
            return Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    }
    Ok(ExitCode::SUCCESS)
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
