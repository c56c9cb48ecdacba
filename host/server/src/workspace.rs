//! One workspace: its state, files, skills, commands, audit, and the sessions of its clients.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_approvals::Requests;
use scorpiox_audit::Uses;
use scorpiox_exchange::news::{CallbackNews, ResourceNews};
use scorpiox_executor::Cancel;
use scorpiox_executor::alarm::Alarm;
use scorpiox_executor::lookout::Lookout;
use scorpiox_policy::Refusal;
use scorpiox_store::Store;
use scorpiox_workspace_config::settings::Settings;
use scorpiox_workspace_config::{Operator, Site, SkillFolders, WorkspaceFolder};

use super::app::{App, Ticked};
use super::deliveries::Deliveries;
use super::list_changed::{Offered, PerList};
use super::policy_change::PolicyChange;
use super::session::Transport;
use scorpiox_capabilities::ask::Prompter;
use scorpiox_capabilities::files::Files;
use scorpiox_capabilities::notices::List;
use scorpiox_capabilities::setup::{Caller, SessionId, Setup};
use scorpiox_capabilities::web::Web;
use scorpiox_metering::records::{PolicyInForce, Records};
use scorpiox_metering::usage::Meter;
use scorpiox_runtime::{Beat, Component, Fault, Runtime};
use scorpiox_shell::Shell;
use scorpiox_tools::listing_cache::ListingCache;
use scorpiox_tools::plugins::{Offering, Plugins};
use scorpiox_tools::{Kind, Registry, Tool};

/// Interval between checks for overdue calls, in ticks.
const OVERDUE_TICKS: u64 = 64;

/// Result size limit for requests of a user, which no client truncates, in characters.
pub(super) const UNBOUND_CHARS: usize = 256 * 1024;

/// Opens a store, as the operator configures it.
pub type OpenStore = Box<dyn Fn(&Arc<Operator>) -> Arc<dyn Store> + Send + Sync>;

/// Options for opening a [`Workspace`].
pub struct WorkspaceOptions {
    /// Workspace folder.
    pub folder: WorkspaceFolder,
    /// Settings cascade for this folder.
    pub settings: Arc<Settings>,
    /// Opens the store of the tools.
    pub store: OpenStore,
    /// Opens the store of approvals, which all workspaces share.
    pub approvals: OpenStore,
    /// Site that the operator governs.
    pub site: Site,
}

