//! Arguments, environment variables and directories of the process, read only once.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::state::{ChosenStore, Databases, Kept, PasswordFrom};
use anyhow::{Context as _, Result, bail};
use scorpiox_approvals::Requests;
use scorpiox_fs::{Exchange, Trail, account_home, others_can_change_at};
use scorpiox_policy::Policy;
use scorpiox_policy::access::{self, DEFAULT_WORKSPACE, Note};
use scorpiox_policy::{MANAGED_FILE, mend};
use scorpiox_store::{Durability, Store};
use scorpiox_workspace_config::settings::{Locations, Settings};
use scorpiox_workspace_config::worked_on::others;
use scorpiox_workspace_config::{Operator, Site, SkillFolders, Sources, WorkspaceFolder};

use scorpiox_client_config::unfilled;
use scorpiox_server::{App, OpenStore, Workspace, WorkspaceOptions};
use scorpiox_tools::{self, Registry};

/// Directories and settings of this process.
pub(super) struct Environment {
    pub(super) binary: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) own_home: PathBuf,
    pub(super) workspace: WorkspaceFolder,
    pub(super) durability: Durability,
    /// Databases of the policies of all workspaces that this process serves.
    pub(super) databases: Arc<Databases>,
    pub(super) settings: Arc<Settings>,
    pub(super) registry: Arc<Registry>,
    /// `true` if nothing is allowed without a machine-wide policy.
    pub(super) is_managed_required: bool,
    is_home_named: bool,
    is_workspace_named: bool,
    /// Directories that other servers have used as workspaces.
    pub(super) worked_on: Vec<PathBuf>,
}

/// Directories and options named in the arguments.
#[derive(Default)]
pub(super) struct Named {
    /// The program's directory.
    pub(super) home: Option<PathBuf>,
    /// The project's directory.
    pub(super) workspace: Option<PathBuf>,
    /// `true` if nothing is allowed without a machine-wide policy.
    pub(super) is_managed_required: bool,
    /// Databases that are already open.
    pub(super) databases: Option<Arc<Databases>>,
}

