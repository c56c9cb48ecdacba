//! Access of a capability to its part of a call. The structure follows wasmtime: a *context* contains the
//! capability's state for one call, a *view* borrows it while the guest calls the host, and `add_to_linker`
//! accepts any store state that provides such views.
//!
//! A capability's module has a type that implements [`Provided`], and implements the host trait of its WIT
//! interface for the [`View`] of that type. It does not know other capabilities, nor the code that assembles
//! them.

use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_audit::{APPROVAL, BUILT_IN, Uses};
use scorpiox_plugin::ComponentName;
use scorpiox_store::LazyTransaction;
use wasmtime::component::{HasData, Linker};

use super::approved::Approved;
use super::setup::{Grantee, Setup};

/// Properties of a call that all capabilities need.
pub struct CallCtx {
    /// Name of the component, which owns the data and timers.
    pub name: ComponentName,
    /// Approved permissions of a plugin component.
    pub approved: Option<Arc<Approved>>,
    /// Record of the capabilities' decisions.
    pub uses: Uses,
    /// Name of the host function that the guest called last, in its interface.
    pub(super) function: &'static str,
    /// Time that the user and the model took for answers.
    pub asked_for: Duration,
    /// Deadline until which a plugin component may wait for commands, excluding [`Self::asked_for`].
    pub deadline: Option<Instant>,
    /// Transaction for the call's data and timers; it is committed with the result.
    pub transaction: LazyTransaction,
}

impl CallCtx {
    /// Creates the state of a new call.
    pub(super) fn new(setup: &Setup, grantee: &Grantee<'_>, transaction: LazyTransaction) -> Self {
        Self {
            name: grantee.name.clone(),
            approved: grantee.approved.cloned(),
            uses: setup.uses.clone(),
            function: "",
            asked_for: Duration::ZERO,
            deadline: grantee.waiting.map(|time| Instant::now() + time),
            transaction,
        }
    }

    /// Records the use of a capability. The program grants it to built-in components, and the user to
    /// plugins.
    pub fn use_of(&self, capability: &'static str) {
        self.uses.once(capability, if self.approved.is_some() { APPROVAL } else { BUILT_IN });
    }

    /// Records the error that the function of an interface returns to the guest. Languages with exceptions often report
    /// an error that nobody catches without its content.
    pub(super) fn failed(&self, interface: &'static str, error: &impl Debug) {
        self.failed_because(interface, spelled(error));
    }

    /// Like [`Self::failed`], for an error that is a text.
    pub(super) fn failed_because(&self, interface: &'static str, why: impl Display) {
        self.uses.failed(format_args!("scorpiox:tool/{interface}.{}", self.function), why);
    }
}

/// Spells a case of a WIT variant as its interface does: `quota-exceeded(65536)`. Any other text stays as it is.
fn spelled(error: &impl Debug) -> String {
    let text = format!("{error:?}");
    let text = text.strip_prefix("Error::").unwrap_or(&text);
    // The text of a string begins with a quote, and has no case.
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let mut name = String::new();
    for c in text[..end].chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(c.to_ascii_lowercase());
    }
    name + &text[end..]
}

/// A capability's context and the call, borrowed while the guest calls the host.
pub struct View<'a, C> {
    /// Context of the capability.
    pub ctx: &'a mut C,
    /// State of the call.
    pub call: &'a mut CallCtx,
}

/// State of a store that provides a view to a capability.
pub trait HasCtx<C>: 'static {
    /// Returns the view.
    fn view(&mut self) -> View<'_, C>;
}

/// Marker for `add_to_linker` of generated bindings, which then borrow a [`View`].
pub(super) struct Viewed<C>(PhantomData<C>);

impl<C: 'static> HasData for Viewed<C> {
    type Data<'a> = View<'a, C>;
}

/// Context of a capability.
pub trait Provided: Sized + 'static {
    /// Name of the capability, which is also the name of its WIT interface.
    const NAME: &'static str;
    /// Description of the permission for users; it follows "may".
    const MAY: &'static str;

    /// Creates the context of a new call.
    fn new(setup: &Setup, grantee: &Grantee<'_>) -> Self;

    /// Adds the interface to a linker. A component that is not linked with the interface cannot use it.
    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_spelled_as_in_wit() {
        #[derive(Debug)]
        #[allow(dead_code, reason = "the fields are shown")]
        enum Error {
            Denied(&'static str),
            QuotaExceeded(u64),
            NoBrowser,
        }
        assert_eq!(spelled(&Error::Denied("a(B)")), r#"denied("a(B)")"#);
        assert_eq!(spelled(&Error::QuotaExceeded(65536)), "quota-exceeded(65536)");
        assert_eq!(spelled(&Error::NoBrowser), "no-browser");
        let text = "the MIME type \"X/Y\" (of an image)".to_owned();
        assert_eq!(spelled(&text), format!("{text:?}"));
    }
}