/// A session as seen by its workspace.
pub(crate) trait Connected: Send + Sync {
    /// Ends overdue calls; called periodically while calls run.
    fn end_overdue(&self);
    /// Returns `true` if no call of the session runs or is queued.
    fn is_idle(&self) -> bool;
    /// Notifies the client of a callback immediately, through each channel it supports.
    fn tell_callback(&self, news: &CallbackNews<'_>);
    /// Returns `true` if the client wants list change notifications.
    fn needs_news(&self) -> bool;
    /// Notifies a client that wants it of the plugin lists that differ from the ones it knows. `seen` has the
    /// digests of everything in `offered`.
    fn saw_lists(&self, seen: PerList<u64>, offered: &Offered);
    /// Notifies a client that wants it that a list has changed.
    fn tell_list_changed(&self, list: List);
    /// Notifies a client that subscribed to it that a resource has changed.
    fn tell_resource_updated(&self, news: &ResourceNews<'_>);
}

/// An open workspace under one policy, shared by the sessions of its clients. A changed policy creates another
/// one, which shares everything that does not depend on the policy.
pub struct Workspace {
    pub(crate) app: Arc<App>,
    pub(crate) folder: WorkspaceFolder,
    pub(crate) settings: Arc<Settings>,
    pub(crate) plugins: Plugins,
    pub(crate) store: Arc<dyn Store>,
    open_store: Arc<OpenStore>,
    approvals: Requests,
    open_approvals: Arc<OpenStore>,
    pub(crate) skills: Arc<SkillFolders>,
    pub(crate) deliveries: Arc<Deliveries>,
    /// Fires callbacks.
    pub(crate) callbacks: Arc<Alarm>,
    pub(crate) listing: Arc<ListingCache>,
    pub(crate) records: Arc<Records>,
    pub(crate) in_force: Arc<PolicyInForce>,
    meter: Arc<OnceLock<Arc<Meter>>>,
    pub(super) plugin_watch: Arc<Lookout>,
    pub(super) policy_change: PolicyChange,
    operator: Arc<Operator>,
    shell: Arc<Shell>,
    web: Arc<Web>,
    files: Arc<Files>,
    prompter: Arc<Prompter>,
    sessions: Arc<Mutex<BTreeMap<SessionId, Weak<dyn Connected>>>>,
    /// Transports that are notified of each tick.
    pub(super) ticked: Arc<Mutex<Vec<Weak<dyn Transport>>>>,
}

impl App {
    /// Opens a workspace without reading any file.
    pub fn open(self: &Arc<Self>, options: WorkspaceOptions) -> Arc<Workspace> {
        let workspace = Workspace::new(Arc::clone(self), options);
        let ticked: Weak<Workspace> = Arc::downgrade(&workspace);
        self.add(ticked);
        workspace
    }
}

impl Workspace {
    fn new(app: Arc<App>, options: WorkspaceOptions) -> Arc<Self> {
        let WorkspaceOptions { folder, settings, store, approvals, site } = options;
        let skills = Arc::clone(&site.skills);
        let operator = Arc::new(Operator::new(site));
        let shell = Arc::new(Shell::new(Arc::clone(&operator)));
        let asynchronous = Arc::clone(&app.asynchronous);
        let records = Records::new(&shell, asynchronous, Arc::clone(&app.unknown_callers), &folder.path);
        Arc::new_cyclic(|workspace: &Weak<Self>| Self {
            listing: Arc::new(ListingCache::new(&operator.site().own_home, &folder.name())),
            plugins: Plugins::new(Arc::clone(&operator)),
            web: Arc::new(Web::new(Arc::clone(&operator), Arc::clone(&app.asynchronous))),
            files: Arc::new(Files::new(Arc::clone(&operator))),
            prompter: Arc::new(Prompter::new(Arc::clone(&operator))),
            in_force: records.in_force(),
            records,
            shell,
            store: store(&operator),
            open_store: Arc::new(store),
            approvals: Requests::new(approvals(&operator)),
            open_approvals: Arc::new(approvals),
            meter: Arc::default(),
            operator,
            skills,
            deliveries: Arc::default(),
            callbacks: Alarm::new({
                let workspace = workspace.clone();
                move || Some(Weak::upgrade(&workspace)?.in_force().fire_callbacks())
            }),
            plugin_watch: Arc::default(),
            policy_change: PolicyChange::default(),
            sessions: Arc::default(),
            ticked: Arc::default(),
            folder,
            settings,
            app,
        })
    }

    /// Creates the same workspace under a changed policy.
    pub(super) fn under(&self, operator: Arc<Operator>) -> Self {
        let in_force = self.records.renew(Arc::clone(&operator));
        self.with(operator, in_force, self.policy_change.renewed())
    }

    /// Creates the same workspace under restrictions of its policy. Audit lines cite the policy that has them.
    pub(super) fn restricted_to(self: &Arc<Self>, operator: Arc<Operator>) -> Self {
        self.with(operator, Arc::clone(&self.in_force), PolicyChange::of_restricted(self))
    }

    fn with(
        &self,
        operator: Arc<Operator>,
        in_force: Arc<PolicyInForce>,
        policy_change: PolicyChange,
    ) -> Self {
        Self {
            app: Arc::clone(&self.app),
            folder: self.folder.clone(),
            settings: Arc::clone(&self.settings),
            plugins: self.plugins.renewed(Arc::clone(&operator)),
            // Under an unusable policy, no store was opened.
            store: match self.operator.server_policy() {
                Ok(_) => Arc::clone(&self.store),
                Err(_) => (self.open_store)(&operator),
            },
            open_store: Arc::clone(&self.open_store),
            approvals: match self.operator.server_policy() {
                Ok(_) => self.approvals.clone(),
                Err(_) => Requests::new((self.open_approvals)(&operator)),
            },
            open_approvals: Arc::clone(&self.open_approvals),
            skills: Arc::clone(&operator.site().skills),
            deliveries: Arc::clone(&self.deliveries),
            callbacks: Arc::clone(&self.callbacks),
            listing: Arc::clone(&self.listing),
            in_force,
            records: Arc::clone(&self.records),
            meter: Arc::clone(&self.meter),
            plugin_watch: Arc::clone(&self.plugin_watch),
            policy_change,
            shell: Arc::new(self.shell.renewed(Arc::clone(&operator))),
            web: Arc::new(Web::new(Arc::clone(&operator), Arc::clone(&self.app.asynchronous))),
            files: Arc::new(Files::new(Arc::clone(&operator))),
            prompter: Arc::new(Prompter::new(Arc::clone(&operator))),
            operator,
            sessions: Arc::clone(&self.sessions),
            ticked: Arc::clone(&self.ticked),
        }
    }

    /// Locks the sessions by ID. Each session adds and removes itself.
    pub(super) fn lock_sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Weak<dyn Connected>>> {
        self.sessions.lock()
    }

    /// Returns the sessions of all connected clients.
    pub(super) fn sessions(&self) -> Vec<Arc<dyn Connected>> {
        self.lock_sessions().values().filter_map(Weak::upgrade).collect()
    }

    /// Returns `true` if no session has a running or queued call.
    pub(super) fn is_idle(&self) -> bool {
        self.sessions().iter().all(|session| session.is_idle())
    }

    /// Stops everything that runs for the workspace (callbacks, background commands, the browser) and flushes
    /// the audit. The process may exit afterwards.
    pub fn close(&self) {
        if let Some(newer) = self.policy_change.newer() {
            newer.close();
        }
        for restricted in self.policy_change.restricted() {
            restricted.web.shut_down();
            restricted.shell.shut_down();
        }
        self.callbacks.stop();
        self.plugin_watch.stop();
        self.web.shut_down();
        self.shell.shut_down();
        self.records.shut_down();
    }

    /// Returns the requests for approval, of all workspaces that share their store.
    pub fn approvals(&self) -> &Requests {
        &self.approvals
    }

    /// Returns the built-in tools.
    pub fn registry(&self) -> &Registry {
        &self.app.registry
    }

    /// Returns the component runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.app.runtime
    }

    /// Returns the tool of that name if it is switched on.
    pub fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        let tool = self.registry().get(name).cloned().or_else(|| self.plugins.get(name));
        tool.filter(|tool| self.is_on(tool))
    }

