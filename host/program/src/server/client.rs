//! What a tool may ask of the client while it runs: to show a form to the person.
//!
//! In the revisions with a handshake the form is a request of its own. In the newest, the call
//! ends with a result that has the form in it, and the client calls again with the answer.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use scorpiox_audit::Uses;
use scorpiox_rpc::reply;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::counterpart::{OtherSide, Person};
use super::dispatch::{Answer, Scope};
use super::outgoing::Unanswered as NoAnswer;
use crate::mcp::result::Surrounded;
use crate::mcp::{Params, Revision, RpcError};

/// The name of the only thing that is asked at a time.
const FORM: &str = "form";

/// The client of one call.
pub struct Client<'a> {
    scope: Option<&'a Scope<'a>>,
    way: Way<'a>,
    /// What the client is to be asked before it calls again.
    later: OnceLock<Form>,
}

/// How this client shows a form.
enum Way<'a> {
    /// Not at all.
    None,
    /// When it is asked to.
    Request,
    /// When it is told so by the result. It may have done that already.
    Result { given: Option<Shown>, name: &'a str, arguments: &'a str },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Form {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    message: String,
    requested_schema: Value,
}

impl Form {
    pub(super) fn new(revision: Revision, message: String, schema: Value) -> Self {
        let mode = revision.features().form_mode.then_some("form");
        Self { mode, message, requested_schema: schema }
    }
}

/// A form that was shown, or that a client says it has shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// An object with `action` and `content`.
    pub answer: Value,
    /// How long that took.
    pub after: Duration,
}

/// Why there is no answer to a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The client shows it and calls again. What the tool returns now reaches nobody.
    #[error("it asks later")]
    Later,
    /// The call is to stop.
    #[error("the call was cancelled")]
    Cancelled,
    /// The client answered in the person's place: nobody reads and declines so soon.
    #[error("it declined after {} ms, before anybody could read the questions", .0.as_millis())]
    NoPerson(Duration),
    /// The client refused, or said what is no answer.
    #[error("{0}")]
    Failed(String),
}

impl From<NoAnswer> for Unanswered {
    fn from(error: NoAnswer) -> Self {
        match error {
            NoAnswer::Cancelled => Self::Cancelled,
            NoAnswer::Failed(why) => Self::Failed(why),
        }
    }
}

impl<'a> Client<'a> {
    /// The client of a call of the tool `name`.
    pub(crate) fn of(scope: &'a Scope<'a>, name: &'a str, arguments: &'a str) -> Result<Self, RpcError> {
        let request = scope.request;
        let way = if request.revision.features().handshake {
            if scope.context.session.facts().elicits { Way::Request } else { Way::None }
        } else if request.meta.client_capabilities.as_ref().is_some_and(declares_forms) {
            let age = |mark: &str| scope.context.seal.age(mark, name, arguments);
            Way::Result { given: given(&request.params, age)?, name, arguments }
        } else {
            Way::None
        };
        Ok(Self { scope: Some(scope), way, later: OnceLock::new() })
    }

    /// Nobody who could be asked.
    pub fn none() -> Self {
        Self { scope: None, way: Way::None, later: OnceLock::new() }
    }

