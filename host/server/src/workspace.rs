//! What belongs to one workspace: its state, its files and skills, its commands, its audit, and the
//! sessions of the clients that work on it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_audit::Uses;
use scorpiox_exchange::news::{CallbackNews, ResourceNews};
use scorpiox_executor::Cancel;
use scorpiox_executor::alarm::Alarm;
use scorpiox_executor::lookout::Lookout;
use scorpiox_operator::{Operator, Site, SkillFolders, WorkspaceFolder};
use scorpiox_policy::Refusal;
use scorpiox_settings::Settings;
use scorpiox_store::Store;

use super::app::{App, Ticked};
use super::deliveries::Deliveries;
use super::list_changed::{Offered, PerList};
use super::session::Transport;
use scorpiox_capabilities::ask::Prompter;
use scorpiox_capabilities::files::Files;
use scorpiox_capabilities::notices::List;
use scorpiox_capabilities::setup::{Caller, SessionId, Setup};
use scorpiox_capabilities::web::Web;
use scorpiox_records::Records;
use scorpiox_runtime::{Beat, Component, Fault, Runtime};
use scorpiox_shell::Shell;
use scorpiox_tools::listing_cache::ListingCache;
use scorpiox_tools::plugins::{Offering, Plugins};
use scorpiox_tools::{Kind, Registry, Tool};
use scorpiox_usage::Meter;

/// How often it is looked whether a client has to be answered.
const OVERDUE_TICKS: u64 = 64;

/// Room for what a person asks for, which no client cuts.
pub(super) const UNBOUND_CHARS: usize = 256 * 1024;

/// Gives what keeps what tools store, as the operator decides.
pub type OpenStore = Box<dyn FnOnce(&Arc<Operator>) -> Arc<dyn Store>>;

/// What is opened as a [`Workspace`].
pub struct WorkspaceOptions {
    /// The folder that is worked on.
    pub folder: WorkspaceFolder,
    /// The settings cascade, as it is for this folder.
    pub settings: Arc<Settings>,
    /// Where its tools keep what they store.
    pub store: OpenStore,
    /// What the operator decides about.
    pub site: Site,
}

/// A session, as far as the workspace knows it that it works on.
pub(crate) trait Connected: Send + Sync {
    /// Looks, now and then while calls run, whether one takes too long.
    fn end_overdue(&self);
    /// Whether no call of it runs or waits for its turn.
    fn is_idle(&self) -> bool;
    /// Tells the client of a callback at once, in the ways it can take.
    fn tell_callback(&self, news: &CallbackNews<'_>);
    /// Whether the client wants to know of changed lists.
    fn needs_news(&self) -> bool;
    /// Tells the client, if it wants to know, which lists of plugins are others than it knows: `seen` are digests of
    /// what all `offered`.
    fn saw_lists(&self, seen: PerList<u64>, offered: &Offered);
    /// Tells the client, if it wants to know, that a list has changed.
    fn tell_list_changed(&self, list: List);
    /// Tells the client, if it subscribed to it, that a resource has changed.
    fn tell_resource_updated(&self, news: &ResourceNews<'_>);
}

/// An open workspace, shared by the sessions of its clients.
pub struct Workspace {
    pub(crate) app: Arc<App>,
    pub(crate) folder: WorkspaceFolder,
    pub(crate) settings: Arc<Settings>,
    pub(crate) plugins: Plugins,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) skills: Arc<SkillFolders>,
    pub(crate) deliveries: Deliveries,
    /// Fires callbacks.
    pub(crate) callbacks: Arc<Alarm>,
    pub(crate) listing: ListingCache,
    pub(crate) records: Arc<Records>,
    meter: OnceLock<Arc<Meter>>,
    pub(super) plugin_watch: Lookout,
    operator: Arc<Operator>,
    shell: Arc<Shell>,
    web: Arc<Web>,
    files: Arc<Files>,
    prompter: Arc<Prompter>,
    sessions: Mutex<BTreeMap<SessionId, Weak<dyn Connected>>>,
    /// Transports that are told of each tick.
    pub(super) ticked: Mutex<Vec<Weak<dyn Transport>>>,
}

impl App {
    /// Opens a workspace. Reads no file yet.
    pub fn open(self: &Arc<Self>, options: WorkspaceOptions) -> Arc<Workspace> {
        let workspace = Workspace::new(Arc::clone(self), options);
        let ticked: Weak<Workspace> = Arc::downgrade(&workspace);
        self.add(ticked);
        workspace
    }
}

impl Workspace {
    fn new(app: Arc<App>, options: WorkspaceOptions) -> Arc<Self> {
        let WorkspaceOptions { folder, settings, store, site } = options;
        let skills = Arc::clone(&site.skills);
        let operator = Arc::new(Operator::new(site));
        let shell = Arc::new(Shell::new(Arc::clone(&operator)));
        Arc::new_cyclic(|workspace: &Weak<Self>| Self {
            listing: ListingCache::new(&operator.site().own_home, &folder.name()),
            plugins: Plugins::new(Arc::clone(&operator)),
            web: Arc::new(Web::new(Arc::clone(&operator), Arc::clone(&app.asynchronous))),
            files: Arc::new(Files::new(Arc::clone(&operator))),
            prompter: Arc::new(Prompter::new(Arc::clone(&operator))),
            records: Records::new(Arc::clone(&shell), Arc::clone(&app.asynchronous), &folder.path),
            shell,
            store: store(&operator),
            meter: OnceLock::new(),
            operator,
            skills,
            deliveries: Deliveries::default(),
            callbacks: Alarm::new({
                let workspace = workspace.clone();
                move || Some(Weak::upgrade(&workspace)?.fire_callbacks())
            }),
            plugin_watch: Lookout::default(),
            sessions: Mutex::default(),
            ticked: Mutex::default(),
            folder,
            settings,
            app,
        })
    }