    /// Returns all tools, built-in ones first.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.registry().tools().cloned().chain(self.plugins.tools()).collect()
    }

    /// Returns the unprefixed names of plugin tools, by full name. A built-in tool that has the same name
    /// takes precedence.
    pub fn plain_names(&self) -> BTreeMap<String, String> {
        let plain = self.plugins.plain_tools().into_iter();
        let free = plain.filter(|(name, _)| self.registry().get(name).is_none());
        free.map(|(name, tool)| (tool.name.to_string(), name)).collect()
    }

    /// Returns `true` if a URI is a resource of this running plugin.
    pub fn serves(&self, plugin: &str, uri: &str) -> bool {
        let offerings = self.plugins.offerings();
        let own = |offering: &&Arc<Offering>| offering.served.plugin().as_str() == plugin;
        offerings.iter().find(own).is_some_and(|offering| offering.served.serves(uri))
    }

    /// Returns the plugin that serves a URI. The owner of the URI's scheme wins, then the plugin that was
    /// approved first.
    pub fn offering_at(&self, uri: &str) -> Option<Arc<Offering>> {
        let mut serving = self.plugins.offerings();
        serving.retain(|offering| offering.served.serves(uri));
        serving.sort_by_key(|offering| (!offering.served.owns_scheme(uri), offering.decided_at));
        serving.into_iter().next()
    }

    /// Returns `true` if settings and policy let anybody call a tool.
    pub fn is_on(&self, tool: &Tool) -> bool {
        self.is_name_on(&tool.name)
            || self.plugins.tried(&tool.name).is_some() && self.closed_by_policy(&tool.name).is_none()
    }

    /// Returns `true` if settings and policy leave a name open: a tool, a prompt, or a plugin's resources.
    pub(crate) fn is_name_on(&self, name: &str) -> bool {
        let is_set = self.settings.tools_enabled() && self.settings.tool_enabled(name);
        is_set && self.closed_by_policy(name).is_none()
    }

    /// Returns why the policy closes a tool to everybody. Returns `None` under a policy that cannot be used:
    /// each call reports that itself.
    pub fn closed_by_policy(&self, tool: &str) -> Option<Refusal> {
        if !self.operator.has_policy_file() {
            // The built-in policy closes no tool.
            return None;
        }
        let original = self.plugins.authors_name(tool);
        self.operator.policy().ok()?.tools.check_tool_as(tool, original.as_deref()).err()
    }

    /// Returns `true` if a tool of that name exists, whether or not it is switched on.
    pub fn knows(&self, tool: &str) -> bool {
        self.registry().get(tool).is_some() || self.plugins.get(tool).is_some()
    }

    /// Returns the app as an `Arc`, for opening another workspace in it.
    pub fn shared_app(&self) -> &Arc<App> {
        &self.app
    }

    /// Returns the process-wide app.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Returns the store of the tools.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Sets the meter that admits calls of principals. Only the first call has an effect.
    pub fn metered_by(&self, meter: Arc<Meter>) {
        let _ = self.meter.set(meter);
    }

    pub(crate) fn meter(&self) -> Option<&Meter> {
        self.meter.get().map(Arc::as_ref)
    }

    /// Returns the call records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Returns the skill folders.
    pub fn skills(&self) -> &SkillFolders {
        &self.skills
    }

    /// Returns the approved plugins.
    pub fn plugins(&self) -> &Plugins {
        &self.plugins
    }

    /// Returns the operator, whose policy applies.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Returns a clone of the operator's `Arc`.
    pub fn operator_shared(&self) -> Arc<Operator> {
        Arc::clone(&self.operator)
    }

    /// Returns the shell that runs commands.
    pub fn shell(&self) -> &Shell {
        &self.shell
    }

    /// Returns access to web pages.
    pub fn web(&self) -> &Web {
        &self.web
    }

    /// Returns the prompter, which asks the user outside of the client.
    pub fn prompter(&self) -> &Arc<Prompter> {
        &self.prompter
    }

    /// Returns the component behind a built-in tool.
    pub fn component(&self, tool: &str) -> Option<&Arc<Component>> {
        match &self.registry().get(tool)?.kind {
            Kind::Wasm { component, .. } => Some(component),
            Kind::Native(_) | Kind::Plugin { .. } => None,
        }
    }

    /// Creates the setup of a call that `cancel` stops.
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

    /// Creates the setup of a call that the server makes itself.
    pub fn own_setup(&self) -> Setup {
        self.setup(Cancel::default(), Arc::new(|| {}))
    }

    /// Returns the goal of the workspace's active plan. The shell runs read-only while a plan is active. On
    /// an error the state is unknown, and callers that depend on it must refuse.
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
        // Checks for overdue calls are rare because there can be thousands of sessions and a tick is short.
        if beat.tick.is_multiple_of(OVERDUE_TICKS) {
            self.sessions().iter().for_each(|session| session.end_overdue());
        }
        let ticked: Vec<_> = self.ticked.lock().iter().filter_map(Weak::upgrade).collect();
        for transport in ticked {
            transport.tick(beat);
        }
    }
}
