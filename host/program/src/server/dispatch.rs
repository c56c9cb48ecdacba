//! From a request to its handler: which methods there are, in which revisions, and
//! which of them are work for a thread of their own.

use std::borrow::Cow;
use std::sync::Arc;

use scorpiox_audit::{Outcome, Uses};
use scorpiox_executor::Cancel;
use scorpiox_rpc::{Id, Members};

use super::context::Context;
use super::inflight::Ticket;
use super::progress::Progress;
use super::session::Facts;
use super::{handlers, tool_call};
use crate::mcp::{ClientTraits, Params, RequestMeta, Revision, RpcError, prefixed};
use crate::runtime::Setup;
use crate::tools::{Failure, Tool};

/// A request that was read and belongs to a revision.
pub(crate) struct Request<'a> {
    pub id: Id<'a>,
    pub revision: Revision,
    pub params: Params<'a>,
    pub meta: RequestMeta<'a>,
    /// What is known of the client by its name.
    pub traits: &'static ClientTraits,
    /// It calls a tool, which is recorded also when it does not come to that.
    pub is_call: bool,
    /// What else is recorded: its method.
    pub recorded_as: Option<&'static str>,
}

/// What a handler works with.
pub(crate) struct Scope<'a> {
    pub context: &'a Context,
    pub request: &'a Request<'a>,
    pub ticket: &'a Ticket,
    pub progress: &'a Progress,
    /// Told of what the request touches, by whatever way.
    pub uses: Uses,
}

impl Scope<'_> {
    /// How a component is set up that runs for this request.
    pub(crate) fn setup(&self) -> Setup {
        self.setup_for(self.uses.clone(), Arc::new(|| {}))
    }

    /// The same, telling others of what it touches, and of waiting.
    pub(crate) fn setup_for(&self, uses: Uses, on_wait: Arc<dyn Fn() + Send + Sync>) -> Setup {
        let setup = self.context.setup(self.cancel().clone(), on_wait);
        Setup { uses, prefix: self.prefix().map(Arc::from), ..setup }
    }

    /// Set when the request must stop.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.ticket.cancel
    }

    /// What this client is told before the names of tools.
    pub(crate) fn prefix(&self) -> Option<&str> {
        prefix(self.context, self.request)
    }

    /// A tool's name, as this client knows it.
    pub(crate) fn name<'n>(&self, tool: &'n str) -> Cow<'n, str> {
        prefixed(self.prefix(), tool)
    }
}

/// What the client of a request is told before the names of tools: what the user set, or what it
/// is known to need.
pub(crate) fn prefix<'a>(context: &'a Context, request: &Request<'_>) -> Option<&'a str> {
    context.settings.tool_prefix().or(request.traits.prefix)
}

/// The tool that a request means, if it is switched on. A client that is told a prefix may leave it out.
pub(crate) fn tool(context: &Context, request: &Request<'_>, name: &str) -> Option<Arc<Tool>> {
    let bare = || name.strip_prefix(prefix(context, request)?);
    context.tool(name).or_else(|| context.tool(bare()?))
}

/// A handler's answer: a whole line, or an error.
pub(crate) type Answer = Result<Vec<u8>, RpcError>;

