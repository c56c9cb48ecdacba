//! Third step: runs a tool of any kind.

use scorpiox_capabilities::ask::Asked;
use scorpiox_executor::Cancel;
use scorpiox_metering::records::CallError;
use scorpiox_questions::Questions;
use scorpiox_runtime::{Component, Fault};
use scorpiox_shell::{HostAnswer, Shell, Target};
use scorpiox_tools::{Call, Kind, Output, ToolHost};

use super::approval;
use super::permit::answer_by;
use crate::client::Client;
use crate::component_call::{self, Invocation};
use crate::scope::Scope;
use crate::{plan_notes, skill_component};

/// Result of running a tool.
pub(crate) struct Ran {
    pub(crate) outcome: Result<Output, CallError>,
    /// `true` if messages wait for a result; `None` if the call did not check the store.
    pub(super) messages_waiting: Option<bool>,
}

impl From<CallError> for Ran {
    fn from(error: CallError) -> Self {
        Self { outcome: Err(error), messages_waiting: None }
    }
}

/// Runs a permitted tool of any kind.
pub(crate) fn run(scope: &Scope<'_>, invocation: &Invocation<'_>) -> Ran {
    let &Invocation { tool, arguments, client, room, .. } = invocation;
    match &tool.kind {
        Kind::Native(native) => {
            let call = Call {
                arguments,
                cancel: scope.cancel(),
                room,
                answer_by: answer_by(scope),
                prefix: scope.prefix(),
                streams: scope.workspace().settings.streaming() && scope.progress.is_wanted(),
                uses: &scope.uses,
                host: &HostOf { scope, client },
                answer_within: scope.session.answer_within(),
            };
            Ran { outcome: native.call(&call).map_err(CallError::Tool), messages_waiting: None }
        }
        Kind::Wasm { component, .. } => {
            let mut ran = run_component(scope, component, &tool.name, invocation);
            if let Ok(output) = &mut ran.outcome {
                plan_notes::add(scope, &tool.name, arguments, output);
            }
            ran
        }
        Kind::Plugin { component, inner, .. } => {
            if let Some((plugin, rule)) = scope.workspace().plugins.runs_by(&tool.name) {
                scope.uses.allowed("plugins", plugin, rule);
            }
            run_component(scope, component, inner, invocation)
        }
    }
}

/// Host functions for a native tool.
struct HostOf<'a> {
    scope: &'a Scope<'a>,
    client: &'a Client,
}

impl ToolHost for HostOf<'_> {
    fn shell(&self) -> &Shell {
        self.scope.workspace().shell()
    }

    fn active_plan(&self) -> Result<Option<String>, Fault> {
        self.scope.workspace().active_plan()
    }

    fn ask(&self, questions: &Questions, rule: &'static str) -> Asked {
        self.client.ask(questions, &self.scope.uses, rule)
    }

    fn ask_about_host(&self, command: &str, target: &Target, withdrawn: &Cancel) -> HostAnswer {
        approval::ask_about_host(self.scope, self.client, command, target, withdrawn)
    }

    fn report(&self, message: &str) {
        self.scope.progress.report(message);
    }
}

/// Runs a component's tool, which the component calls `inner`.
fn run_component(scope: &Scope<'_>, component: &Component, inner: &str, invocation: &Invocation<'_>) -> Ran {
    match component_call::run(scope, component, inner, invocation) {
        Ok(finished) => {
            let (messages_waiting, invoked) = (finished.messages_waiting, finished.skills.invoked().cloned());
            let mut outcome = component_call::outcome(finished);
            if let (Ok(output), Some(invoked)) = (&mut outcome, invoked) {
                skill_component::run(scope, &invoked, invocation, output);
            }
            Ran { outcome, messages_waiting }
        }
        Err(error) => error.into(),
    }
}