    /// The sessions, by their ids: each enters and leaves by itself.
    pub(super) fn lock_sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Weak<dyn Connected>>> {
        self.sessions.lock()
    }

    /// The sessions of all clients that work on it now.
    pub(super) fn sessions(&self) -> Vec<Arc<dyn Connected>> {
        self.lock_sessions().values().filter_map(Weak::upgrade).collect()
    }

    /// Whether no session has a call that runs or waits for its turn.
    pub(super) fn is_idle(&self) -> bool {
        self.sessions().iter().all(|session| session.is_idle())
    }

    /// Ends what runs for the workspace: callbacks, commands in the background, the browser; writes what is
    /// left of the audit. The process may end then.
    pub fn close(&self) {
        self.callbacks.stop();
        self.plugin_watch.stop();
        self.web.shut_down();
        self.shell.shut_down();
        self.records.shut_down();
    }

    /// The built-in tools.
    pub fn registry(&self) -> &Registry {
        &self.app.registry
    }

    /// What runs components.
    pub fn runtime(&self) -> &Runtime {
        &self.app.runtime
    }

    /// The tool of that name, if it is switched on.
    pub fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        let tool = self.registry().get(name).cloned().or_else(|| self.plugins.get(name));
        tool.filter(|tool| self.is_on(tool))
    }

