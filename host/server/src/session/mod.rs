//! State of one client's session: facts about the client, its requests in flight, its subscriptions, and the
//! requests and notifications sent to it.
//!
//! Invariant: request IDs are local to a session. Clients that use the same ID, or guess another client's,
//! cannot interfere, because nothing outside of a session is looked up by ID.

mod access;
mod connected;
mod facts;
mod names;
mod offers;

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use scorpiox_audit::{ClientName, Uses};
use scorpiox_policy::Circumstances;
use scorpiox_policy::access::Principal;
use serde_json::value::RawValue;

use super::dispatch::recorded;
use super::inflight::InFlight;
use super::list_changed::KnownLists;
use super::outgoing::Outgoing;
use super::policy_change::Sender;
use super::read_before;
use super::reply::Reply;
use super::request::{CALL, Request};
use super::subscriptions::Subscriptions;
use super::tool_call::INVALID;
use super::workspace::Workspace;
pub(crate) use access::Access;
pub use facts::Facts;
use names::Names;
use scorpiox_capabilities::setup::SessionId;
use scorpiox_exchange::seal::Seal;
use scorpiox_exchange::watched::Watched;
use scorpiox_metering::records::Recording;
use scorpiox_runtime::{Beat, Ticker};
use scorpiox_tools::Tool;
use scorpiox_workspace_config::{Operator, OperatorError};

/// Reader of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A client's model. Its results carry callback messages.
    Model,
    /// A user at the command line, who also gets data and waits without a deadline. Callback messages stay in
    /// the store for their client.
    Person,
}

/// Services that a session needs from its transport.
pub trait Transport: Send + Sync {
    /// Called on each tick while calls run, if the transport has registered for ticks.
    fn tick(self: Arc<Self>, _beat: Beat) {}
    /// Returns `true` if no call of the session runs or is queued.
    fn is_idle(&self) -> bool;
}

/// Options for starting a [`Session`].
pub struct SessionOptions {
    /// Reader of the results.
    pub audience: Audience,
    /// Channel for unsolicited notifications to the client.
    pub notices: Reply,
    /// Seal that authenticates state which a client sends back.
    pub seal: Arc<Seal>,
    /// Principal that uses the client, if the transport knows it. It decides which tools the client may call.
    pub principal: Option<Arc<Principal>>,
}

/// The session of one client.
pub struct Session {
    pub(crate) id: SessionId,
    /// Workspace under the policy of the first request. It leads to the current one.
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) audience: Audience,
    /// Channel for unsolicited notifications to the client.
    pub(crate) notices: Reply,
    pub(crate) inflight: InFlight,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) outgoing: Arc<Outgoing>,
    pub(crate) list_changed: KnownLists,
    /// Resources that the client subscribed to, in revisions with a subscribe request.
    pub(crate) watched: Watched,
    pub(crate) seal: Arc<Seal>,
    pub(super) principal: Option<Arc<Principal>>,
    facts: Mutex<Facts>,
    names: Names,
    transport: OnceLock<Weak<dyn Transport>>,
}

impl Workspace {
    /// Starts the session of a client.
    pub fn connect(self: &Arc<Self>, options: SessionOptions) -> Arc<Session> {
        let SessionOptions { audience, notices, seal, principal } = options;
        let session = Arc::new(Session {
            id: SessionId::unique(),
            workspace: Arc::clone(self),
            audience,
            notices,
            inflight: InFlight::default(),
            subscriptions: Subscriptions::default(),
            outgoing: Arc::default(),
            list_changed: KnownLists::default(),
            watched: Watched::default(),
            seal,
            facts: Mutex::default(),
            names: Names::of_principal(principal.as_deref()),
            principal,
            transport: OnceLock::new(),
        });
        let connected: Weak<Session> = Arc::downgrade(&session);
        self.lock_sessions().insert(session.id, connected);
        session
    }
}

impl Session {
    /// Returns the workspace of the client under the current policy.
    pub fn workspace(&self) -> Arc<Workspace> {
        self.workspace.current()
    }

    /// Returns the ticker, which ticks while calls run.
    pub fn ticker(&self) -> Arc<Ticker> {
        Arc::clone(&self.workspace.app.ticker)
    }

