//! The person and the model on the client's side, for a component that may ask them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use scorpiox_ask::Questions;
use scorpiox_audit::{APPROVAL, Uses};
use scorpiox_executor::Cancel;
use scorpiox_rpc::Output;
use serde_json::{Value, json};

use super::client::{Form, Shown, Unanswered};
use super::outgoing::{Outgoing, Unanswered as NoAnswer};
use super::progress::Progress;
use crate::capabilities::ask::{Asked, Counterpart, Desk, Unsampled};
use crate::mcp::Revision;
use crate::tools::through_client;

/// How a client asks the person.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Person {
    /// Not at all.
    None,
    /// When it is asked to.
    Request,
    /// When it is told so by the result. It may have done that already; an answer is for the first
    /// question of a call.
    Result(Option<Shown>),
}

/// Those of one call.
pub(crate) struct OtherSide {
    pub(super) revision: Revision,
    pub(super) person: Mutex<Person>,
    /// What the client is to ask before it calls again.
    pub(super) later: OnceLock<Form>,
    pub(super) samples: bool,
    pub(super) model: String,
    pub(super) outgoing: Arc<Outgoing>,
    pub(super) output: Arc<Output>,
    pub(super) desk: Arc<Desk>,
    pub(super) cancel: Cancel,
    pub(super) progress: Progress,
    pub(super) uses: Uses,
}

impl OtherSide {
    fn show(&self, message: String, schema: Value) -> Result<Shown, Unanswered> {
        let form = Form::new(self.revision, message, schema);
        let mut person = self.person.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *person {
            Person::None => Err(Unanswered::Failed("the client shows no forms".to_owned())),
            Person::Result(given) => {
                if let Some(given) = given.take() {
                    *person = Person::None;
                    return Ok(given);
                }
                let _ = self.later.set(form);
                Err(Unanswered::Later)
            }
            Person::Request => {
                let news = || self.progress.report("Waiting for the person's answer");
                let begun = Instant::now();
                let asked = self.outgoing.ask(&self.output, "elicitation/create", &form, &self.cancel, &news);
                asked.map(|answer| Shown { answer, after: begun.elapsed() }).map_err(Into::into)
            }
        }
    }

    fn forms(&self) -> Option<&'static str> {
        let person = self.person.lock().unwrap_or_else(PoisonError::into_inner);
        (*person != Person::None).then(|| self.revision.name())
    }
}

impl Counterpart for OtherSide {
    fn ask(&self, questions: &Questions) -> Asked {
        let forms = self.forms();
        if forms.is_some() {
            self.uses.allowed("ask", "the client's form", APPROVAL);
        }
        let asked = through_client(forms, |message, schema| self.show(message, schema), questions);
        let failed = match asked {
            Ok(Some(answers)) => return Asked::Answered(answers),
            Err(Unanswered::Later) => return Asked::Later,
            Err(Unanswered::Cancelled) => return Asked::Cancelled,
            // A terminal or dialog would be opened before nobody, and waited for.
            Err(error @ Unanswered::NoPerson(_)) => return Asked::NoWay(format!("the client: {error}")),
            Ok(None) => None,
            Err(Unanswered::Failed(why)) => Some(why),
        };
        match (self.desk.ask(questions, &self.cancel, &self.uses), failed) {
            (Asked::NoWay(why), Some(client)) => Asked::NoWay(format!("the client: {client}; {why}")),
            (asked, _) => asked,
        }
    }

    fn sample(&self, mut parameters: Value) -> Result<Value, Unsampled> {
        if !self.samples {
            return Err(Unsampled::Unavailable("this client does not let its model be asked".to_owned()));
        }
        self.uses.allowed("sampling", "the client's model", APPROVAL);
        parameters["modelPreferences"] = json!({"hints": [{"name": self.model}]});
        let news = || self.progress.report("Waiting for the client's model");
        let method = "sampling/createMessage";
        let asked = self.outgoing.ask(&self.output, method, &parameters, &self.cancel, &news);
        asked.map_err(|error| match error {
            NoAnswer::Cancelled => Unsampled::Cancelled,
            NoAnswer::Failed(why) => Unsampled::Refused(why),
        })
    }
}
