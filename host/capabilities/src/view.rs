//! How a capability reaches its part of a call, in the shape of wasmtime's own: a *context* holds what the
//! capability needs for one call, a *view* borrows it while the guest calls in, and `add_to_linker` takes
//! any state of a store that gives such views.
//!
//! A capability's module has a type that is [`Provided`], and implements the host's trait of its WIT interface
//! for the [`View`] of that type. It knows nothing of other capabilities, nor of who assembles them.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_audit::{APPROVAL, BUILT_IN, Uses};
use scorpiox_store::LazyTransaction;
use wasmtime::component::{HasData, Linker};

use super::approved::Approved;
use super::setup::{Grantee, Setup};

/// A call, and what all capabilities have to know of it.
pub struct CallCtx {
    /// Whose data and timers these are: the component's name.
    pub name: Arc<str>,
    /// For components of others.
    pub approved: Option<Arc<Approved>>,
    /// Told of what the capabilities decide.
    pub uses: Uses,
    /// How long the person and the model took for answers.
    pub asked_for: Duration,
    /// Until when a component of others may wait for commands, without [`Self::asked_for`].
    pub deadline: Option<Instant>,
    /// What the call stores, and its timers: commits with the result.
    pub transaction: LazyTransaction,
}

impl CallCtx {
    /// A call that begins now.
    pub(super) fn new(setup: &Setup, grantee: &Grantee<'_>, transaction: LazyTransaction) -> Self {
        Self {
            name: Arc::clone(grantee.name),
            approved: grantee.approved.cloned(),
            uses: setup.uses.clone(),
            asked_for: Duration::ZERO,
            deadline: grantee.waiting.map(|time| Instant::now() + time),
            transaction,
        }
    }

    /// Notes that a capability was used, which the program gives its own components and a person others.
    pub fn use_of(&self, capability: &'static str) {
        self.uses.once(capability, if self.approved.is_some() { APPROVAL } else { BUILT_IN });
    }
}

/// A capability's context, and the call, while the guest calls in.
pub struct View<'a, C> {
    /// What the capability needs for this call.
    pub ctx: &'a mut C,
    /// The call.
    pub call: &'a mut CallCtx,
}

/// The state of a store that gives a capability its view.
pub trait HasCtx<C>: 'static {
    /// The view.
    fn view(&mut self) -> View<'_, C>;
}

/// For `add_to_linker` of generated bindings: what is borrowed is a [`View`].
pub(super) struct Viewed<C>(PhantomData<C>);

impl<C: 'static> HasData for Viewed<C> {
    type Data<'a> = View<'a, C>;
}

/// The context of a capability.
pub trait Provided: Sized + 'static {
    /// The name of the capability, which is its WIT interface's.
    const NAME: &'static str;
    /// What it allows, for people: it follows "may".
    const MAY: &'static str;

    /// The context of a call that begins now.
    fn new(setup: &Setup, grantee: &Grantee<'_>) -> Self;

    /// Puts the interface into a linker. A component that is not linked with it cannot use it.
    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()>;
}
