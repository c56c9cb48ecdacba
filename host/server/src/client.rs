//! What a tool may ask of the client while it runs: to show a form to the person, and, for components, to ask
//! its model.
//!
//! In the revisions with a handshake the form is a request of its own. In the newest, the call
//! ends with a result that has the form in it, and the client calls again with the answer.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_ask::{Answers, FormKind, Questions, form};
use scorpiox_audit::{APPROVAL, Uses};
use scorpiox_executor::Cancel;
use scorpiox_rpc::reply;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::outgoing::{Outgoing, Unanswered as NoAnswer};
use super::progress::Progress;
use super::reply::Reply;
use super::request_state;
use super::scope::{Answer, Scope};
use super::workspace::Workspace;
use scorpiox_capabilities::ask::{Asked, Counterpart, Unsampled};
use scorpiox_mcp::result::Enveloped;
use scorpiox_mcp::{Params, Revision, RpcError};

/// Who declines within this time has not read the questions: clients without a person do it for them.
const READING_TIME: Duration = Duration::from_secs(1);

/// The name of the only thing that is asked at a time.
const FORM: &str = "form";

/// The client of one call. Components cannot borrow from the call, so it owns what it needs.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Form {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    message: String,
    requested_schema: Value,
}

impl Form {
    fn new(revision: Revision, message: String, schema: Value) -> Self {
        let mode = revision.features().form_mode.then_some("form");
        Self { mode, message, requested_schema: schema }
    }
}

/// A form that was shown, or that a client says it has shown.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    /// An object with `action` and `content`.
    answer: Value,
    /// How long that took.
    after: Duration,
}

/// Why there is no answer to a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Unanswered {
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

/// How a client asks the person.
#[derive(Debug, Clone, PartialEq)]
enum Person {
    /// Not at all.
    None,
    /// When it is asked to.
    Request,
    /// When it is told so by the result. It may have done that already; an answer is for the first
    /// question of a call.
    Result(Option<Shown>),
}

struct Inner {
    workspace: Arc<Workspace>,
    revision: Revision,
    person: Mutex<Person>,
    /// What the client is to ask before it calls again.
    later: OnceLock<Form>,
    /// Its model can be asked.
    samples: bool,
    outgoing: Arc<Outgoing>,
    reply: Reply,
    cancel: Cancel,
    progress: Progress,
}

impl Client {
    /// The client of a call of the tool `name`.
    pub fn of(scope: &Scope<'_>, name: &str, arguments: &str) -> Result<Self, RpcError> {
        let Scope { session, request, .. } = scope;
        let facts = session.facts();
        let handshake = request.revision.features().handshake;
        let person = if handshake {
            if facts.elicits { Person::Request } else { Person::None }
        } else if request.meta.client_capabilities.as_ref().is_some_and(declares_forms) {
            let age = |mark: &str| request_state::age(&session.seal, mark, name, arguments);
            Person::Result(given(&request.params, age)?)
        } else {
            Person::None
        };
        Ok(Self(Arc::new(Inner {
            workspace: Arc::clone(&session.workspace),
            revision: request.revision,
            person: Mutex::new(person),
            later: OnceLock::new(),
            samples: handshake && facts.samples,
            outgoing: Arc::clone(&session.outgoing),
            reply: Arc::clone(scope.reply),
            cancel: scope.cancel().clone(),
            progress: scope.progress.clone(),
        })))
    }

    /// Asks the person: by the client's own form, else at a terminal or in a dialog. `uses` is told that it
    /// was asked for, and `rule` is what allows that.
    pub fn ask(&self, questions: &Questions, uses: &Uses, rule: &'static str) -> Asked {
        let shows_forms = *self.person() != Person::None;
        if shows_forms {
            uses.allowed("ask", "the client's form", rule);
        }
        let failed = match shows_forms.then(|| self.by_form(questions)) {
            Some(Ok(answers)) => return Asked::Answered(answers),
            Some(Err(Unanswered::Later)) => return Asked::Later,
            Some(Err(Unanswered::Cancelled)) => return Asked::Cancelled,
            // A terminal or dialog would be opened before nobody, and waited for.
            Some(Err(error @ Unanswered::NoPerson(_))) => {
                return Asked::NoWay(format!("the client: {error}"));
            }
            Some(Err(Unanswered::Failed(why))) => Some(why),
            None => None,
        };
        match (self.0.workspace.prompter().ask(questions, &self.0.cancel, uses), failed) {
            (Asked::NoWay(why), Some(client)) => Asked::NoWay(format!("the client: {client}; {why}")),
            (asked, _) => asked,
        }
    }

