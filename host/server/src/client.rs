//! Requests to the client during a call: showing a form to the user and, for components, sampling its model
//! and listing its roots.
//!
//! In revisions with a handshake, each is a separate request. In the newest revision, the call ends with a
//! result that contains all requests, and the client repeats the call with the answers (`rounds`).

mod of_component;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;
use scorpiox_mcp::jsonrpc::reply;
use scorpiox_questions::{Answers, FormKind, Questions, form};
use scorpiox_text::hex;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::outgoing::{Outgoing, Unanswered as NoAnswer};
use super::progress::Progress;
use super::reply::Reply;
use super::request_state::Subject;
use super::scope::{Answer, Scope};
use super::workspace::Workspace;
use crate::approvals::{Spent, withdrawn_by};
use scorpiox_capabilities::ask::Asked;
use scorpiox_capabilities::requests::Abilities;
use scorpiox_mcp::{LogLevel, Params, Revision, RpcError};

use super::rounds::Rounds;
pub(crate) use super::rounds::Unmarked;
pub(crate) use of_component::OfComponent;

/// Minimum time to read the questions. A form that is declined sooner was declined by the client, not by a
/// user.
const READING_TIME: Duration = Duration::from_secs(1);

/// Key of the question form. Components use other keys.
const FORM: &str = "form";

/// Beginning of the keys of approvals. Components use other keys.
const APPROVAL: &str = "approval-";

/// Maximum time from a question to an approval.
pub(crate) const APPROVAL_TIME: Duration = Duration::from_millis(APPROVAL_MS);
const APPROVAL_MS: u64 = 10 * 60 * 1000;

const ELICIT: &str = "elicitation/create";

/// The client of one call. Owns its data because components cannot borrow from the call.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Form {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    message: String,
    requested_schema: Box<RawValue>,
}

impl Form {
    fn new(revision: Revision, message: String, schema: String) -> Self {
        let mode = revision.features().form_mode.then_some("form");
        Self { mode, message, requested_schema: RawValue::from_string(schema).unwrap_or_default() }
    }
}

/// A request embedded in a result.
#[derive(Serialize)]
struct Embedded<'a, P> {
    method: &'a str,
    params: P,
}

fn embedded(method: &str, params: impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(&Embedded { method, params }).unwrap_or_default()
}

/// A form that was shown, or that a client says it has shown.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    /// An object with `action` and `content`.
    answer: Value,
    /// Time until the answer.
    after: Duration,
}

/// Reason why a form has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Unanswered {
    /// The client shows the form and repeats the call. The tool's current result is discarded.
    #[error("it asks later")]
    Later,
    /// The call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The client declined faster than a user could read the questions.
    #[error("it declined after {} ms, before anybody could read the questions", .0.as_millis())]
    NoPerson(Duration),
    /// The principal has used too many approvals.
    #[error("too many of your approvals were used within {} minutes; call again later", APPROVAL_TIME.as_secs() / 60)]
    TooMany,
    /// The client refused, or its answer is invalid.
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

/// Channel for requests to the client.
#[derive(Debug)]
enum Way {
    /// As requests, while the call runs.
    Requests,
    /// In the result, after which the client repeats the call.
    Rounds(Rounds),
}

/// State of a call's requests to the client, which are made one at a time.
#[derive(Debug)]
struct Asking {
    way: Way,
    /// `true` after the first question of a call is answered; later questions need another way.
    was_asked: bool,
    /// `true` if the call cannot be repeated.
    runs_once: bool,
    /// Time for which an approval is good after its question.
    good_for: Duration,
}

struct Inner {
    workspace: Arc<Workspace>,
    /// Key of the calling principal; empty if there is none.
    principal: String,
    revision: Revision,
    able: Abilities,
    asking: Mutex<Asking>,
    /// Minimum level of log messages that the client wants.
    log_level: Option<LogLevel>,
    outgoing: Arc<Outgoing>,
    reply: Reply,
    cancel: Cancel,
    progress: Progress,
}

impl Client {
    /// Creates the client of a call of `name`: a tool, or a method and its subject.
    pub(crate) fn of(
        scope: &Scope<'_>,
        name: &str,
        arguments: &str,
        unmarked: Unmarked,
    ) -> Result<Self, RpcError> {
        let Scope { session, request, .. } = scope;
        let facts = session.facts();
        let (able, log_level, way);
        if request.revision.features().handshake {
            able = Abilities { forms: facts.elicits, model: facts.samples, roots: facts.roots };
            // A client that sets no level gets everything except debug messages.
            log_level = Some(facts.log_level.unwrap_or(LogLevel::Info));
            way = Way::Requests;
        } else {
            let declared = request.meta.client_capabilities.as_ref();
            able = Abilities {
                forms: declared.is_some_and(declares_forms),
                model: declared.is_some_and(|declared| declares(declared, "sampling")),
                roots: declared.is_some_and(|declared| declares(declared, "roots")),
            };
            log_level = request.meta.log_level;
            let subject = Subject {
                principal: session.principal_key().unwrap_or_default().to_owned(),
                name: name.to_owned(),
                arguments: arguments.to_owned(),
            };
            way = Way::Rounds(Rounds::read(&request.params, &session.seal, subject, unmarked)?);
        }
        Ok(Self(Arc::new(Inner {
            workspace: Arc::clone(scope.workspace()),
            principal: session.principal_key().unwrap_or_default().to_owned(),
            revision: request.revision,
            able,
            asking: Mutex::new(Asking { way, was_asked: false, runs_once: false, good_for: APPROVAL_TIME }),
            log_level,
            outgoing: Arc::clone(&session.outgoing),
            reply: Arc::clone(scope.reply),
            cancel: scope.cancel().clone(),
            progress: scope.progress.clone(),
        })))
    }

