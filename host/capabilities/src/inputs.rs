//! Requests to the client: for a form that the user fills in, for its model, and for its roots.

use std::sync::Arc;
use std::time::Instant;

use scorpiox_questions::{Fields, Filled};
use serde_json::Value;
use wasmtime::component::Linker;

use super::approved::Budget;
use super::ask::{Counterpart, Later};
use super::requests::{Abilities, Answer, ClientRequest, Lacks, Root, Unmet};
use super::sampling::{self, MAX_PROMPT_BYTES};
use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wit::{Error, FormAnswer, Host, InputAnswer, InputRequest};

/// Maximum number of requests of a call, over all rounds.
const MAX_REQUESTS: usize = 16;
/// Maximum length of a key in characters.
const MAX_KEY_CHARS: usize = 64;

/// Reason why there is no answer.
#[derive(Debug)]
pub enum InputFailure {
    /// Error for the guest to handle.
    Guest(Error),
    /// Ends the run; the client repeats the call with the answers.
    Later,
}

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/inputs@0.1.0; }",
        imports: { default: trappable },
        trappable_error_type: { "scorpiox:tool/inputs.error" => super::InputFailure },
    });
    pub use scorpiox::tool::inputs::*;
}

/// Recipient of requests, and the requests that the call has already made.
pub struct InputsCtx {
    counterpart: Option<Arc<dyn Counterpart>>,
    keys: Vec<String>,
    used: Budget,
}

impl Provided for InputsCtx {
    const NAME: &'static str = "inputs";
    const MAY: &'static str = "ask the client for what was approved: forms, its model, its roots";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { counterpart: setup.counterpart.clone(), keys: Vec::new(), used: Budget::default() }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl From<wit::Abilities> for Abilities {
    fn from(asked: wit::Abilities) -> Self {
        Self {
            forms: asked.contains(wit::Abilities::FORMS),
            model: asked.contains(wit::Abilities::MODEL),
            roots: asked.contains(wit::Abilities::ROOTS),
        }
    }
}

impl Host for View<'_, InputsCtx> {
    fn able(&mut self) -> wasmtime::Result<wit::Abilities> {
        let able = self.client_abilities();
        let mut given = wit::Abilities::empty();
        let all = [
            (able.forms, wit::Abilities::FORMS),
            (able.model, wit::Abilities::MODEL),
            (able.roots, wit::Abilities::ROOTS),
        ];
        for (_, flag) in all.into_iter().filter(|(is_one, _)| *is_one) {
            given |= flag;
        }
        Ok(given)
    }

    fn require(&mut self, needed: wit::Abilities) -> wasmtime::Result<()> {
        match Abilities::from(needed).without(self.client_abilities()) {
            lacking if lacking == Abilities::default() => Ok(()),
            lacking => Err(Lacks(lacking).into()),
        }
    }

    fn ask(&mut self, requests: Vec<(String, InputRequest)>) -> Result<Vec<InputAnswer>, InputFailure> {
        self.call.function = "ask";
        let requests =
            requests.into_iter().map(|(key, request)| Ok((self.key(key)?, self.request(request)?)));
        let requests = requests.collect::<Result<Vec<_>, Error>>().map_err(InputFailure::Guest)?;
        let unavailable = || Error::Unavailable("there is no client that can be asked".to_owned());
        let counterpart = self.ctx.counterpart.clone().ok_or_else(|| InputFailure::Guest(unavailable()))?;
        let begun = Instant::now();
        let answered = counterpart.request(&requests);
        self.call.asked_for += begun.elapsed();
        let answers = answered.map_err(|unmet| match unmet {
            Unmet::Later => InputFailure::Later,
            Unmet::Cancelled => InputFailure::Guest(Error::Cancelled),
            Unmet::Unavailable(why) => InputFailure::Guest(Error::Unavailable(why)),
            Unmet::Refused(why) => InputFailure::Guest(Error::Refused(why)),
        })?;
        Ok(answers.into_iter().map(answer).collect())
    }

    fn convert_error(&mut self, failure: InputFailure) -> wasmtime::Result<Error> {
        match failure {
            InputFailure::Guest(error) => {
                self.call.failed(InputsCtx::NAME, &error);
                Ok(error)
            }
            InputFailure::Later => Err(Later.into()),
        }
    }
}

