//! The client's model, within the budget of a grant.

use std::time::Instant;

use serde_json::{Value, json};

use super::ask::Unsampled;
use crate::bindings::capabilities::scorpiox::tool::sampling::{Error, Host, Request};
use crate::runtime::CallState;

/// Longest prompt, in bytes.
const MAX_PROMPT_BYTES: usize = 256 * 1024;
/// Characters that are a token at least, to count what a client does not.
const CHARS_PER_TOKEN: usize = 4;

/// Why there is no answer, for the guest.
#[derive(Debug)]
pub struct SamplingFailure(Error);

impl Host for CallState {
    fn ask_model(&mut self, request: Request) -> Result<String, SamplingFailure> {
        let fail = |error| Err(SamplingFailure(error));
        let budget = self.approved.as_ref().and_then(|approved| approved.sampling);
        let (Some(budget), Some(counterpart)) = (budget, self.counterpart.clone()) else {
            return fail(Error::Unavailable("there is no client whose model can be asked".to_owned()));
        };
        let size = request.prompt.len() + request.system.as_ref().map_or(0, String::len);
        if size > MAX_PROMPT_BYTES {
            return fail(Error::Refused(format!(
                "the prompt has {size} bytes; at most {MAX_PROMPT_BYTES} fit"
            )));
        }
        let left = budget.tokens.saturating_sub(self.sampled.tokens);
        if self.sampled.calls >= budget.calls || left == 0 {
            return fail(Error::Exhausted(format!(
                "{} calls and {} tokens were used, of {} and {}",
                self.sampled.calls, self.sampled.tokens, budget.calls, budget.tokens
            )));
        }
        let most = request.max_tokens.clamp(1, left);
        self.sampled.calls += 1;
        // What is asked for counts until it is known how much it was.
        self.sampled.tokens += most;
        let begun = Instant::now();
        let answer = counterpart.sample(parameters(request, most));
        self.asked_for += begun.elapsed();
        let text = answer.and_then(|answer| text(&answer));
        let text = text.map_err(|why| {
            SamplingFailure(match why {
                Unsampled::Unavailable(why) => Error::Unavailable(why),
                Unsampled::Refused(why) => Error::Refused(why),
                Unsampled::Cancelled => Error::Cancelled,
            })
        })?;
        let used = u32::try_from(text.chars().count().div_ceil(CHARS_PER_TOKEN)).unwrap_or(u32::MAX);
        self.sampled.tokens = self.sampled.tokens.saturating_sub(most).saturating_add(used.max(1));
        Ok(text)
    }

    fn convert_error(&mut self, failure: SamplingFailure) -> wasmtime::Result<Error> {
        Ok(failure.0)
    }
}

fn parameters(request: Request, most: u32) -> Value {
    let mut parameters = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": request.prompt}}],
        "maxTokens": most,
    });
    if let Some(system) = request.system {
        parameters["systemPrompt"] = json!(system);
    }
    parameters
}

/// The text of an answer, which is one piece of content or a list of them.
fn text(answer: &Value) -> Result<String, Unsampled> {
    let pieces = match &answer["content"] {
        Value::Array(pieces) => pieces.as_slice(),
        piece => std::slice::from_ref(piece),
    };
    let texts: Vec<_> = pieces.iter().filter_map(|piece| piece["text"].as_str()).collect();
    if texts.is_empty() {
        return Err(Unsampled::Refused("the client's answer has no text".to_owned()));
    }
    Ok(texts.concat())
}