    /// Asks by the client's own form.
    fn by_form(&self, questions: &Questions) -> Result<Answers, Unanswered> {
        let kind = FormKind::of_revision(self.0.revision.name());
        let Shown { answer, after } = self.show(form::message(questions), form::schema(questions, kind))?;
        let answers = form::read(questions, kind, &answer);
        match answers.map_err(|error| Unanswered::Failed(error.to_string()))? {
            Answers::Declined if after < READING_TIME => Err(Unanswered::NoPerson(after)),
            answers => Ok(answers),
        }
    }

    fn show(&self, message: String, schema: Value) -> Result<Shown, Unanswered> {
        let form = Form::new(self.0.revision, message, schema);
        let mut person = self.person();
        match &mut *person {
            Person::None => Err(Unanswered::Failed("the client shows no forms".to_owned())),
            Person::Result(given) => {
                if let Some(given) = given.take() {
                    *person = Person::None;
                    return Ok(given);
                }
                let _ = self.0.later.set(form);
                Err(Unanswered::Later)
            }
            Person::Request => {
                let begun = Instant::now();
                let asked = self.request("elicitation/create", &form, "Waiting for the person's answer");
                asked.map(|answer| Shown { answer, after: begun.elapsed() }).map_err(Into::into)
            }
        }
    }

    fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        waiting: &'static str,
    ) -> Result<Value, NoAnswer> {
        let Inner { outgoing, reply, cancel, progress, .. } = &*self.0;
        outgoing.ask(reply, method, params, cancel, &|| progress.report(waiting))
    }

    /// Held while the person is asked: one question at a time.
    fn person(&self) -> MutexGuard<'_, Person> {
        self.0.person.lock()
    }

    /// The answer to a call that has to be made again, if it has to.
    pub fn input_required(&self, scope: &Scope<'_>, name: &str, arguments: &str) -> Option<Answer> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct InputRequired<'a> {
            input_requests: Value,
            request_state: &'a str,
        }
        let form = self.0.later.get()?;
        let Some(state) = request_state::mark(&scope.session.seal, name, arguments) else {
            return Some(Err(RpcError::internal(
                "the system gives no random bytes to mark the question with",
            )));
        };
        let request = json!({"method": "elicitation/create", "params": form});
        let body = InputRequired { input_requests: json!({ FORM: request }), request_state: &state };
        let result = Enveloped::input_required(scope.request.revision, body);
        Some(Ok(reply::result(&scope.request.id, &result)))
    }
}

/// The client as a component may ask it, with a person's approval.
pub(crate) struct OfComponent {
    pub client: Client,
    pub uses: Uses,
}

impl Counterpart for OfComponent {
    fn ask(&self, questions: &Questions) -> Asked {
        self.client.ask(questions, &self.uses, APPROVAL)
    }

    fn runs_once(&self) {
        let mut person = self.client.person();
        // A question is asked in another way, if there is one.
        if *person == Person::Result(None) {
            *person = Person::None;
        }
    }

    fn sample(&self, mut parameters: Value) -> Result<Value, Unsampled> {
        let Inner { samples, workspace, .. } = &*self.client.0;
        if !samples {
            return Err(Unsampled::Unavailable("this client does not let its model be asked".to_owned()));
        }
        self.uses.allowed("sampling", "the client's model", APPROVAL);
        parameters["modelPreferences"] = json!({"hints": [{"name": workspace.settings.model()}]});
        let asked =
            self.client.request("sampling/createMessage", &parameters, "Waiting for the client's model");
        asked.map_err(|error| match error {
            NoAnswer::Cancelled => Unsampled::Cancelled,
            NoAnswer::Failed(why) => Unsampled::Refused(why),
        })
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
