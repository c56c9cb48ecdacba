//! What the process was started with, read once.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use scorpiox_access::DEFAULT_WORKSPACE;
use scorpiox_operator::worked_on::others;
use scorpiox_operator::{Operator, Site, SkillFolders, Sources, WorkspaceFolder};
use scorpiox_paths::{Trail, account_home, others_can_change_at};
use scorpiox_policy::MANAGED_FILE;
use scorpiox_settings::{Locations, Settings};
use scorpiox_state::{ChosenStore, Databases, Kept, PasswordFrom};
use scorpiox_store::{Durability, Store};

use scorpiox_clients::unfilled;
use scorpiox_server::{App, Workspace, WorkspaceOptions};
use scorpiox_tools::{self, Registry};

/// Where things are, and what was set.
pub(super) struct Environment {
    pub(super) binary: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) own_home: PathBuf,
    pub(super) workspace: WorkspaceFolder,
    pub(super) durability: Durability,
    /// Those of the policies of all workspaces that this process serves.
    pub(super) databases: Arc<Databases>,
    pub(super) settings: Arc<Settings>,
    pub(super) registry: Arc<Registry>,
    /// Whether nothing is allowed without a policy that holds for all users of the machine.
    pub(super) is_managed_required: bool,
    is_home_named: bool,
    is_workspace_named: bool,
    /// Folders that were worked on before.
    pub(super) worked_on: Vec<PathBuf>,
}

/// What the arguments name.
#[derive(Default)]
pub(super) struct Named {
    /// The program's own folder.
    pub(super) home: Option<PathBuf>,
    /// The project's folder.
    pub(super) workspace: Option<PathBuf>,
    /// Whether nothing is allowed without a policy that holds for all users of the machine.
    pub(super) is_managed_required: bool,
    /// Those that are used already.
    pub(super) databases: Option<Arc<Databases>>,
}

impl Environment {
    pub(super) fn read(named: Named) -> Result<Self> {
        let Named { home: named_home, workspace, is_managed_required, databases } = named;
        // Paths are compared with it, and those pass through no links.
        let home = home()?.filter(|home| !home.as_os_str().is_empty()).map(resolved);
        let (own_home, links) = own_home(home.as_ref(), named_home.as_deref())?;
        let is_home_named = named_home.is_some() || path("SCORPIOX_HOME").is_some();
        let is_workspace_named = workspace.is_some() || path("SCORPIOX_WORKSPACE").is_some();
        let sources = Sources {
            argument: workspace,
            scorpiox: path("SCORPIOX_WORKSPACE"),
            claude: path("CLAUDE_PROJECT_DIR"),
            working: env::current_dir().ok(),
        };
        let workspace = WorkspaceFolder::find(sources, home.as_deref(), &own_home)?;
        refuse_links(&links, &own_home, &workspace.path)?;
        refuse_brought_along(&own_home, is_home_named, &workspace)?;
        refuse_others(&own_home)?;
        let binary = env::current_exe().context("this program's own path is unknown")?;
        let worked_on = others(&own_home, &workspace.path)
            .with_context(|| format!("the list of workspaces in {} cannot be read", own_home.display()))?;
        let locations = Locations {
            binary_dir: binary.parent().map(Into::into),
            home: home.clone(),
            workspace: workspace.path.clone(),
            worked_on: worked_on.clone(),
        };
        let registry = Arc::new(Registry::new(scorpiox_tools::builtin()));
        let settings = Arc::new(Settings::load(&locations, unfilled::variables(), &registry.names()));
        Ok(Self {
            binary,
            home,
            own_home,
            workspace,
            durability: durability()?,
            databases: databases.unwrap_or_else(|| Databases::new(password())),
            settings,
            registry,
            is_managed_required,
            is_home_named,
            is_workspace_named,
            worked_on,
        })
    }

