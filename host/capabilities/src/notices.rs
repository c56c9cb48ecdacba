//! Notifications to the client during a call: log messages, and changes of lists and resources.

use std::sync::Arc;

use super::ask::Counterpart;
use super::log::one_line;
use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use scorpiox_text::clean;
use wasmtime::component::Linker;
use wit::{Host, Lists};

pub use wit::Severity;

/// Maximum number of log messages, and of resource updates, in one call.
const MAX_MESSAGES: u32 = 100;

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/notices@0.1.0; }",
        imports: { default: trappable },
    });
    pub use scorpiox::tool::notices::*;
}

/// A list of this server that clients can watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
}

impl List {
    /// Returns the notification for a change of the list.
    pub fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }
}

/// Recipient of notifications, and those already sent.
pub struct NoticesCtx {
    counterpart: Option<Arc<dyn Counterpart>>,
    messages: u32,
    updated: u32,
    told: Lists,
}

impl Provided for NoticesCtx {
    const NAME: &'static str = "notices";
    const MAY: &'static str = "write to the client's log, and say that lists and its resources have changed";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { counterpart: setup.counterpart.clone(), messages: 0, updated: 0, told: Lists::empty() }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl View<'_, NoticesCtx> {
    fn plugin(&self) -> &str {
        self.call.name.shown()
    }
}

impl Host for View<'_, NoticesCtx> {
    fn log(&mut self, severity: Severity, message: String) -> wasmtime::Result<()> {
        self.ctx.messages = self.ctx.messages.saturating_add(1);
        if self.ctx.messages <= MAX_MESSAGES
            && let Some(counterpart) = &self.ctx.counterpart
        {
            counterpart.log(severity, self.plugin(), &one_line(&clean(&message)));
        }
        Ok(())
    }

    fn lists_changed(&mut self, which: Lists) -> wasmtime::Result<()> {
        let Some(counterpart) = &self.ctx.counterpart else { return Ok(()) };
        for (flag, list) in [(Lists::TOOLS, List::Tools), (Lists::PROMPTS, List::Prompts)] {
            if which.contains(flag) && !self.ctx.told.contains(flag) {
                counterpart.list_changed(list);
            }
        }
        self.ctx.told |= which;
        Ok(())
    }

    fn resource_updated(&mut self, uri: String) -> wasmtime::Result<()> {
        self.ctx.updated = self.ctx.updated.saturating_add(1);
        if self.ctx.updated <= MAX_MESSAGES
            && let Some(counterpart) = &self.ctx.counterpart
        {
            counterpart.resource_updated(self.plugin(), &uri);
        }
        Ok(())
    }
}
