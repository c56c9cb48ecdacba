//! The client from the point of view of a plugin component, which needs the user's approval to reach it.

use scorpiox_audit::{APPROVAL, Uses};
use scorpiox_exchange::news::ResourceNews;
use scorpiox_mcp::jsonrpc::reply;
use scorpiox_questions::Questions;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{APPROVAL as APPROVALS, Asking, Client, ELICIT, FORM, Form, Inner, NoAnswer, Way, embedded};
use scorpiox_capabilities::ask::{Asked, Counterpart, Unsampled};
use scorpiox_capabilities::notices::{List, Severity};
use scorpiox_capabilities::requests::{Abilities, Answer, ClientRequest, Unmet};
use scorpiox_mcp::LogLevel;

const SAMPLE: &str = "sampling/createMessage";
const LIST_ROOTS: &str = "roots/list";

/// The client, for requests of a component.
pub(crate) struct OfComponent {
    pub client: Client,
    pub uses: Uses,
}

impl Counterpart for OfComponent {
    fn ask(&self, questions: &Questions) -> Asked {
        self.client.ask(questions, &self.uses, APPROVAL)
    }

    fn runs_once(&self) {
        self.client.asking().runs_once = true;
    }

    fn sample(&self, parameters: Value) -> Result<Value, Unsampled> {
        let asking = self.client.asking();
        let is_possible = self.client.0.able.model && matches!(asking.way, Way::Requests);
        drop(asking);
        if !is_possible {
            return Err(Unsampled::Unavailable("this client does not let its model be asked".to_owned()));
        }
        self.uses.allowed("sampling", "the client's model", APPROVAL);
        let asked =
            self.client.request(SAMPLE, &self.preferring(parameters), "Waiting for the client's model");
        asked.map_err(|error| match error {
            NoAnswer::Cancelled => Unsampled::Cancelled,
            NoAnswer::Failed(why) => Unsampled::Refused(why),
        })
    }

    fn abilities(&self) -> Abilities {
        self.client.0.able
    }

    fn request(&self, requests: &[(String, ClientRequest)]) -> Result<Vec<Answer>, Unmet> {
        for (key, request) in requests {
            self.check(key, request)?;
            let (capability, what) = match request {
                ClientRequest::Form { .. } => ("forms", "the client's form"),
                ClientRequest::Model(_) => ("sampling", "the client's model"),
                ClientRequest::Roots => ("roots", "the client's roots"),
            };
            self.uses.allowed(capability, what, APPROVAL);
        }
        let mut asking = self.client.asking();
        let Asking { way, runs_once, .. } = &mut *asking;
        let Way::Rounds(rounds) = way else {
            return requests.iter().map(|(_, request)| self.now(request)).collect();
        };
        let mut answers = Vec::new();
        let mut missing = Vec::new();
        for (key, request) in requests {
            match rounds.answer(key, |answer| request.read(answer)) {
                Some((answer, _)) => answers.push(answer),
                None => missing.push((key, request)),
            }
        }
        if missing.is_empty() {
            return Ok(answers);
        }
        if *runs_once {
            return Err(Unmet::Unavailable(
                "this client answers after the call has ended, and a call that uses resources is not made again"
                    .to_owned(),
            ));
        }
        rounds.can_go_on().map_err(Unmet::Refused)?;
        for (key, request) in missing {
            rounds.ask(key, self.written(request));
        }
        Err(Unmet::Later)
    }

    fn log(&self, severity: Severity, plugin: &str, message: &str) {
        let Inner { log_level, reply, cancel, .. } = &*self.client.0;
        let (level, name) = level(severity);
        if log_level.is_some_and(|least| least <= level) {
            let params = json!({ "level": name, "logger": plugin, "data": message });
            // A client that wants no answer wants no log messages either.
            if !cancel.is_set() {
                reply.send(&reply::notification("notifications/message", &params));
            }
        }
    }

    fn list_changed(&self, list: List) {
        self.client.0.workspace.sessions().iter().for_each(|session| session.tell_list_changed(list));
    }

    fn resource_updated(&self, plugin: &str, uri: &str) {
        let workspace = &self.client.0.workspace;
        if workspace.serves(plugin, uri) {
            let news = ResourceNews::new(uri);
            workspace.sessions().iter().for_each(|session| session.tell_resource_updated(&news));
        }
    }
}

impl OfComponent {
    /// Checks that a client of this revision supports the request.
    fn check(&self, key: &str, request: &ClientRequest) -> Result<(), Unmet> {
        let Inner { able, revision, .. } = &*self.client.0;
        if key == FORM || key.starts_with(APPROVALS) {
            return Err(Unmet::Unavailable(format!("{key:?} is a key of this program's; take another one")));
        }
        let lacking: Vec<_> = request.needs().without(*able).names().collect();
        if !lacking.is_empty() {
            return Err(Unmet::Unavailable(format!("this client does not have {}", lacking.join(", "))));
        }
        match request {
            ClientRequest::Form { fields, .. }
                if fields.needs_choices() && !revision.features().form_choices =>
            {
                Err(Unmet::Unavailable("this client does not know a kind of field of the form".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Makes the request while the call runs.
    fn now(&self, request: &ClientRequest) -> Result<Answer, Unmet> {
        let asked = match request {
            ClientRequest::Form { message, fields } => {
                let form = Form::new(self.client.0.revision, message.clone(), fields.schema().to_owned());
                self.client.request(ELICIT, &form, "Waiting for the person's answer")
            }
            ClientRequest::Model(parameters) => {
                let parameters = self.preferring(parameters.clone());
                self.client.request(SAMPLE, &parameters, "Waiting for the client's model")
            }
            ClientRequest::Roots => self.client.request(LIST_ROOTS, &json!({}), "Waiting for the client"),
        };
        let answer = asked.map_err(|error| match error {
            NoAnswer::Cancelled => Unmet::Cancelled,
            NoAnswer::Failed(why) => Unmet::Refused(why),
        })?;
        request.read(&answer).map_err(Unmet::Refused)
    }

    /// Returns the request as it is embedded in a result.
    fn written(&self, request: &ClientRequest) -> Box<RawValue> {
        match request {
            ClientRequest::Form { message, fields } => {
                let form = Form::new(self.client.0.revision, message.clone(), fields.schema().to_owned());
                embedded(ELICIT, form)
            }
            ClientRequest::Model(parameters) => embedded(SAMPLE, self.preferring(parameters.clone())),
            ClientRequest::Roots => embedded(LIST_ROOTS, json!({})),
        }
    }

    /// Adds the user's preferred model to the parameters.
    fn preferring(&self, mut parameters: Value) -> Value {
        let model = self.client.0.workspace.settings.model();
        parameters["modelPreferences"] = json!({"hints": [{"name": model}]});
        parameters
    }
}

/// Converts a severity to a log level and its protocol name.
fn level(severity: Severity) -> (LogLevel, &'static str) {
    match severity {
        Severity::Debug => (LogLevel::Debug, "debug"),
        Severity::Info => (LogLevel::Info, "info"),
        Severity::Notice => (LogLevel::Notice, "notice"),
        Severity::Warning => (LogLevel::Warning, "warning"),
        Severity::Error => (LogLevel::Error, "error"),
        Severity::Critical => (LogLevel::Critical, "critical"),
        Severity::Alert => (LogLevel::Alert, "alert"),
        Severity::Emergency => (LogLevel::Emergency, "emergency"),
    }
}