    /// Asks the user through the client's form, otherwise at a terminal or in a dialog. Records the request
    /// in `uses` with the `rule` that allows it.
    pub fn ask(&self, questions: &Questions, uses: &Uses, rule: &'static str) -> Asked {
        self.ask_under(FORM, questions, &self.0.cancel, uses, rule)
    }

    /// Returns the client for questions while the call runs, which a flag withdraws. In the newest revision it
    /// shows no forms: it answers only after the end of a call.
    pub(crate) fn during_the_call(&self, withdrawn: &Cancel) -> Self {
        let Inner { workspace, principal, revision, able, log_level, outgoing, reply, progress, .. } =
            &*self.0;
        let shows_forms = able.forms && matches!(self.asking().way, Way::Requests);
        Self(Arc::new(Inner {
            workspace: Arc::clone(workspace),
            principal: principal.clone(),
            revision: *revision,
            able: Abilities { forms: shows_forms, ..*able },
            asking: Mutex::new(Asking {
                way: Way::Requests,
                was_asked: false,
                runs_once: true,
                good_for: APPROVAL_TIME,
            }),
            log_level: *log_level,
            outgoing: Arc::clone(outgoing),
            reply: Arc::clone(reply),
            cancel: withdrawn.clone(),
            progress: progress.clone(),
        }))
    }

    /// Asks the user for an approval, like [`Self::ask`]. The answer is good only for these very questions, under the
    /// policy that asked, and for at most [`APPROVAL_TIME`] and `good_for`. The question is withdrawn once the call is
    /// cancelled or `elsewhere` returns `true`.
    pub(crate) fn approve(
        &self,
        questions: &Questions,
        uses: &Uses,
        rule: &'static str,
        good_for: Duration,
        elsewhere: impl Fn() -> bool + Send + 'static,
    ) -> Asked {
        let key = self.key_of_approval(questions);
        self.asking().good_for = good_for.min(APPROVAL_TIME);
        let withdrawn = Cancel::default();
        let (call, flag) = (self.0.cancel.clone(), withdrawn.clone());
        let _watch = self.0.cancel.watch(move || {
            if let Some(reason) = call.reason() {
                flag.set(reason);
            }
        });
        withdrawn_by(&withdrawn, elsewhere, || self.ask_under(&key, questions, &withdrawn, uses, rule))
    }

    /// Returns `true` if the call carries an answer to these questions, which may have been used before.
    pub(crate) fn carries_approval(&self, questions: &Questions) -> bool {
        let key = self.key_of_approval(questions);
        match &mut self.asking().way {
            Way::Rounds(rounds) => has_form(rounds, &key),
            Way::Requests => false,
        }
    }

    /// Returns the key of an answer, which is good for these questions under this policy.
    fn key_of_approval(&self, questions: &Questions) -> String {
        let policy = self.0.workspace.operator().loaded().map_or("", |loaded| &loaded.hash);
        format!("{APPROVAL}{}", hex(&Sha256::digest(format!("{policy}\n{}", questions.to_text()))))
    }

    fn ask_under(
        &self,
        key: &str,
        questions: &Questions,
        cancel: &Cancel,
        uses: &Uses,
        rule: &'static str,
    ) -> Asked {
        let shows_forms = self.shows_another_form(key);
        if shows_forms {
            uses.allowed("ask", "the client's form", rule);
        }
        let failed = match shows_forms.then(|| self.by_form(key, questions, cancel)) {
            Some(Ok(answers)) => return Asked::Answered(answers),
            Some(Err(Unanswered::Later)) => return Asked::Later,
            Some(Err(Unanswered::Cancelled)) => return Asked::Cancelled,
            // Without a user, a terminal or dialog would only block.
            Some(Err(error @ (Unanswered::NoPerson(_) | Unanswered::TooMany))) => {
                return Asked::NoWay(format!("the client: {error}"));
            }
            Some(Err(Unanswered::Failed(why))) => Some(why),
            None => None,
        };
        match (self.0.workspace.prompter().ask(questions, cancel, uses), failed) {
            (Asked::NoWay(why), Some(client)) => Asked::NoWay(format!("the client: {client}; {why}")),
            (asked, _) => asked,
        }
    }

    fn shows_another_form(&self, key: &str) -> bool {
        let mut asking = self.asking();
        let Asking { way, was_asked, runs_once, .. } = &mut *asking;
        let is_possible = match way {
            Way::Requests => true,
            Way::Rounds(rounds) => !*was_asked && (!*runs_once || has_form(rounds, key)),
        };
        self.0.able.forms && is_possible
    }