    /// Arguments with which a client starts the program under the policy that holds here: for what a person
    /// chose.
    pub(super) fn chosen(&self) -> Result<Vec<String>> {
        let folders = [
            (self.is_home_named, "--home", &self.own_home),
            (self.is_workspace_named, "--workspace", &self.workspace.path),
        ];
        let mut arguments = Vec::new();
        for (is_named, option, folder) in folders {
            if is_named {
                let folder =
                    folder.to_str().with_context(|| format!("{} is not valid Unicode", folder.display()))?;
                arguments.extend([option.to_owned(), folder.to_owned()]);
            }
        }
        if self.is_managed_required {
            arguments.extend(["--managed", "required"].map(str::to_owned));
        }
        Ok(arguments)
    }

    /// The workspace, opened.
    pub(super) fn open(&self) -> Arc<Workspace> {
        self.open_in(&App::new(Arc::clone(&self.registry)))
    }

    /// The workspaces that are served over HTTP, by name: this one, and those of its policy.
    pub(super) fn served(&self, own: &Arc<Workspace>) -> Result<Vec<(String, Arc<Workspace>)>> {
        let policy = own.operator().policy().map_err(|error| anyhow::anyhow!("{error}"))?;
        let mut served = vec![(DEFAULT_WORKSPACE.to_owned(), Arc::clone(own))];
        for (name, wanted) in &policy.served {
            let Some(path) = &wanted.path else { continue };
            let opened = self.at(Path::new(path)).with_context(|| {
                format!("[workspace.{name}] of the policy ({}) cannot be served", wanted.source)
            })?;
            served.push((name.clone(), opened.open_in(own.shared_app())));
        }
        Ok(served)
    }

    /// Whether what the policy says of serving over HTTP can be done, and for how many workspaces.
    pub(super) fn check_served(&self, own: &Arc<Workspace>) -> Result<usize> {
        let served = self.served(own)?;
        scorpiox_http::check_policy(&served)?;
        Ok(served.len())
    }

    /// The same for another folder.
    fn at(&self, folder: &Path) -> Result<Self> {
        anyhow::ensure!(folder.is_dir(), "{} is no folder", folder.display());
        Self::read(Named {
            home: Some(self.own_home.clone()),
            workspace: Some(folder.to_owned()),
            is_managed_required: self.is_managed_required,
            databases: Some(Arc::clone(&self.databases)),
        })
    }

    fn open_in(&self, app: &Arc<App>) -> Arc<Workspace> {
        let file = state_folder(&self.own_home).join(self.workspace.state_file_name());
        let (databases, durability) = (Arc::clone(&self.databases), self.durability);
        app.open(WorkspaceOptions {
            folder: self.workspace.clone(),
            settings: Arc::clone(&self.settings),
            store: Box::new(move |operator| {
                Arc::new(ChosenStore::new(Arc::clone(operator), databases, file, durability))
            }),
            site: self.site(),
        })
    }

    /// What principals used, which belongs to no workspace.
    pub(super) fn ledger(&self, operator: &Arc<Operator>) -> Arc<dyn Store> {
        let file = state_folder(&self.own_home).join(LEDGER_FILE);
        let (operator, databases) = (Arc::clone(operator), Arc::clone(&self.databases));
        Arc::new(ChosenStore::new(operator, databases, file, self.durability))
    }

    /// All that is kept of workspaces.
    pub(super) fn kept(&self) -> Result<Kept> {
        let operator = Arc::new(Operator::new(self.site()));
        Ok(Kept::new(&operator, &self.databases, state_folder(&self.own_home), self.durability)?)
    }

    /// What the operator decides about.
    pub(super) fn site(&self) -> Site {
        let (workspace, home) = (&self.workspace, self.home.clone());
        let additional = self.settings.additional_skills();
        let skills = SkillFolders::new(&workspace.path, home.as_deref(), &self.own_home, additional);
        // Claude Code says it to the servers that it starts.
        let skills = skills.in_session(env::var("CLAUDE_CODE_SESSION_ID").ok());
        Site {
            workspace: workspace.path.clone(),
            workspace_name: workspace.name(),
            home,
            own_home: self.own_home.clone(),
            skills: Arc::new(skills),
            is_managed_required: self.is_managed_required,
            worked_on: self.worked_on.clone(),
        }
    }
}