impl Environment {
    pub(super) fn read(named: Named) -> Result<Self> {
        let Named { home: named_home, workspace, is_managed_required, databases } = named;
        // Other paths are compared with it after their links are resolved.
        let home = home()?.filter(|home| !home.as_os_str().is_empty()).map(resolved);
        let (named, trail) = own_home(home.as_ref(), named_home.as_deref())?;
        let own_home = trail.end.clone();
        let is_home_named = named_home.is_some() || path("SCORPIOX_HOME").is_some();
        let is_workspace_named = workspace.is_some() || path("SCORPIOX_WORKSPACE").is_some();
        let sources = Sources {
            argument: workspace,
            scorpiox: path("SCORPIOX_WORKSPACE"),
            claude: path("CLAUDE_PROJECT_DIR"),
            working: env::current_dir().ok(),
        };
        let workspace = WorkspaceFolder::find(sources, home.as_deref(), &own_home)?;
        refuse_links(&trail.links, &own_home, &workspace.path)?;
        workspace.check_apart(&own_home, is_home_named)?;
        refuse_others(&own_home, &named, &trail)?;
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

    /// Returns the arguments with which a client must start the program to get the same environment.
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

    /// Explains why a server started in the resolved `folder` would use another workspace or none.
    pub(super) fn why_not_workspace(&self, folder: &Path) -> Option<String> {
        let found = WorkspaceFolder::at(folder.to_owned(), self.home.as_deref(), &self.own_home);
        found.why_not(folder, &self.own_home, self.is_home_named)
    }

    /// Returns the folder that servers work on instead of `folder`, if that cannot be a workspace.
    pub(super) fn workspace_instead_of(&self, folder: &Path) -> Option<PathBuf> {
        let found = WorkspaceFolder::at(folder.to_owned(), self.home.as_deref(), &self.own_home);
        Some(found.path).filter(|path| path != folder)
    }

    /// Opens the workspace.
    pub(super) fn open(&self) -> Arc<Workspace> {
        self.open_in(&App::new(Arc::clone(&self.registry)))
    }

    /// Opens the workspaces served over HTTP, by name: this workspace, and those in its policy.
    pub(super) fn served(&self, own: &Arc<Workspace>) -> Result<Vec<(String, Arc<Workspace>)>> {
        let policy = own.operator().server_policy().map_err(|error| anyhow::anyhow!("{error}"))?;
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

    /// Checks that the policy can be served over HTTP. Returns the number of workspaces, and notes about those that share
    /// files.
    pub(super) fn check_served(&self, own: &Arc<Workspace>) -> Result<(usize, Vec<Note>)> {
        let served = self.served(own)?;
        scorpiox_transport_http::check_policy(&served)?;
        let policy = own.operator().server_policy().map_err(|error| anyhow::anyhow!("{error}"))?;
        Ok((served.len(), shared_folders(policy, Some(&self.workspace.path))))
    }

    /// Reads the environment for another workspace.
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
        let store_in = move |file: PathBuf| -> OpenStore {
            let databases = Arc::clone(&databases);
            Box::new(move |operator| {
                let databases = Arc::clone(&databases);
                Arc::new(ChosenStore::new(Arc::clone(operator), databases, file.clone(), durability))
            })
        };
        app.open(WorkspaceOptions {
            folder: self.workspace.clone(),
            settings: Arc::clone(&self.settings),
            store: store_in(file),
            approvals: store_in(state_folder(&self.own_home).join(APPROVALS_FILE)),
            site: self.site(),
        })
    }

    /// Returns the store for the usage of principals, which is independent of workspaces.
    pub(super) fn ledger(&self, operator: &Arc<Operator>) -> Arc<dyn Store> {
        let file = state_folder(&self.own_home).join(LEDGER_FILE);
        let (operator, databases) = (Arc::clone(operator), Arc::clone(&self.databases));
        Arc::new(ChosenStore::new(operator, databases, file, self.durability))
    }

    /// Returns the requests for approval, which all workspaces share.
    pub(super) fn approvals(&self, operator: &Arc<Operator>) -> Requests {
        let file = state_folder(&self.own_home).join(APPROVALS_FILE);
        let (operator, databases) = (Arc::clone(operator), Arc::clone(&self.databases));
        Requests::new(Arc::new(ChosenStore::new(operator, databases, file, self.durability)))
    }

    /// Returns the stored data of all workspaces.
    pub(super) fn kept(&self) -> Result<Kept> {
        let operator = Arc::new(Operator::new(self.site()));
        Ok(Kept::new(&operator, &self.databases, state_folder(&self.own_home), self.durability)?)
    }

    /// Returns the directories and options that the operator's policy applies to.
    pub(super) fn site(&self) -> Site {
        let (workspace, home) = (&self.workspace, self.home.clone());
        let additional = self.settings.additional_skills();
        let skills = SkillFolders::new(&workspace.path, home.as_deref(), &self.own_home, additional);
        // Claude Code sets this variable for the servers that it starts.
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

/// File name of the usage data. It cannot collide with a workspace, since their file names contain a hash.
const LEDGER_FILE: &str = "usage.db";
/// File name of the approvals, which cannot collide either.
const APPROVALS_FILE: &str = "approvals.db";

/// Returns the directory of the data that tools store in files.
fn state_folder(own_home: &Path) -> PathBuf {
    own_home.join("state")
}

/// Returns the user's home directory. Under a machine-wide policy, `~/` means the home directory of the
/// account, regardless of the environment.
fn home() -> Result<Option<PathBuf>> {
    if Path::new(MANAGED_FILE).symlink_metadata().is_err() {
        return Ok(env::home_dir());
    }
    account_home().context("the home folder of this account is not known")
}

fn path(variable: &str) -> Option<PathBuf> {
    unfilled::variable(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the path of the program's directory, even if it does not exist yet, and where it leads. Protection of the
/// directory depends on comparing paths.
fn own_home(home: Option<&PathBuf>, argument: Option<&Path>) -> Result<(PathBuf, Trail)> {
    let named = match argument.map(Path::to_owned).or_else(|| path("SCORPIOX_HOME")) {
        Some(own) => std::path::absolute(&own).with_context(|| format!("the folder {}", own.display()))?,
        None => home.context("there is no home folder; set HOME or SCORPIOX_HOME")?.join(".scorpiox"),
    };
    let trail = Trail::follow(&named).with_context(|| format!("{} cannot be reached", named.display()))?;
    Ok((named, trail))
}

/// Refuses a path to the program's directory through a link in the workspace, which commands could change.
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

/// Refuses a directory that other users can write to, or, if its name is a link, put another in the place of: they could
/// add decisions, and read stored data.
fn refuse_others(own_home: &Path, named: &Path, trail: &Trail) -> Result<()> {
    if let Some(why) = others_can_change_at(own_home).ok().flatten() {
        bail!(
            "{}, where policy and plugins are kept, cannot be used: {why}; check what is in it, or set \
             SCORPIOX_HOME to a folder of your own",
            own_home.display()
        )
    }
    if !named.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return Ok(());
    }
    let exchange =
        Exchange::on(trail).with_context(|| format!("the folders of {} are unknown", own_home.display()))?;
    match exchange {
        None => Ok(()),
        Some(exchange) => bail!(
            "{}, where policy and plugins are kept, cannot be used: {exchange}; {}, or set SCORPIOX_HOME to a \
             folder of your own",
            own_home.display(),
            mend(&exchange)
        ),
    }
}

/// Resolves a directory, if it exists.
fn resolved(path: PathBuf) -> PathBuf {
    dunce::canonicalize(&path).unwrap_or(path)
}

/// Returns the password of the database, for a policy that names no password file.
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

/// Returns notes about served workspaces that share files. `own` is the folder that a server is started for, if known.
pub(super) fn shared_folders(policy: &Policy, own: Option<&Path>) -> Vec<Note> {
    let resolved = |folder: &Path| dunce::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let named = policy.served.iter().filter_map(|(name, served)| {
        let folder = served.path.as_ref()?;
        Some((name.as_str(), resolved(Path::new(folder))))
    });
    let own = own.map(|own| (DEFAULT_WORKSPACE, resolved(own)));
    access::shared_folders(&named.chain(own).collect::<Vec<_>>(), &policy.served)
}