    /// Sets the transport of the session. Only the first call has an effect.
    pub fn carried_by<T: Transport + 'static>(&self, transport: Weak<T>) {
        let _ = self.transport.set(transport);
    }

    /// Registers the transport for ticks.
    pub fn ticks<T: Transport + 'static>(&self, transport: Weak<T>) {
        let mut ticked = self.workspace.ticked.lock();
        ticked.retain(|other| other.strong_count() > 0);
        ticked.push(transport);
    }

    fn transport(&self) -> Option<Arc<dyn Transport>> {
        self.transport.get()?.upgrade()
    }

    /// Returns the known facts about the client.
    pub fn facts(&self) -> Facts {
        *self.facts.lock()
    }

    /// Updates the known facts about the client.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut self.facts.lock());
    }

    /// Records the client's name from the handshake.
    pub fn introduce(&self, client: Option<&RawValue>) {
        self.workspace.records.introduced(self.names.introduce(client));
    }

    /// Returns the client's name as the request states it.
    pub(crate) fn client_name(&self, request: &Request<'_>) -> Option<Arc<ClientName>> {
        self.names.of(request, |name| self.workspace.records.introduced(Some(Arc::clone(name))))
    }

    /// Returns the sender of a request.
    pub(crate) fn sender(&self, request: &Request<'_>) -> Sender {
        let client = self.client_name(request).and_then(|name| name.name.clone());
        Sender { client, principal: self.principal.clone() }
    }

    /// Returns the circumstances of a request under an operator's policy.
    pub(crate) fn circumstances(
        &self,
        request: &Request<'_>,
        operator: &Operator,
    ) -> Result<Circumstances, Arc<OperatorError>> {
        let Sender { client, principal } = self.sender(request);
        let circumstances = operator.circumstances(client, principal)?;
        Ok(Circumstances { read_before: read_before::known(self, request, operator)?, ..circumstances })
    }

    /// Starts recording a tool call.
    pub fn begin_call<'a>(
        &'a self,
        request: &Request<'_>,
        tool: &'a Tool,
        arguments: &'a str,
        uses: &Uses,
    ) -> Recording<'a> {
        self.workspace.records.begin(self.client_name(request), tool, arguments, uses)
    }

    /// Starts recording a request by its method.
    pub fn begin_method(&self, request: &Request<'_>, method: &'static str, uses: &Uses) -> Recording<'_> {
        self.workspace.records.begin_method(self.client_name(request), method, uses)
    }

    /// Starts recording a call of an unknown tool under the given name.
    pub(crate) fn begin_unknown<'a>(
        &'a self,
        request: &Request<'_>,
        name: &str,
        arguments: Option<&'a str>,
        uses: &Uses,
    ) -> Recording<'a> {
        self.workspace.records.begin_unknown(self.client_name(request), name, arguments, uses)
    }

    /// Records a refused call: its tool is unknown, or it cannot be parsed.
    pub fn refuse_call(
        &self,
        request: Option<&Request<'_>>,
        name: &str,
        arguments: Option<&str>,
        why: &'static str,
        uses: &Uses,
    ) {
        let client = request.and_then(|request| self.client_name(request));
        // The result of recording does not matter here.
        let _ = self.workspace.records.begin_unknown(client, name, arguments, uses).refuse(why, None, |_| ());
    }

    /// Records a request that its transport refuses, of which only the method and the name are read. Requests that
    /// are not recorded when they run leave no line.
    pub fn refuse_unread(&self, method: &str, name: Option<&str>) {
        let uses = Uses::default();
        if let Some(method) = recorded(method) {
            let recording = self.workspace.records.begin_method(self.names.known(), method, &uses);
            let _ = recording.refuse(INVALID, None, |_| ());
        }
        if method != CALL {
            return;
        }
        let name = name.unwrap_or(CALL);
        let recording = self.workspace.records.begin_unknown(self.names.known(), name, None, &uses);
        let _ = recording.refuse(INVALID, None, |_| ());
    }

    /// Returns `true` if results of built-in tools carry structured data in addition to their text.
    pub fn gives_data(&self) -> bool {
        self.audience == Audience::Person || self.workspace.settings.structured()
    }

    /// Returns the maximum time to an answer for a client without progress notifications.
    pub fn answer_within(&self) -> Option<Duration> {
        self.workspace.settings.answer_within().filter(|_| self.audience == Audience::Model)
    }

    /// Returns `true` if the client accepts unsolicited notifications: its handshake is complete, and it is
    /// ready.
    pub fn takes_notifications(&self) -> bool {
        let facts = self.facts();
        facts.ready && facts.revision.is_some_and(|revision| revision.features().unsolicited)
    }

    /// Starts the plugin watch if the client may have missed a change.
    pub fn follow_list_changes(&self) {
        if self.list_changed.is_stirred() {
            self.workspace.follow_plugins();
        }
    }

    /// Cancels all calls, because the client has disconnected and expects no answers.
    pub fn abandon(&self) {
        self.inflight.abandon_all();
        self.subscriptions.sweep(&self.inflight);
    }

    /// Returns `true` if no request of the session is in flight.
    pub fn is_quiet(&self) -> bool {
        self.inflight.is_empty()
    }

    /// Returns `true` if no request of the session is being processed. Open subscriptions do not count.
    pub fn is_idle(&self) -> bool {
        self.inflight.is_idle()
    }

    /// Stops all calls, because the session ends.
    pub fn stop_calls(&self) {
        self.inflight.stop_all();
    }

    /// Answers the requests that are still open and leaves the workspace. Called last.
    pub fn end(&self) {
        self.subscriptions.close(&self.inflight);
        self.workspace.runtime().end_session(self.id);
        self.workspace.lock_sessions().remove(&self.id);
    }
}
