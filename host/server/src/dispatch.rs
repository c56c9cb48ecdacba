//! Maps a request to its handler: the methods, the revisions that have them, and which of them run on a
//! worker thread.

use scorpiox_audit::Outcome;
use scorpiox_mcp::jsonrpc::{Id, Members};

use super::request::{CALL, Request};
use super::scope::{Answer, Scope};
use super::session::{Facts, Session};
use super::{handlers, tool_call};
use scorpiox_mcp::{ClientTraits, Params, RequestMeta, Revision, RpcError};

/// A handler that the reading thread runs immediately.
pub(crate) type Quick = fn(&Session, &Request<'_>) -> Answer;

/// A handler that may take long.
pub(crate) type Slow = fn(&Scope<'_>) -> Answer;

/// Handler of a request.
#[derive(Clone, Copy)]
pub(crate) enum Route {
    Quick(Quick),
    Slow(Slow),
    /// Stays open; see [`super::subscriptions`].
    Listen,
}

/// Returns the handler of a method if the revision has it.
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
        "resources/list" => Route::Slow(handlers::resources::list),
        "resources/templates/list" => Route::Slow(handlers::resources::templates),
        "resources/read" => Route::Slow(handlers::resources::read),
        "resources/subscribe" if handshake => Route::Slow(handlers::resources::subscribe),
        "resources/unsubscribe" if handshake => Route::Slow(handlers::resources::unsubscribe),
        "completion/complete" => Route::Slow(handlers::resources::complete),
        "resources/directory/read" if features.extensions => Route::Slow(handlers::skills::directory),
        _ => return None,
    };
    Some(route)
}

/// Runs a handler. Records requests other than tool calls that read skills or plugin offerings.
pub(crate) fn handle(scope: &Scope<'_>, handler: Slow) -> Answer {
    let Some(method) = scope.request.recorded_as else { return handler(scope) };
    let recording = scope.session.begin_method(scope.request, method, &scope.uses);
    let mut in_flight = match scope.access().admit(method) {
        Ok(admitted) => admitted,
        Err(exceeded) => return Err(exceeded.answer(recording, method, scope.reply)),
    };
    if let Err(refusal) = recording.permit(scope.reply) {
        // The handler did not run, so there is no result to withhold if recording fails.
        let _ = recording.finish(refusal.outcome());
        return Err(refusal.into());
    }
    let answer = handler(scope);
    let outcome = match &answer {
        Ok(_) => Outcome::Ok,
        Err(_) => tool_call::stopped(scope).unwrap_or(Outcome::Error),
    };
    in_flight.ended(&outcome);
    recording.finish(outcome)?;
    answer
}

/// Recorded methods other than `tools/call`, which return skill contents and plugin offerings. `tools/list`
/// returns only descriptions, and every client calls it, so it is not recorded.
const RECORDED: [&str; 9] = [
    "prompts/list",
    "prompts/get",
    "skills/list",
    "skills/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/directory/read",
    "completion/complete",
];

/// Returns the name of a method in the audit, if requests with it are recorded. `tools/call` has the name of the tool.
pub fn recorded(method: &str) -> Option<&'static str> {
    RECORDED.into_iter().find(|recorded| *recorded == method)
}

/// Methods that belong to the revisions without a handshake even if the request does not say so.
const MODERN_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

/// Parses a request and determines its revision.
///
/// A process serves both protocol eras. A request that carries the members of the newest revision is served
/// under it; any other request belongs to the handshake.
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
    let recorded_as = recorded(method);
    Ok(Request { id, revision, params, meta, traits, is_call: method == CALL, recorded_as })
}

/// Returns the revision that a request without a handshake claims.
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