/// What is kept of what principals used. Workspaces have a hash in their names.
const LEDGER_FILE: &str = "usage.db";

/// Where what tools store is.
fn state_folder(own_home: &Path) -> PathBuf {
    own_home.join("state")
}

/// The user's home folder. What a policy for all users says of `~/` holds in the account's own, wherever the
/// environment says it is.
fn home() -> Result<Option<PathBuf>> {
    if Path::new(MANAGED_FILE).symlink_metadata().is_err() {
        return Ok(env::home_dir());
    }
    account_home().context("the home folder of this account is not known")
}

fn path(variable: &str) -> Option<PathBuf> {
    unfilled::variable(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where this program's own folder is, also if it is yet to be made: what protects it compares
/// paths. And the links that lead to it.
fn own_home(home: Option<&PathBuf>, argument: Option<&Path>) -> Result<(PathBuf, Vec<PathBuf>)> {
    let named = match argument.map(Path::to_owned).or_else(|| path("SCORPIOX_HOME")) {
        Some(own) => std::path::absolute(&own).with_context(|| format!("the folder {}", own.display()))?,
        None => home.context("there is no home folder; set HOME or SCORPIOX_HOME")?.join(".scorpiox"),
    };
    let trail = Trail::follow(&named).with_context(|| format!("{} cannot be reached", named.display()))?;
    Ok((trail.end, trail.links))
}

/// What was decided must not lie where somebody else leads to it.
fn refuse_links(links: &[PathBuf], own_home: &Path, workspace: &Path) -> Result<()> {
    match links.iter().find(|link| link.starts_with(workspace)) {
        None => Ok(()),
        Some(link) => bail!(
            "{}, where policy and plugins are kept, is reached through the symbolic link {}, which lies in \
             the workspace, so that commands can change it; set SCORPIOX_HOME to the folder itself",
            own_home.display(),
            link.display()
        ),
    }
}

/// What a repository brings along is nobody's decision, and neither is what its settings point to.
fn refuse_brought_along(own_home: &Path, is_named: bool, workspace: &WorkspaceFolder) -> Result<()> {
    let wanted = workspace.instead_of.as_ref().unwrap_or(&workspace.path);
    let lies_inside = own_home.starts_with(&workspace.path);
    let is_around = is_named && wanted.starts_with(own_home);
    if lies_inside || is_around {
        bail!(
            "{}, where policy and plugins are kept, lies inside or around the workspace {}, so that a repository \
             could bring them along; set SCORPIOX_HOME to a folder apart from it, or unset it",
            own_home.display(),
            wanted.display()
        );
    }
    Ok(())
}

/// What others may have put there is nobody's decision, and what is written there is theirs to read.
fn refuse_others(own_home: &Path) -> Result<()> {
    match others_can_change_at(own_home).ok().flatten() {
        None => Ok(()),
        Some(why) => bail!(
            "{}, where policy and plugins are kept, cannot be used: {why}; check what is in it, or set \
             SCORPIOX_HOME to a folder of your own",
            own_home.display()
        ),
    }
}

/// Where a folder is.
fn resolved(path: PathBuf) -> PathBuf {
    dunce::canonicalize(&path).unwrap_or(path)
}

/// Where the password of a database is that the policy names no file for.
fn password() -> PasswordFrom {
    PasswordFrom {
        value: env::var("SCORPIOX_STORE_PASSWORD").ok(),
        file: path("SCORPIOX_STORE_PASSWORD_FILE"),
    }
}

fn durability() -> Result<Durability> {
    let chosen = unfilled::variable("SCORPIOX_DURABILITY").unwrap_or_default();
    match &*chosen.to_string_lossy() {
        "" | "process" => Ok(Durability::Process),
        "power" => Ok(Durability::Power),
        other => anyhow::bail!("SCORPIOX_DURABILITY is {other:?}; use process or power"),
    }
}
