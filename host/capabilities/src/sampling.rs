//! Requests to the client's model, within the budget of a grant.

use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::Linker;

use serde_json::{Value, json};

use super::approved::Budget;
use super::ask::{Counterpart, Unsampled};
use super::requests::model_text;
use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wit::{Error, Host, Request};

/// Maximum length of a prompt in bytes.
pub(super) const MAX_PROMPT_BYTES: usize = 256 * 1024;
/// Characters per token, to estimate the tokens that a client does not count.
const CHARS_PER_TOKEN: usize = 4;

/// Reason why there is no answer, for the guest.
#[derive(Debug)]
pub struct SamplingFailure(Error);

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/sampling@0.1.0; }",
        imports: { default: trappable },
        trappable_error_type: { "scorpiox:tool/sampling.error" => super::SamplingFailure },
    });
    pub use scorpiox::tool::sampling::*;
}

/// Client whose model answers, and the part of the budget that is used.
pub struct SamplingCtx {
    counterpart: Option<Arc<dyn Counterpart>>,
    used: Budget,
}

impl Provided for SamplingCtx {
    const NAME: &'static str = "sampling";
    const MAY: &'static str = "ask the client's model, within a budget";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { counterpart: setup.counterpart.clone(), used: Budget::default() }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, SamplingCtx> {
    fn ask_model(&mut self, request: Request) -> Result<String, SamplingFailure> {
        self.call.function = "ask-model";
        let fail = |error| Err(SamplingFailure(error));
        let budget = self.call.approved.as_ref().and_then(|approved| approved.sampling);
        let (Some(budget), Some(counterpart)) = (budget, self.ctx.counterpart.clone()) else {
            return fail(Error::Unavailable("there is no client whose model can be asked".to_owned()));
        };
        let size = request.prompt.len() + request.system.as_ref().map_or(0, String::len);
        if size > MAX_PROMPT_BYTES {
            return fail(Error::Refused(format!(
                "the prompt has {size} bytes; the limit is {MAX_PROMPT_BYTES}"
            )));
        }
        let left = budget.tokens.saturating_sub(self.ctx.used.tokens);
        if self.ctx.used.calls >= budget.calls || left == 0 {
            return fail(Error::Exhausted(format!(
                "{} calls and {} tokens were used, of {} and {}",
                self.ctx.used.calls, self.ctx.used.tokens, budget.calls, budget.tokens
            )));
        }
        let most = request.max_tokens.clamp(1, left);
        self.ctx.used.calls += 1;
        // The requested maximum counts until the actual number is known.
        self.ctx.used.tokens += most;
        let begun = Instant::now();
        let answer = counterpart.sample(parameters(request.system, &request.prompt, most));
        self.call.asked_for += begun.elapsed();
        let text = answer.and_then(|answer| model_text(&answer).map_err(Unsampled::Refused));
        let text = text.map_err(|why| {
            SamplingFailure(match why {
                Unsampled::Unavailable(why) => Error::Unavailable(why),
                Unsampled::Refused(why) => Error::Refused(why),
                Unsampled::Cancelled => Error::Cancelled,
            })
        })?;
        let used = u32::try_from(text.chars().count().div_ceil(CHARS_PER_TOKEN)).unwrap_or(u32::MAX);
        self.ctx.used.tokens = self.ctx.used.tokens.saturating_sub(most).saturating_add(used.max(1));
        Ok(text)
    }

    fn convert_error(&mut self, failure: SamplingFailure) -> wasmtime::Result<Error> {
        self.call.failed(SamplingCtx::NAME, &failure.0);
        Ok(failure.0)
    }
}

/// Returns the parameters of `sampling/createMessage`.
pub(super) fn parameters(system: Option<String>, prompt: &str, most: u32) -> Value {
    let mut parameters = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": most,
    });
    if let Some(system) = system {
        parameters["systemPrompt"] = json!(system);
    }
    parameters
}