    /// All tools, the built-in ones first.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.registry().tools().cloned().chain(self.plugins.tools()).collect()
    }

    /// The names without their plugins' by which clients know tools of plugins, by the whole names. What has such a
    /// name already keeps it.
    pub fn plain_names(&self) -> BTreeMap<String, String> {
        let plain = self.plugins.plain_tools().into_iter();
        let free = plain.filter(|(name, _)| self.registry().get(name).is_none());
        free.map(|(name, tool)| (tool.name.to_string(), name)).collect()
    }

    /// Whether an address is a resource of a plugin that runs.
    pub fn serves(&self, plugin: &str, uri: &str) -> bool {
        let offerings = self.plugins.offerings();
        let own = |offering: &&Arc<Offering>| offering.served.plugin().as_str() == plugin;
        offerings.iter().find(own).is_some_and(|offering| offering.served.serves(uri))
    }

    /// The plugin that serves an address: whose scheme it is, else who was approved first.
    pub fn offering_at(&self, uri: &str) -> Option<Arc<Offering>> {
        let mut serving = self.plugins.offerings();
        serving.retain(|offering| offering.served.serves(uri));
        serving.sort_by_key(|offering| (!offering.served.owns_scheme(uri), offering.decided_at));
        serving.into_iter().next()
    }

    /// Whether settings and policy let anybody call a tool.
    pub fn is_on(&self, tool: &Tool) -> bool {
        self.is_name_on(&tool.name)
            || self.plugins.tried(&tool.name).is_some() && self.closed_by_policy(&tool.name).is_none()
    }

    /// Whether settings and policy leave open what has this name: a tool, or what a plugin offers beside.
    pub(crate) fn is_name_on(&self, name: &str) -> bool {
        let is_set = self.settings.tools_enabled() && self.settings.tool_enabled(name);
        is_set && self.closed_by_policy(name).is_none()
    }

    /// Why the operator wants nobody to call a tool; `None` also under a policy that cannot be used, which
    /// every call is told of.
    pub fn closed_by_policy(&self, tool: &str) -> Option<Refusal> {
        if !self.operator.has_policy_file() {
            // The built-in policy closes none.
            return None;
        }
        let original = self.plugins.authors_name(tool);
        self.operator.policy().ok()?.tools.check_tool_as(tool, original.as_deref()).err()
    }

    /// Whether there is a tool of that name, switched on or not.
    pub fn knows(&self, tool: &str) -> bool {
        self.registry().get(tool).is_some() || self.plugins.get(tool).is_some()
    }

    /// The same, for who opens another workspace in it.
    pub fn shared_app(&self) -> &Arc<App> {
        &self.app
    }

    /// What the process built once.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Where its tools keep what they store.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Has a meter admit calls of principals from now on. The first one stays.
    pub fn metered_by(&self, meter: Arc<Meter>) {
        let _ = self.meter.set(meter);
    }

    pub(crate) fn meter(&self) -> Option<&Meter> {
        self.meter.get().map(Arc::as_ref)
    }

    /// What is recorded of calls.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Where skills are looked for.
    pub fn skills(&self) -> &SkillFolders {
        &self.skills
    }

    /// The plugins that were approved.
    pub fn plugins(&self) -> &Plugins {
        &self.plugins
    }

    /// Whose policy holds.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// The same, for who keeps it.
    pub fn operator_shared(&self) -> Arc<Operator> {
        Arc::clone(&self.operator)
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
    pub fn prompter(&self) -> &Arc<Prompter> {
        &self.prompter
    }

    /// The component behind a tool.
    pub fn component(&self, tool: &str) -> Option<&Arc<Component>> {
        match &self.registry().get(tool)?.kind {
            Kind::Wasm { component, .. } => Some(component),
            Kind::Native(_) | Kind::Plugin { .. } => None,
        }
    }

    /// How a call that stops with `cancel` is set up.
    pub fn setup(&self, cancel: Cancel, on_wait: Arc<dyn Fn() + Send + Sync>) -> Setup {
        Setup {
            store: Arc::clone(&self.store),
            skills: Arc::clone(&self.skills),
            shell: Arc::clone(&self.shell),
            asynchronous: Arc::clone(&self.app.asynchronous),
            web: Arc::clone(&self.web),
            files: Arc::clone(&self.files),
            counterpart: None,
            room: UNBOUND_CHARS,
            prefix: None,
            uses: Uses::default(),
            on_progress: Arc::new(|_| {}),
            session: None,
            asked_by: Caller::Model,
            read_only: false,
            cancel,
            on_wait,
        }
    }

    /// How a call of the server's own is set up.
    pub fn own_setup(&self) -> Setup {
        self.setup(Cancel::default(), Arc::new(|| {}))
    }

    /// The goal of the plan that is active in the workspace. The shell runs read-only
    /// while there is one. An error is no answer: who has to know must refuse then.
    pub fn active_plan(&self) -> Result<Option<String>, Fault> {
        let Some(component) = self.component("PlanMode") else { return Ok(None) };
        if self.store.is_absent()? {
            return Ok(None);
        }
        Ok(self.runtime().active_plan(component, &self.own_setup())?.map(|plan| plan.goal))
    }
}

impl Ticked for Workspace {
    fn tick(&self, beat: Beat) {
        self.records.tick(beat);
        // There can be thousands of sessions, and a tick is short.
        if beat.tick.is_multiple_of(OVERDUE_TICKS) {
            self.sessions().iter().for_each(|session| session.end_overdue());
        }
        let ticked: Vec<_> = self.ticked.lock().iter().filter_map(Weak::upgrade).collect();
        for transport in ticked {
            transport.tick(beat);
        }
    }
}