    /// Asks through the client's form.
    fn by_form(&self, key: &str, questions: &Questions, cancel: &Cancel) -> Result<Answers, Unanswered> {
        let kind = FormKind::with_choices(self.0.revision.features().form_choices);
        let schema = form::schema(questions, kind).to_string();
        let Shown { answer, after } = self.show(key, form::message(questions), schema, cancel)?;
        let answers = form::read(questions, kind, &answer);
        match answers.map_err(|error| Unanswered::Failed(error.to_string()))? {
            Answers::Declined if after < READING_TIME => Err(Unanswered::NoPerson(after)),
            answers => Ok(answers),
        }
    }

    fn show(&self, key: &str, message: String, schema: String, cancel: &Cancel) -> Result<Shown, Unanswered> {
        let form = Form::new(self.0.revision, message, schema);
        let mut asking = self.asking();
        let Asking { way, was_asked, good_for, .. } = &mut *asking;
        match way {
            Way::Rounds(rounds) => {
                // An answer without a duration was not requested here, so the form may not have been read.
                let answered =
                    rounds.answer(key, any_object).and_then(|(answer, after)| Some((answer, after?)));
                if let Some((answer, after)) = answered {
                    if key == FORM || self.is_approval_good(rounds, key, *good_for)? {
                        *was_asked |= key == FORM;
                        return Ok(Shown { answer, after });
                    }
                    // The next token must not carry an approval that was used or is too old.
                    rounds.start_over();
                }
                rounds.ask(key, embedded(ELICIT, &form));
                Err(Unanswered::Later)
            }
            Way::Requests => {
                let begun = Instant::now();
                let asked = self.request_until(cancel, ELICIT, &form, "Waiting for the person's answer");
                asked.map(|answer| Shown { answer, after: begun.elapsed() }).map_err(Into::into)
            }
        }
    }

    /// Checks and uses up the approval with this key, in each round of the call.
    fn is_approval_good(&self, rounds: &Rounds, key: &str, good_for: Duration) -> Result<bool, Unanswered> {
        let Some(asked) = rounds.asked(key) else { return Ok(false) };
        if rounds.since_question(key).is_none_or(|since| since > good_for) {
            return Ok(false);
        }
        let approvals = &self.0.workspace.app().approvals;
        match approvals.spend(&self.0.principal, rounds.number(), rounds.runs(), asked) {
            // Another server, or this one before a restart, may have run the call.
            Spent::Now => {
                let requests = self.0.workspace.approvals();
                let until = requests.now().saturating_add(APPROVAL_MS);
                let spent = requests.spend(&hex(&rounds.number()), rounds.runs(), until);
                spent.map_err(|error| Unanswered::Failed(format!("its use cannot be counted: {error}")))
            }
            Spent::Before => Ok(false),
            Spent::TooMany => Err(Unanswered::TooMany),
        }
    }

    fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        waiting: &'static str,
    ) -> Result<Value, NoAnswer> {
        self.request_until(&self.0.cancel, method, params, waiting)
    }

    /// Sends a request to the client, and waits for its answer or until a flag is set.
    fn request_until(
        &self,
        cancel: &Cancel,
        method: &str,
        params: &impl Serialize,
        waiting: &'static str,
    ) -> Result<Value, NoAnswer> {
        let Inner { outgoing, reply, progress, .. } = &*self.0;
        outgoing.ask(reply, method, params, cancel, &|| progress.report(waiting))
    }

    /// Locks the state while the client is asked: requests are made one at a time.
    fn asking(&self) -> MutexGuard<'_, Asking> {
        self.0.asking.lock()
    }

    /// Returns the answer to a call that the client has to repeat, if it has to.
    pub fn input_required(&self, scope: &Scope<'_>) -> Option<Answer> {
        let asking = self.asking();
        let Way::Rounds(rounds) = &asking.way else { return None };
        let required = rounds.required(scope.request.revision, &scope.session.seal)?;
        Some(required.map(|result| reply::result(&scope.request.id, &result)))
    }
}

/// Returns `true` if the request carries an answer to the form with this key.
fn has_form(rounds: &mut Rounds, key: &str) -> bool {
    matches!(rounds.answer(key, any_object), Some((_, Some(_))))
}

fn any_object(answer: &Value) -> Result<Value, String> {
    if answer.is_object() { Ok(answer.clone()) } else { Err("it is no object".to_owned()) }
}

/// Returns `true` if the client capabilities declare form elicitation. An empty declaration means forms.
pub(crate) fn declares_forms(capabilities: &Params<'_>) -> bool {
    let declared = capabilities.object("elicitation").ok().flatten();
    declared.is_some_and(|declared| declared.raw("form").is_some() || declared.raw("url").is_none())
}

/// Returns `true` if the client capabilities have a member of that name.
pub(crate) fn declares(capabilities: &Params<'_>, name: &str) -> bool {
    capabilities.object(name).ok().flatten().is_some()
}
