//! The command `scorpiox-code skills`: shows, checks, installs and packs skills, for users and authors.

mod add;
mod agreement;
mod listed;
mod offered;
mod update;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Subcommand;
use scorpiox_plugin::MANIFEST;
use scorpiox_plugin_manager::skills::{SkillFiles, is_folder_name};
use scorpiox_server::Workspace;
use scorpiox_server::skills::library::Library;
use scorpiox_server::skills::report::{self, Installable};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, one_line};
use scorpiox_workspace_config::SkillFolders;

use super::environment::Environment;
use super::plugin;
use add::Said;

/// Maximum number of links that a warning names, and maximum width of each, in columns.
const MAX_LINKS: usize = 5;
const MAX_NAME: usize = 60;

/// Tool whose component implements skills.
const SKILL_TOOL: &str = "InvokeSkill";

#[derive(Subcommand)]
pub(super) enum SkillsCommand {
    /// Create a skill in a new folder among your skills
    New {
        /// The name of the skill, and of its folder
        name: String,
        /// Create it among the project's skills
        #[arg(long)]
        project: bool,
        /// Create it in this folder
        #[arg(long = "in", value_name = "FOLDER", conflicts_with = "project")]
        inside: Option<PathBuf>,
    },
    /// Copy skills among yours; shows them, and asks
    Add {
        /// A skill's folder, a pack of `skills pack`, or a repository or folder with several skills
        source: PathBuf,
        /// Copy only this skill; can be given several times [default: all]
        #[arg(long = "skill", value_name = "NAME")]
        skills: Vec<String>,
        /// Also replace skills of the same names; shows the differences
        #[arg(long)]
        replace: bool,
        /// Add them without asking if they have this hash, which their reviewer gave you
        #[arg(long, value_name = "HASH")]
        yes: Option<String>,
    },
    /// Print the hash of skills, for `--yes`
    Hash {
        /// A skill's folder, a pack of `skills pack`, or a repository or folder with several skills
        source: PathBuf,
        /// Of this skill alone; can be given several times [default: all]
        #[arg(long = "skill", value_name = "NAME")]
        skills: Vec<String>,
    },
    /// Pack a skill's folder into one file; the same content always gives the same bytes
    Pack {
        /// The skill's folder
        folder: PathBuf,
        /// The path of the pack [default: NAME.skill.tar]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Renew skills from where they were added; shows the differences, and asks
    Update {
        /// The skill [default: all that `skills add` added]
        name: Option<String>,
        /// Renew it without asking if it has this hash, which its reviewer gave you
        #[arg(long, value_name = "HASH", requires = "name")]
        yes: Option<String>,
    },
    /// Show all skills, with the descriptions by which models choose them
    List {
        /// Print the skills as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a skill as the model receives it, its length, and its problems
    Show {
        /// The skill's name
        name: String,
        /// Its arguments, as a model or a user would give them
        arguments: Option<String>,
    },
    /// Report the problems of skills, which need not be installed
    Check {
        /// Folders: a skill, a repository that contains skills, or a folder of skills
        #[arg(required = true)]
        folders: Vec<PathBuf>,
    },
}

pub(super) fn run(environment: &Environment, command: SkillsCommand) -> Result<ExitCode> {
    match command {
        SkillsCommand::New { name, project, inside } => {
            let own = if project { environment.workspace.path.join(PROJECT) } else { own(environment) };
            scorpiox_plugin_manager::author::new_skill(&name, &inside.unwrap_or(own))?;
        }
        SkillsCommand::Add { source, skills, replace, yes } => {
            return add::run(environment, &source, &skills, Said { replace, yes: yes.as_deref() });
        }
        SkillsCommand::Hash { source, skills } => {
            // Remarks about skills that are left out are those of `skills add`.
            let (found, _) = offered::found(&environment.open(), &source, &skills)?;
            terminal::print(&Shown::line(agreement::hash_of(&found).as_str()));
        }
        SkillsCommand::Pack { folder, out } => offered::pack(&environment.open(), &folder, out.as_deref())?,
        SkillsCommand::Update { name, yes } => {
            return update::run(environment, name.as_deref(), yes.as_deref());
        }
        SkillsCommand::List { json } => {
            let workspace = environment.open();
            let library = library(&workspace, None)?;
            terminal::print(&if json {
                Shown::json(&listed::as_json(&library).to_string())
            } else {
                report::list(&library)
            });
        }
        SkillsCommand::Show { name, arguments } => {
            let arguments = arguments.unwrap_or_default();
            let shown = report::show(&library(&environment.open(), None)?, &name, &arguments);
            let shown = shown.ok_or_else(|| {
                anyhow!("there is no skill {name:?}; `scorpiox-code skills list` shows all")
            })?;
            terminal::print(&shown);
        }
        SkillsCommand::Check { folders } => {
            let workspace = environment.open();
            let mut is_good = true;
            for folder in &folders {
                is_good &= check(environment, &workspace, folder)?;
            }
            return Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Folder of skills in a project, and in the program's own folder.
const PROJECT: &str = ".scorpiox/skills";
const OWN: &str = "skills";

/// Returns the folder with the user's skills.
fn own(environment: &Environment) -> PathBuf {
    environment.own_home.join(OWN)
}

fn check(environment: &Environment, workspace: &Workspace, folder: &Path) -> Result<bool> {
    ensure!(folder.exists(), "{} does not exist; name a folder with a SKILL.md", folder.display());
    let found = dunce::canonicalize(folder);
    let found = found.with_context(|| format!("{} cannot be checked", folder.display()))?;
    if !found.is_dir() {
        bail!("{} is no folder; name the folder that the SKILL.md is in", folder.display());
    }
    let only = workspace.skills().only(&found);
    let (shown, is_good) = report::check(&library(workspace, Some(only))?, &found, |name, folder| {
        Installable { component: component(environment, folder).err(), warnings: files(name, folder) }
    });
    terminal::print(&shown);
    Ok(is_good)
}

/// Returns warnings about the name and the files of a skill: reasons why `skills add` refuses it, and parts that it
/// leaves out.
fn files(name: &str, folder: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    if !is_folder_name(name) {
        warnings.push(format!("`skills add` refuses it: {name:?} cannot be a folder's name"));
    }
    match SkillFiles::read(folder) {
        Err(error) => warnings.push(format!("`skills add` refuses it: {}", error.root_cause())),
        Ok((_, left_out)) => {
            let links: Vec<_> = left_out.iter().filter(|name| name.ends_with(" (a link)")).collect();
            let named: Vec<_> = links.iter().take(MAX_LINKS).map(|name| one_line(name, MAX_NAME)).collect();
            let more = links.len().saturating_sub(MAX_LINKS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            if !named.is_empty() {
                warnings.push(format!("`skills add` leaves out {}{more}", named.join(", ")));
            }
        }
    }
    warnings
}

/// Checks that the component in a skill can be installed, if there is one.
fn component(environment: &Environment, folder: &Path) -> Result<(), String> {
    let is_component = |path: PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
    let mut files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    if !folder.join(MANIFEST).exists() && !files.any(is_component) {
        return Ok(());
    }
    plugin::installable(environment, folder).map_err(|error| format!("{error:#}"))
}

/// Reads the skills of the workspace, or those in `folders`.
pub(super) fn library(workspace: &Workspace, folders: Option<SkillFolders>) -> Result<Library<'_>> {
    let component = workspace.component(SKILL_TOOL).context("this program was built without InvokeSkill")?;
    let (runtime, setup) = (workspace.runtime(), workspace.own_setup());
    let library = match folders {
        None => Library::read(runtime, component, setup),
        Some(folders) => Library::read_in(runtime, component, setup, folders),
    };
    library.context("skills cannot be read")
}
