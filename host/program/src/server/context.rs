//! What requests work with.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use scorpiox_audit::Uses;
use scorpiox_executor::{AsyncRuntime, Cancel};
use scorpiox_policy::Refusal;
use scorpiox_rpc::Output;
use scorpiox_settings::Settings;
use scorpiox_store::{Database, Durability};

use super::client::Seal;
use super::inflight::InFlight;
use super::outgoing::Outgoing;
use super::records::Records;
use super::session::Session;
use super::subscriptions::Subscriptions;
use crate::capabilities::ask::Desk;
use crate::capabilities::files::Files;
use crate::capabilities::shell::{Shell, ShellSetup};
use crate::capabilities::skills::SkillFolders;
use crate::capabilities::web::Web;
use crate::plugins::Plugins;
use crate::runtime::{Component, Fault, Runtime, Setup};
use crate::server::callbacks::Deliveries;
use crate::server::handlers::listing::ListingCache;
use crate::server::tool_news::ToolNews;
use crate::tools::{Kind, Registry, Tool};
use crate::workspace::Workspace;

/// Room for what a person asks for, which no client cuts.
const UNBOUND_CHARS: usize = 256 * 1024;

/// What a server is made from.
pub struct Options {
    /// The project that is worked on.
    pub workspace: Workspace,
    /// The program's own folder, `~/.scorpiox`.
    pub own_home: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The settings cascade.
    pub settings: Arc<Settings>,
    /// All tools.
    pub registry: Arc<Registry>,
    /// What stored data survives.
    pub durability: Durability,
    /// For whom it answers.
    pub audience: Audience,
    /// Whether nothing is allowed without a policy that holds for all users of the machine.
    pub is_managed_required: bool,
    /// Folders that were worked on before: see [`ShellSetup::worked_on`].
    pub worked_on: Vec<PathBuf>,
}

/// Who reads the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A client's model. Its results bring the messages of callbacks along.
    Model,
    /// A person at the command line, who gets data, too, and waits for as long as it takes. Messages
    /// stay for the client they are for.
    Person,
}

/// What requests work with: one for each server, shared by its threads.
pub struct Context {
    pub(crate) workspace: Workspace,
    pub(crate) settings: Arc<Settings>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) plugins: Plugins,
    pub(crate) runtime: Runtime,
    pub(crate) database: Arc<Database>,
    pub(crate) skills: Arc<SkillFolders>,
    pub(crate) output: Arc<Output>,
    pub(crate) session: Session,
    pub(crate) inflight: InFlight,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) deliveries: Deliveries,
    pub(crate) listing: ListingCache,
    pub(crate) tool_news: ToolNews,
    pub(crate) outgoing: Arc<Outgoing>,
    pub(crate) seal: Seal,
    pub(crate) records: Arc<Records>,
    audience: Audience,
    shell: Arc<Shell>,
    asynchronous: Arc<AsyncRuntime>,
    web: Arc<Web>,
    files: Arc<Files>,
    desk: Arc<Desk>,
}

/// Where what tools store is.
pub(crate) fn state_folder(own_home: &Path) -> PathBuf {
    own_home.join("state")
}

impl Context {
    /// The context of a server that answers to `output`.
    pub fn new(options: Options, output: Output) -> Self {
        let Options {
            workspace,
            own_home,
            home,
            settings,
            registry,
            durability,
            audience,
            is_managed_required,
            worked_on,
        } = options;
        let path = state_folder(&own_home).join(workspace.state_file_name());
        let skills = Arc::new(SkillFolders::new(
            &workspace.path,
            home.as_deref(),
            &own_home,
            settings.additional_skills(),
        ));
        let shell = Arc::new(Shell::new(ShellSetup {
            workspace: workspace.path.clone(),
            workspace_name: workspace.name(),
            home,
            own_home,
            skills: Arc::clone(&skills),
            is_managed_required,
            worked_on,
        }));
        let listing = ListingCache::new(&shell.setup().own_home, &workspace.name());
        let plugins = Plugins::new(Arc::clone(&shell));
        let asynchronous = Arc::<AsyncRuntime>::default();
        Self {
            web: Arc::new(Web::new(Arc::clone(&shell), Arc::clone(&asynchronous))),
            asynchronous,
            files: Arc::new(Files::new(Arc::clone(&shell))),
            desk: Arc::new(Desk::new(Arc::clone(&shell))),
            records: Records::new(Arc::clone(&shell), &workspace.path),
            shell,
            database: Arc::new(Database::new(path, durability)),
            skills,
            workspace,
            settings,
            registry,
            plugins,
            runtime: Runtime::default(),
            output: Arc::new(output),
            session: Session::default(),
            inflight: InFlight::default(),
            subscriptions: Subscriptions::default(),
            deliveries: Deliveries::new(audience == Audience::Model),
            audience,
            listing,
            tool_news: ToolNews::default(),
            outgoing: Arc::default(),
            seal: Seal::new(),
        }
    }

