//! The WIT interface `ask`.

use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::Linker;

use scorpiox_questions::{Answers, Asker, Questions};
use serde_json::json;

use super::{Asked, Counterpart, Later};
use crate::setup::{Grantee, Setup};
use crate::view::{HasCtx, Provided, View, Viewed};
use wit::{Error, Host, Question};

/// Maximum number of times that a call may ask the user.
const MAX_TIMES: u32 = 5;

/// Reason why there is no answer.
#[derive(Debug)]
pub enum AskFailure {
    /// Error for the guest to handle.
    Guest(Error),
    /// Ends the run; the client repeats the call with the answer.
    Later,
}

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/ask@0.1.0; }",
        imports: { default: trappable },
        trappable_error_type: { "scorpiox:tool/ask.error" => super::AskFailure },
    });
    pub use scorpiox::tool::ask::*;
}

/// Recipient of questions, and the number of times that the call has asked.
pub struct AskCtx {
    counterpart: Option<Arc<dyn Counterpart>>,
    times: u32,
}

impl Provided for AskCtx {
    const NAME: &'static str = "ask";
    const MAY: &'static str = "ask the person questions";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { counterpart: setup.counterpart.clone(), times: 0 }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, AskCtx> {
    fn ask(&mut self, questions: Vec<Question>) -> Result<Option<Vec<Vec<String>>>, AskFailure> {
        self.call.function = "ask";
        let invalid = |why: String| AskFailure::Guest(Error::Invalid(why));
        self.ctx.times += 1;
        if self.ctx.times > MAX_TIMES {
            return Err(invalid(format!("the person was asked {MAX_TIMES} times in this call already")));
        }
        let plugin = self.call.name.shown();
        let who = Asker::Plugin(plugin.to_owned());
        let questions: Vec<_> = questions.into_iter().map(question).collect();
        let questions =
            Questions::parse(&json!(questions).to_string()).map_err(|error| invalid(error.to_string()))?;
        let questions = questions.asked_by(who);
        let nobody = || AskFailure::Guest(Error::Unavailable("nobody can be asked here".to_owned()));
        let counterpart = self.ctx.counterpart.as_ref().ok_or_else(nobody)?;
        let begun = Instant::now();
        let asked = counterpart.ask(&questions);
        self.call.asked_for += begun.elapsed();
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
            AskFailure::Guest(error) => {
                self.call.failed(AskCtx::NAME, &error);
                Ok(error)
            }
            AskFailure::Later => Err(Later.into()),
        }
    }
}

/// Converts a question to the format of the tool `AskUserQuestion`, which validates it.
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
