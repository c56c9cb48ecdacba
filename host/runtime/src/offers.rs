//! Prompts, resources, and completion that plugin components offer in addition to tools.
//!
//! Each call has the limits of a tool call, and counts as one.

use scorpiox_capabilities::contents::{self, ResourceContents};
use scorpiox_capabilities::setup::Setup;
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::call::{Verdict, waiting};
use super::component::Loaded;
use super::pool::MAX_SHIPPED_CALLS;
use super::{CallState, Component, Fault, Finished, Runtime};
use crate::bindings::any_tool::exports::scorpiox::tool::tool::ToolError;
use crate::bindings::completing::CompletingPre;
use crate::bindings::completing_waiting::CompletingPre as WaitingCompletingPre;
use crate::bindings::prompting::PromptingPre;
use crate::bindings::prompting::scorpiox::tool::offers::{
    CompletionRequest, Completions, FilledPrompt, ReadError,
};
use crate::bindings::prompting_waiting::PromptingPre as WaitingPromptingPre;
use crate::bindings::resourceful::ResourcefulPre;
use crate::bindings::resourceful_waiting::ResourcefulPre as WaitingResourcefulPre;

/// Interfaces that a component exports for prompts, resources and completion.
pub const OFFER_INTERFACES: [&str; 3] =
    ["scorpiox:tool/prompts@0.1.0", "scorpiox:tool/resources@0.1.0", "scorpiox:tool/completion@0.1.0"];

/// Returns `true` if an export is one of [`OFFER_INTERFACES`], regardless of its version.
pub fn is_offer(export: &str) -> bool {
    let name = export.split('@').next().unwrap_or_default();
    OFFER_INTERFACES.iter().any(|own| own.split('@').next() == Some(name))
}

/// Bindings of an export, for synchronous or asynchronous components.
pub(super) enum Export<P, W> {
    Plain(P),
    Waiting(W),
}

/// Prompt, resource and completion exports of a component.
#[derive(Default)]
pub(super) struct Offers {
    prompts: Option<Export<PromptingPre<CallState>, WaitingPromptingPre<CallState>>>,
    resources: Option<Export<ResourcefulPre<CallState>, WaitingResourcefulPre<CallState>>>,
    completion: Option<Export<CompletingPre<CallState>, WaitingCompletingPre<CallState>>>,
}

impl Offers {
    pub(super) fn of(template: &InstancePre<CallState>, waits: bool) -> Self {
        macro_rules! export {
            ($plain:ident, $waiting:ident) => {
                if waits {
                    $waiting::new(template.clone()).ok().map(Export::Waiting)
                } else {
                    $plain::new(template.clone()).ok().map(Export::Plain)
                }
            };
        }
        Self {
            prompts: export!(PromptingPre, WaitingPromptingPre),
            resources: export!(ResourcefulPre, WaitingResourcefulPre),
            completion: export!(CompletingPre, WaitingCompletingPre),
        }
    }

    /// Returns `true` if the component offers prompts or resources.
    pub(super) fn is_any(&self) -> bool {
        self.prompts.is_some() || self.resources.is_some()
    }
}

fn missing(what: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("the component exports no {what}"))
}

impl Runtime {
    /// Expands a prompt.
    pub fn get_prompt(
        &self,
        component: &Component,
        setup: &Setup,
        name: &str,
        arguments: &[(String, String)],
    ) -> Result<Finished<Result<FilledPrompt, ToolError>>, Fault> {
        let judge = |filled: &Result<FilledPrompt, ToolError>| match filled {
            Ok(filled) => {
                let of_messages = filled.messages.iter().map(|message| contents::bytes(&message.content));
                Verdict::Keep { output_bytes: of_messages.sum() }
            }
            Err(_) => Verdict::Discard,
        };
        self.offered(
            component,
            setup,
            |loaded, store| match &loaded.offers.prompts {
                None => Err(missing("prompts")),
                Some(Export::Plain(export)) => {
                    let instance = export.instantiate(&mut *store)?;
                    instance.scorpiox_tool_prompts().call_get_prompt(store, name, arguments)
                }
                Some(Export::Waiting(export)) => waiting(component, setup, async {
                    let instance = export.instantiate_async(&mut *store).await?;
                    instance.scorpiox_tool_prompts().call_get_prompt(store, name, arguments).await
                }),
            },
            judge,
        )
    }

    /// Reads the resource at a URI.
    pub fn read_resource(
        &self,
        component: &Component,
        setup: &Setup,
        uri: &str,
    ) -> Result<Finished<Result<Vec<ResourceContents>, ReadError>>, Fault> {
        let judge = |read: &Result<Vec<ResourceContents>, ReadError>| match read {
            Ok(read) => Verdict::Keep { output_bytes: read.iter().map(contents::resource_bytes).sum() },
            Err(_) => Verdict::Discard,
        };
        self.offered(
            component,
            setup,
            |loaded, store| match &loaded.offers.resources {
                None => Err(missing("resources")),
                Some(Export::Plain(export)) => {
                    export.instantiate(&mut *store)?.scorpiox_tool_resources().call_read(store, uri)
                }
                Some(Export::Waiting(export)) => waiting(component, setup, async {
                    let instance = export.instantiate_async(&mut *store).await?;
                    instance.scorpiox_tool_resources().call_read(store, uri).await
                }),
            },
            judge,
        )
    }

    /// Completes an argument that the user types; `None` if the component does not export completion.
    pub fn complete(
        &self,
        component: &Component,
        setup: &Setup,
        request: &CompletionRequest,
    ) -> Result<Option<Result<Completions, String>>, Fault> {
        let finished = self.offered(
            component,
            setup,
            |loaded, store| match &loaded.offers.completion {
                None => Ok(None),
                Some(Export::Plain(export)) => {
                    let instance = export.instantiate(&mut *store)?;
                    instance.scorpiox_tool_completion().call_complete(store, request).map(Some)
                }
                Some(Export::Waiting(export)) => waiting(component, setup, async {
                    let instance = export.instantiate_async(&mut *store).await?;
                    instance.scorpiox_tool_completion().call_complete(store, request).await.map(Some)
                }),
            },
            |_| Verdict::Discard,
        )?;
        Ok(finished.value)
    }

    fn offered<T>(
        &self,
        component: &Component,
        setup: &Setup,
        body: impl Fn(&Loaded, &mut Store<CallState>) -> wasmtime::Result<T>,
        judge: impl Fn(&T) -> Verdict,
    ) -> Result<Finished<T>, Fault> {
        let _place = component.enter().ok_or(Fault::Busy(component.most_calls))?;
        let _of_shipped = self.shipped.enter(MAX_SHIPPED_CALLS).ok_or(Fault::Busy(MAX_SHIPPED_CALLS))?;
        self.transact(component, setup, body, judge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_known_whatever_their_version() {
        assert!(OFFER_INTERFACES.iter().all(|name| is_offer(name)));
        assert!(is_offer("scorpiox:tool/prompts@0.2.0"));
        for other in ["scorpiox:tool/tool@0.1.0", "a:b/prompts@0.1.0", "prompts", ""] {
            assert!(!is_offer(other), "{other}");
        }
    }
}