    /// Whether results of built-in tools carry data beside their text.
    pub(crate) fn gives_data(&self) -> bool {
        self.audience == Audience::Person || self.settings.structured()
    }

    /// How long a client without word of a call may be left waiting for it.
    pub(crate) fn answer_within(&self) -> Option<Duration> {
        self.settings.answer_within().filter(|_| self.audience == Audience::Model)
    }

    /// The tool of that name, if it is switched on.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        let tool = self.registry.get(name).cloned().or_else(|| self.plugins.get(name));
        tool.filter(|tool| self.is_on(tool))
    }

    /// All tools, the built-in ones first.
    pub(crate) fn tools(&self) -> Vec<Arc<Tool>> {
        self.registry.tools().cloned().chain(self.plugins.tools()).collect()
    }

    pub(crate) fn is_on(&self, tool: &Tool) -> bool {
        self.settings.tools_enabled()
            && self.settings.tool_enabled(&tool.name)
            && self.closed_by_policy(&tool.name).is_none()
    }

    /// Why the operator wants nobody to call a tool; `None` also under a policy that cannot be used, which
    /// every call is told of.
    pub(crate) fn closed_by_policy(&self, tool: &str) -> Option<Refusal> {
        if !self.shell.has_policy_file() {
            // The built-in policy closes none.
            return None;
        }
        self.shell.policy().ok()?.tools.check_tool(tool).err()
    }

    /// Whether there is a tool of that name, switched on or not.
    pub(crate) fn knows(&self, tool: &str) -> bool {
        self.registry.get(tool).is_some() || self.plugins.get(tool).is_some()
    }

    /// Where commands run.
    pub fn shell(&self) -> &Shell {
        &self.shell
    }

    /// Pages.
    pub fn web(&self) -> &Web {
        &self.web
    }

    /// The ways to ask the person outside of the client.
    pub(crate) fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    /// The component behind a tool.
    pub(crate) fn component(&self, tool: &str) -> Option<&Arc<Component>> {
        match &self.registry.get(tool)?.kind {
            Kind::Wasm { component, .. } => Some(component),
            Kind::Native(_) | Kind::Plugin { .. } => None,
        }
    }

    /// How a call that stops with `cancel` is set up.
    pub(crate) fn setup(&self, cancel: Cancel, on_wait: Arc<dyn Fn() + Send + Sync>) -> Setup {
        Setup {
            database: Arc::clone(&self.database),
            skills: Arc::clone(&self.skills),
            shell: Arc::clone(&self.shell),
            asynchronous: Arc::clone(&self.asynchronous),
            web: Arc::clone(&self.web),
            files: Arc::clone(&self.files),
            counterpart: None,
            room: UNBOUND_CHARS,
            prefix: None,
            uses: Uses::default(),
            on_progress: Arc::new(|_| {}),
            read_only: false,
            cancel,
            on_wait,
        }
    }

    /// How a call of the server's own is set up.
    pub(crate) fn own_setup(&self) -> Setup {
        self.setup(Cancel::default(), Arc::new(|| {}))
    }

    /// The goal of the plan that is active in the workspace. The shell runs read-only
    /// while there is one. An error is no answer: who has to know must refuse then.
    pub fn active_plan(&self) -> Result<Option<String>, Fault> {
        let Some(component) = self.component("PlanMode") else { return Ok(None) };
        if self.database.is_absent()? {
            return Ok(None);
        }
        Ok(self.runtime.active_plan(component, &self.own_setup())?.map(|plan| plan.goal))
    }
}