impl View<'_, InputsCtx> {
    fn client_abilities(&self) -> Abilities {
        self.ctx.counterpart.as_ref().map(|counterpart| counterpart.abilities()).unwrap_or_default()
    }

    /// Checks that a key is valid and not used by another request of the call.
    fn key(&mut self, key: String) -> Result<String, Error> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if key.is_empty() || key.len() > MAX_KEY_CHARS || !key.chars().all(is_plain) {
            return Err(Error::Invalid(format!(
                "{key:?} is no key; take 1 to {MAX_KEY_CHARS} letters, digits, hyphens, underscores and dots"
            )));
        }
        if self.ctx.keys.contains(&key) {
            return Err(Error::Invalid(format!("two requests of this call have the key {key:?}")));
        }
        if self.ctx.keys.len() == MAX_REQUESTS {
            return Err(Error::Invalid(format!("a call may ask for {MAX_REQUESTS} things")));
        }
        self.ctx.keys.push(key.clone());
        Ok(key)
    }

    /// Validates a request and checks that it was approved.
    fn request(&mut self, request: InputRequest) -> Result<ClientRequest, Error> {
        let approved = self.call.approved.clone().unwrap_or_default();
        let denied = |what: &str| {
            Err(Error::Denied(format!(
                "plugin.toml has to ask for it: [capabilities.{what}] with why = \"…\""
            )))
        };
        match request {
            InputRequest::Form(_) if !approved.forms => denied("forms"),
            InputRequest::Form(form) => self.form(&form),
            InputRequest::Model(request) => match approved.sampling {
                Some(budget) => self.model(request, budget),
                None => denied("sampling"),
            },
            InputRequest::Roots if !approved.roots => denied("roots"),
            InputRequest::Roots => Ok(ClientRequest::Roots),
        }
    }

    fn form(&self, form: &wit::Form) -> Result<ClientRequest, Error> {
        let fields = Fields::parse(&form.schema).map_err(|error| Error::Invalid(error.to_string()))?;
        let length = form.message.chars().count();
        let most = scorpiox_questions::fields::MAX_MESSAGE_CHARS;
        if length > most {
            return Err(Error::Invalid(format!("the message has {length} characters; the limit is {most}")));
        }
        let shown: String =
            form.message.chars().filter(|c| scorpiox_text::is_shown(*c) || *c == '\n').collect();
        let (plugin, shown) = (self.call.name.shown(), scorpiox_text::with_ink(&shown));
        // The user must know that the plugin asks, and not the client.
        Ok(ClientRequest::Form { message: format!("The plugin {plugin} asks: {shown}"), fields })
    }

    fn model(&mut self, request: wit::ModelRequest, budget: Budget) -> Result<ClientRequest, Error> {
        let wit::ModelRequest { system, prompt, max_tokens } = request;
        let size = prompt.len() + system.as_ref().map_or(0, String::len);
        if size > MAX_PROMPT_BYTES {
            return Err(Error::Invalid(format!(
                "the prompt has {size} bytes; the limit is {MAX_PROMPT_BYTES}"
            )));
        }
        let used = &mut self.ctx.used;
        let left = budget.tokens.saturating_sub(used.tokens);
        if used.calls >= budget.calls || left == 0 {
            return Err(Error::Exhausted(format!(
                "{} calls and {} tokens were asked for, of {} and {}",
                used.calls, used.tokens, budget.calls, budget.tokens
            )));
        }
        let most = max_tokens.clamp(1, left);
        used.calls += 1;
        // The requested maximum counts, because the answer may arrive in another run.
        used.tokens += most;
        Ok(ClientRequest::Model(sampling::parameters(system, &prompt, most)))
    }
}

fn answer(answer: Answer) -> InputAnswer {
    match answer {
        Answer::Form(Filled::Accepted(content)) => {
            InputAnswer::Form(FormAnswer::Accepted(Value::Object(content).to_string()))
        }
        Answer::Form(Filled::Declined) => InputAnswer::Form(FormAnswer::Declined),
        Answer::Form(Filled::Dismissed) => InputAnswer::Form(FormAnswer::Dismissed),
        Answer::Model(text) => InputAnswer::Model(text),
        Answer::Roots(roots) => {
            let root = |Root { uri, name }| wit::Root { uri, name };
            InputAnswer::Roots(roots.into_iter().map(root).collect())
        }
    }
}
