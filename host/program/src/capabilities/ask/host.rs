//! The WIT interface `ask`.

use std::time::Instant;

use scorpiox_ask::{Answers, Asker, Questions};
use serde_json::json;

use super::Asked;
use crate::bindings::capabilities::scorpiox::tool::ask::{Error, Host, Question};
use crate::runtime::{CallState, Later};

/// Times that a call may ask the person.
const MAX_TIMES: u32 = 5;

/// Why there is no answer: for the guest to handle, or the end of its run.
#[derive(Debug)]
pub enum AskFailure {
    /// The guest gets this.
    Guest(Error),
    /// The run ends; the call is made again with the answer.
    Later,
}

impl Host for CallState {
    fn ask(&mut self, questions: Vec<Question>) -> Result<Option<Vec<Vec<String>>>, AskFailure> {
        let invalid = |why: String| AskFailure::Guest(Error::Invalid(why));
        self.times_asked += 1;
        if self.times_asked > MAX_TIMES {
            return Err(invalid(format!("the person was asked {MAX_TIMES} times in this call already")));
        }
        let plugin = self.namespace.strip_prefix("plugin/").unwrap_or(&self.namespace);
        let who = Asker::Plugin(plugin.to_owned());
        let questions: Vec<_> = questions.into_iter().map(question).collect();
        let questions =
            Questions::parse(&json!(questions).to_string()).map_err(|error| invalid(error.to_string()))?;
        let questions = questions.asked_by(who);
        let nobody = || AskFailure::Guest(Error::Unavailable("nobody can be asked here".to_owned()));
        let counterpart = self.counterpart.as_ref().ok_or_else(nobody)?;
        let begun = Instant::now();
        let asked = counterpart.ask(&questions);
        self.asked_for += begun.elapsed();
        match asked {
            Asked::Answered(Answers::Declined) => Ok(None),
            Asked::Answered(Answers::Answered(answers)) => {
                let words = answers.iter().map(|answer| {
                    let other = answer.other().map(str::to_owned);
                    answer.selected().iter().cloned().chain(other).collect()
                });
                Ok(Some(words.collect()))
            }
            Asked::Later => Err(AskFailure::Later),
            Asked::Cancelled => Err(AskFailure::Guest(Error::Cancelled)),
            Asked::NoWay(why) => Err(AskFailure::Guest(Error::Unavailable(why))),
        }
    }

    fn convert_error(&mut self, failure: AskFailure) -> wasmtime::Result<Error> {
        match failure {
            AskFailure::Guest(error) => Ok(error),
            AskFailure::Later => Err(Later.into()),
        }
    }
}

/// In the shape of the tool `AskUserQuestion`, which has the checks.
fn question(question: Question) -> serde_json::Value {
    let options = question.choices.into_iter().map(|choice| match choice.description {
        Some(description) => json!({"label": choice.label, "description": description}),
        None => json!({"label": choice.label}),
    });
    json!({
        "question": question.text,
        "options": options.collect::<Vec<_>>(),
        "multiSelect": question.several,
    })
}