/// Answered at once by the thread that reads.
pub(crate) type Quick = fn(&Context, &Request<'_>) -> Answer;

/// May take long.
pub(crate) type Slow = fn(&Scope<'_>) -> Answer;

/// Who handles a request.
#[derive(Clone, Copy)]
pub(crate) enum Route {
    Quick(Quick),
    Slow(Slow),
    /// Stays open; see [`super::subscriptions`].
    Listen,
}

/// The handler of a method, where the revision has it.
pub(crate) fn route(method: &str, revision: Revision) -> Option<Route> {
    let features = revision.features();
    let handshake = features.handshake;
    let route = match method {
        "initialize" if handshake => Route::Quick(handlers::lifecycle::initialize),
        "ping" if handshake => Route::Quick(handlers::lifecycle::ping),
        "logging/setLevel" if handshake => Route::Quick(handlers::lifecycle::set_level),
        "server/discover" if !handshake => Route::Quick(handlers::lifecycle::discover),
        "subscriptions/listen" if !handshake => Route::Listen,

        "tools/list" => Route::Slow(handlers::listing::list),
        CALL => Route::Slow(tool_call::call),

        "prompts/list" => Route::Slow(handlers::prompts::list),
        "prompts/get" => Route::Slow(handlers::prompts::get),

        "skills/list" if features.extensions => Route::Slow(handlers::skills::list),
        "skills/get" if features.extensions => Route::Slow(handlers::skills::get),
        "resources/list" if features.extensions => Route::Slow(handlers::skills::resources),
        "resources/templates/list" if features.extensions => Route::Quick(handlers::skills::templates),
        "resources/read" if features.extensions => Route::Slow(handlers::skills::read),
        "resources/directory/read" if features.extensions => Route::Slow(handlers::skills::directory),
        _ => return None,
    };
    Some(route)
}

/// The method that calls a tool.
pub(crate) const CALL: &str = "tools/call";

/// Runs a handler; of what is no call but reads what skills hold, a line is left here.
pub(crate) fn handle(scope: &Scope<'_>, handler: Slow) -> Answer {
    let Some(method) = scope.request.recorded_as else { return handler(scope) };
    let recording = scope.context.records.begin_other(scope.request, method, &scope.uses);
    if let Err(Failure(refusal)) = recording.permit() {
        let outcome = recording.failure();
        // It did not run, so that nothing is withheld.
        let _ = recording.finish(outcome);
        return Err(RpcError::internal(refusal));
    }
    let answer = handler(scope);
    let outcome = match &answer {
        Ok(_) => Outcome::Ok,
        Err(_) => tool_call::stopped(scope).unwrap_or(Outcome::Error),
    };
    recording.finish(outcome).map_err(|Failure(refusal)| RpcError::internal(refusal))?;
    answer
}

/// Methods beside calls that give what skills hold. The list of tools has their descriptions alone,
/// and every client asks for it: it leaves no line.
const RECORDED: [&str; 7] = [
    "prompts/list",
    "prompts/get",
    "skills/list",
    "skills/get",
    "resources/list",
    "resources/read",
    "resources/directory/read",
];

/// Methods that belong to the era without a handshake even when the request does not say so.
const MODERN_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

/// Reads a request and finds the revision it belongs to.
///
/// Both eras live in one process: a request that carries the members of the newest
/// revision is served under it; any other belongs to the handshake.
pub(crate) fn read<'a>(
    id: Id<'a>,
    method: &str,
    params: Option<Members<'a>>,
    facts: Facts,
) -> Result<Request<'a>, RpcError> {
    let params = Params::new(params)?;
    let meta = RequestMeta::parse(&params)?;
    let modern = meta.is_modern() && method != "initialize" || MODERN_METHODS.contains(&method);
    let revision = match (modern, facts.revision) {
        (true, _) => claimed_revision(&meta)?,
        (false, Some(revision)) => revision,
        (false, None) if ["initialize", "ping"].contains(&method) => Revision::NEWEST_HANDSHAKE,
        (false, None) => {
            return Err(RpcError::invalid_request(format!(
                "{method} came before initialize; send initialize first, or carry {} in _meta",
                RequestMeta::REQUIRED.join(" and ")
            )));
        }
    };
    let traits = if modern { ClientTraits::introduced(meta.client_info) } else { facts.traits };
    let recorded_as = RECORDED.into_iter().find(|recorded| *recorded == method);
    Ok(Request { id, revision, params, meta, traits, is_call: method == CALL, recorded_as })
}

/// The revision that a request without a handshake claims.
fn claimed_revision(meta: &RequestMeta<'_>) -> Result<Revision, RpcError> {
    let (Some(version), Some(_)) = (&meta.protocol_version, &meta.client_capabilities) else {
        return Err(RpcError::invalid_params(format!(
            "params._meta must carry {}",
            RequestMeta::REQUIRED.join(" and ")
        )));
    };
    let modern = Revision::all().filter(|revision| !revision.features().handshake);
    let supported: Vec<_> = modern.map(Revision::name).collect();
    Revision::named(version)
        .filter(|revision| !revision.features().handshake)
        .ok_or_else(|| RpcError::unsupported_version(version, &supported))
}