    /// The revision that forms are written for; `None` where the client shows none.
    pub fn forms(&self) -> Option<&'static str> {
        let scope = self.scope.filter(|_| !matches!(self.way, Way::None))?;
        Some(scope.request.revision.name())
    }

    /// Shows a form.
    pub fn show(&self, message: String, schema: Value) -> Result<Shown, Unanswered> {
        let nobody = || Unanswered::Failed("the client shows no forms".to_owned());
        let scope = self.scope.ok_or_else(nobody)?;
        let form = Form::new(scope.request.revision, message, schema);
        match &self.way {
            Way::None => Err(nobody()),
            Way::Result { given: Some(given), .. } => Ok(given.clone()),
            Way::Result { given: None, .. } => {
                let _ = self.later.set(form);
                Err(Unanswered::Later)
            }
            Way::Request => {
                let news = || scope.progress.report("Waiting for the person's answer");
                let begun = Instant::now();
                let asked = scope.context.outgoing.ask(
                    &scope.context.output,
                    "elicitation/create",
                    &form,
                    scope.cancel(),
                    &news,
                );
                asked.map(|answer| Shown { answer, after: begun.elapsed() }).map_err(Into::into)
            }
        }
    }

    /// The same for a component, which outlives no call either but cannot borrow from one.
    pub(crate) fn other_side(&self, uses: &Uses) -> Option<Arc<OtherSide>> {
        let scope = self.scope?;
        let (context, facts) = (scope.context, scope.context.session.facts());
        let person = match &self.way {
            Way::None => Person::None,
            Way::Request => Person::Request,
            Way::Result { given, .. } => Person::Result(given.clone()),
        };
        Some(Arc::new(OtherSide {
            revision: scope.request.revision,
            person: Mutex::new(person),
            later: OnceLock::new(),
            samples: scope.request.revision.features().handshake && facts.samples,
            model: context.settings.model().to_owned(),
            outgoing: Arc::clone(&context.outgoing),
            output: Arc::clone(&context.output),
            desk: Arc::clone(context.desk()),
            cancel: scope.cancel().clone(),
            progress: scope.progress.clone(),
            uses: uses.clone(),
        }))
    }

    /// Takes over what a component wants to be asked.
    pub(crate) fn take_later(&self, other: &OtherSide) {
        if let Some(form) = other.later.get() {
            let _ = self.later.set(form.clone());
        }
    }

    /// The answer to a call that has to be made again, if it has to.
    pub(crate) fn input_required(&self) -> Option<Answer> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct InputRequired<'a> {
            input_requests: Value,
            request_state: &'a str,
        }
        let (Some(form), Way::Result { name, arguments, .. }, Some(scope)) =
            (self.later.get(), &self.way, self.scope)
        else {
            return None;
        };
        let seal = scope.context.seal.of(name, arguments);
        let request = json!({"method": "elicitation/create", "params": form});
        let body = InputRequired { input_requests: json!({ FORM: request }), request_state: &seal };
        let result = Surrounded::input_required(scope.request.revision, body);
        Some(Ok(reply::result(&scope.request.id, &result)))
    }
}

/// Whether capabilities of a client say that it shows forms: an empty declaration means just
/// that.
pub(crate) fn declares_forms(capabilities: &Params<'_>) -> bool {
    let declared = capabilities.object("elicitation").ok().flatten();
    declared.is_some_and(|declared| declared.raw("form").is_some() || declared.raw("url").is_none())
}

/// The answer that comes with a call which was made again. `age` says how old a mark of this server is.
fn given(params: &Params<'_>, age: impl Fn(&str) -> Option<Duration>) -> Result<Option<Shown>, RpcError> {
    let Some(responses) = params.object("inputResponses")? else { return Ok(None) };
    let state = params.raw("requestState").map(RawValue::get);
    let state: Option<String> = state.and_then(|state| serde_json::from_str(state).ok());
    let Some(after) = state.and_then(|state| age(&state)) else {
        return Err(RpcError::invalid_params(
            "requestState is not what this server gave for these arguments; call again without inputResponses",
        ));
    };
    let given = responses.raw(FORM).and_then(|given| serde_json::from_str(given.get()).ok());
    given
        .map(|answer| Some(Shown { answer, after }))
        .ok_or_else(|| RpcError::invalid_params(format!("inputResponses has no usable answer to {FORM:?}")))
}

/// Marks what this server gave, and when, so that it knows it again.
pub(crate) struct Seal(OnceLock<([u8; 32], Instant)>);

impl Seal {
    pub(crate) fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The mark of a call with these arguments, made now.
    fn of(&self, name: &str, arguments: &str) -> String {
        let (_, begun) = self.key();
        self.at(begun.elapsed().as_millis(), name, arguments)
    }

    /// How long ago this very mark was made for these arguments; none where it was not.
    fn age(&self, mark: &str, name: &str, arguments: &str) -> Option<Duration> {
        let (millis, _) = mark.split_once('.')?;
        let millis: u64 = millis.parse().ok()?;
        let (_, begun) = self.key();
        let made = begun.checked_add(Duration::from_millis(millis))?;
        (mark == self.at(millis.into(), name, arguments)).then(|| made.elapsed())
    }

    fn at(&self, millis: u128, name: &str, arguments: &str) -> String {
        let (key, _) = self.key();
        let content = Sha256::new().chain_update(name).chain_update([0]).chain_update(arguments).finalize();
        let sealed = Sha256::new().chain_update(key).chain_update(millis.to_be_bytes()).chain_update(content);
        format!("{millis}.{}", URL_SAFE_NO_PAD.encode(sealed.finalize()))
    }

    fn key(&self) -> &([u8; 32], Instant) {
        self.0.get_or_init(|| {
            let mut key = [0; 32];
            // Without randomness a mark could be made up: by the client, about its own person.
            let _ = getrandom::fill(&mut key);
            (key, Instant::now())
        })
    }
}
