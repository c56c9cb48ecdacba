//! What belongs to one client's session: what is known of the client, its requests in flight, its
//! subscriptions, what it was asked, and what it was told.
//!
//! Invariant: ids are a session's own. Two clients that use the same id, or guess one of the other's,
//! cannot meet: nothing that is found by an id lies outside of a session.

mod access;
mod connected;
mod facts;
mod names;
mod offers;

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use scorpiox_access::Principal;
use scorpiox_audit::{ClientName, Uses};
use serde_json::value::RawValue;

use super::inflight::InFlight;
use super::list_changed::KnownLists;
use super::outgoing::Outgoing;
use super::reply::Reply;
use super::request::{CALL, Request};
use super::subscriptions::Subscriptions;
use super::tool_call::INVALID;
use super::workspace::Workspace;
pub use facts::Facts;
use names::Names;
use scorpiox_capabilities::setup::SessionId;
use scorpiox_exchange::watched::Watched;
use scorpiox_records::Recording;
use scorpiox_runtime::{Beat, Ticker};
use scorpiox_seal::Seal;
use scorpiox_tools::Tool;

/// Who reads the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A client's model. Its results bring the messages of callbacks along.
    Model,
    /// A person at the command line, who gets data, too, and waits for as long as it takes. Messages
    /// stay for the client they are for.
    Person,
}

/// What a session needs of the transport that made it.
pub trait Transport: Send + Sync {
    /// Called while calls run, with each tick, where it asked for that.
    fn tick(self: Arc<Self>, _beat: Beat) {}
    /// Whether no call of the session runs or waits for its turn.
    fn is_idle(&self) -> bool;
}

/// What is begun as a [`Session`].
pub struct SessionOptions {
    /// Who reads the results.
    pub audience: Audience,
    /// Where the client is told what it did not ask for.
    pub notices: Reply,
    /// By what it is known again that a client brings back.
    pub seal: Arc<Seal>,
    /// Who uses the client, where the transport knows: what it may call depends on that.
    pub principal: Option<Arc<Principal>>,
}

/// One client's session.
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) audience: Audience,
    /// Where the client is told what it did not ask for.
    pub(crate) notices: Reply,
    pub(crate) inflight: InFlight,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) outgoing: Arc<Outgoing>,
    pub(crate) list_changed: KnownLists,
    /// Resources that the client subscribed to, in the revisions where that is a request.
    pub(crate) watched: Watched,
    pub(crate) seal: Arc<Seal>,
    pub(super) principal: Option<Arc<Principal>>,
    facts: Mutex<Facts>,
    names: Names,
    transport: OnceLock<Weak<dyn Transport>>,
}

impl Workspace {
    /// Begins the session of a client.
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
    /// The workspace that the client works on.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Ticks while calls run.
    pub fn ticker(&self) -> Arc<Ticker> {
        Arc::clone(&self.workspace.app.ticker)
    }

    /// Says which transport carries the session. The first one stays.
    pub fn carried_by<T: Transport + 'static>(&self, transport: Weak<T>) {
        let _ = self.transport.set(transport);
    }

    /// Tells the transport of each tick.
    pub fn ticks<T: Transport + 'static>(&self, transport: Weak<T>) {
        let mut ticked = self.workspace.ticked.lock();
        ticked.retain(|other| other.strong_count() > 0);
        ticked.push(transport);
    }

    fn transport(&self) -> Option<Arc<dyn Transport>> {
        self.transport.get()?.upgrade()
    }

    /// What is known of the client.
    pub fn facts(&self) -> Facts {
        *self.facts.lock()
    }

    /// Changes what is known of the client.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut self.facts.lock());
    }

    /// Takes who the client is from the handshake.
    pub fn introduce(&self, client: Option<&RawValue>) {
        self.workspace.records.introduced(self.names.introduce(client));
    }

    /// Who makes a request, as it says itself.
    fn client_name(&self, request: &Request<'_>) -> Option<Arc<ClientName>> {
        self.names.of(request, |name| self.workspace.records.introduced(Some(Arc::clone(name))))
    }

    /// A call begins.
    pub fn begin_call<'a>(
        &'a self,
        request: &Request<'_>,
        tool: &'a Tool,
        arguments: &'a str,
        uses: &Uses,
    ) -> Recording<'a> {
        self.workspace.records.begin(self.client_name(request), tool, arguments, uses)
    }

    /// A request begins that calls no tool, and is recorded by its method.
    pub fn begin_method(&self, request: &Request<'_>, method: &'static str, uses: &Uses) -> Recording<'_> {
        self.workspace.records.begin_method(self.client_name(request), method, uses)
    }

    /// A call begins that names no tool that there is, by the name that its line has.
    pub(crate) fn begin_unknown<'a>(
        &'a self,
        request: &Request<'_>,
        name: &str,
        arguments: Option<&'a str>,
        uses: &Uses,
    ) -> Recording<'a> {
        self.workspace.records.begin_unknown(self.client_name(request), name, arguments, uses)
    }

    /// Records a call that is refused: it names no tool that there is, or cannot be read.
    pub fn refuse_call(
        &self,
        request: Option<&Request<'_>>,
        name: &str,
        arguments: Option<&str>,
        why: &'static str,
        uses: &Uses,
    ) {
        let client = request.and_then(|request| self.client_name(request));
        // Nobody waits for how it went.
        let _ = self.workspace.records.begin_unknown(client, name, arguments, uses).refuse(why, None, |_| ());
    }

    /// Records a call that its transport refuses: nothing of it but the name is looked at.
    pub fn refuse_unread(&self, name: Option<&str>) {
        let uses = Uses::default();
        let name = name.unwrap_or(CALL);
        let recording = self.workspace.records.begin_unknown(self.names.known(), name, None, &uses);
        let _ = recording.refuse(INVALID, None, |_| ());
    }

    /// Whether results of built-in tools carry data beside their text.
    pub fn gives_data(&self) -> bool {
        self.audience == Audience::Person || self.workspace.settings.structured()
    }

    /// How long a client without word of a call may be left waiting for it.
    pub fn answer_within(&self) -> Option<Duration> {
        self.workspace.settings.answer_within().filter(|_| self.audience == Audience::Model)
    }

    /// Whether the client takes notifications of its own accord: it has shaken hands and is ready.
    pub fn takes_notifications(&self) -> bool {
        let facts = self.facts();
        facts.ready && facts.revision.is_some_and(|revision| revision.features().unsolicited)
    }

    /// Lets the plugins be watched, where the client wants to know of changes and can have missed some.
    pub fn follow_list_changes(&self) {
        if self.list_changed.is_stirred() {
            self.workspace.follow_plugins();
        }
    }

    /// Cancels all calls: the client is gone, and wants no answer any more.
    pub fn abandon(&self) {
        self.inflight.abandon_all();
        self.subscriptions.sweep(&self.inflight);
    }

    /// Whether no request of it is in flight.
    pub fn is_quiet(&self) -> bool {
        self.inflight.is_empty()
    }

    /// Whether no request of it is worked on: subscriptions only wait.
    pub fn is_idle(&self) -> bool {
        self.inflight.is_idle()
    }

    /// Stops all calls: the session ends.
    pub fn stop_calls(&self) {
        self.inflight.stop_all();
    }

    /// Answers what is still open, and leaves the workspace: the last word of the session.
    pub fn end(&self) {
        self.subscriptions.close(&self.inflight);
        self.workspace.runtime().end_session(self.id);
        self.workspace.lock_sessions().remove(&self.id);
    }
}
