//! A component that is ready to run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use scorpiox_audit::BUILT_IN;
use scorpiox_definitions::TOOL_INTERFACE;
use scorpiox_executor::{Cancel, Reason};
use scorpiox_plugin::{ComponentName, ImageType};
use wasmtime::Engine;
use wasmtime::component::{Component as Compiled, InstancePre, Linker};

use super::functions::Functions;
use super::instances::OfComponent;
use super::loading::Once;
use super::offers::Offers;
use super::{CallState, Engines, Fault, Limits, LoadError};
use crate::bindings::any_tool::AnyToolPre;
use crate::bindings::any_tool_waiting::AnyToolPre as WaitingToolPre;
use crate::bindings::plan_aware::PlanAwarePre;
use crate::bindings::skill_reader::SkillReaderPre;
use crate::bindings::timed::TimedPre;

use scorpiox_capabilities::Capability;
use scorpiox_capabilities::approved::Approved;
use scorpiox_wasi as wasi;
use scorpiox_wasi::secrets::ReadSecrets;

/// Source of a component's code.
pub enum Binary {
    /// Compiled by `scorpiox-compiler` with the same engine configuration at build time, and embedded in this
    /// program.
    Precompiled(&'static [u8]),
    /// Supplied by a plugin; the function compiles it or loads it from the cache.
    Shipped(Box<Load>),
}

/// Returns the compiled code of a component, for a call that may be cancelled in the meantime.
pub type Load = dyn Fn(&Engines, &Cancel) -> Result<Compiled, LoadError> + Send + Sync;

/// Identity of a component's plugin, as it appears in audit records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginIdentity {
    /// Name of the plugin in this installation.
    pub name: Arc<str>,
    /// Version of the plugin; empty if it declares none.
    pub version: Arc<str>,
    /// Hash of the complete plugin, which policies list.
    pub hash: Arc<str>,
    /// Hash of the component's bytes.
    pub component: Arc<str>,
}

/// A component with its grants. It is loaded on the first call.
pub struct Component {
    /// Unique name, under which the component's data is stored.
    pub name: ComponentName,
    /// Plugin that the component belongs to; `None` for built-in components.
    pub plugin: Option<PluginIdentity>,
    /// Name of a built-in component in the audit log, with the beginning of its file's SHA-256.
    pub built_in: &'static str,
    /// Capabilities granted to the component.
    pub grants: Cow<'static, [Capability]>,
    /// Limits of a call.
    pub limits: Limits,
    /// Permissions that the user approved for a plugin component.
    pub approved: Option<Arc<Approved>>,
    /// Secrets that the user set for the component, read again for each call.
    pub secrets: Option<Box<ReadSecrets>>,
    /// Functions that return an image as bytes, with the image's type.
    pub images: BTreeMap<String, ImageType>,
    /// Names under which clients see a plugin's tools, by the component's own names.
    pub listed: BTreeMap<String, String>,
    /// Maximum number of concurrent calls.
    pub most_calls: u32,
    /// Instances of the component that are retained between calls.
    pub(super) kept: OfComponent,
    running: Places,
    binary: Binary,
    loaded: Once<Result<Loaded, String>>,
}

/// Linked component, with the exports found in it.
pub(super) struct Loaded {
    pub(super) template: InstancePre<CallState>,
    pub(super) calls: Calls,
    /// `true` if the component imports WASI, whose functions may suspend, or runs on the concurrent engine.
    pub(super) waits: bool,
    pub(super) plan: Option<PlanAwarePre<CallState>>,
    pub(super) timed: Option<TimedPre<CallState>>,
    pub(super) skills: Option<SkillReaderPre<CallState>>,
    /// Prompts, resources and completion of a plugin component.
    pub(super) offers: Offers,
}

/// Way in which the component's tools are called.
pub(super) enum Calls {
    /// Through the `scorpiox:tool/tool` interface.
    Tool(AnyToolPre<CallState>),
    /// Through the `scorpiox:tool/tool` interface, with host functions that may suspend.
    WaitingTool(WaitingToolPre<CallState>),
    /// Each exported function is a tool.
    Functions(Functions),
}

impl Component {
    /// Creates a component that is loaded on its first call.
    pub fn new(name: &str, binary: Binary, grants: impl Into<Cow<'static, [Capability]>>) -> Self {
        let (grants, limits) = (grants.into(), Limits::default());
        Self {
            name: name.into(),
            plugin: None,
            built_in: BUILT_IN,
            grants,
            limits,
            approved: None,
            secrets: None,
            images: BTreeMap::new(),
            listed: BTreeMap::new(),
            kept: OfComponent::default(),
            most_calls: u32::MAX,
            running: Places::default(),
            binary,
            loaded: Once::default(),
        }
    }

    /// Reserves a slot for one more call; `None` if the maximum number of calls is running.
    pub(super) fn enter(&self) -> Option<Place<'_>> {
        self.running.enter(self.most_calls)
    }

    /// Returns `true` if the component can change anything other than its own data, so that a plan forbids
    /// calling it.
    pub fn changes_things(&self) -> bool {
        let writes = |approved: &Arc<Approved>| approved.folders.iter().any(|folder| folder.write);
        self.grants.contains(&Capability::Shell) || self.approved.as_ref().is_some_and(writes)
    }

    /// Returns `true` if a call can have effects that cannot be undone, so that it must not run twice.
    pub fn has_effects(&self) -> bool {
        let approved = self.approved.as_deref();
        let reaches_out = |approved: &Approved| {
            let Approved { hosts, sampling, forms, roots, .. } = approved;
            hosts.is_some() || sampling.is_some() || *forms || *roots
        };
        self.changes_things() || self.grants.contains(&Capability::Ask) || approved.is_some_and(reaches_out)
    }

    /// Returns `true` if the component belongs to a plugin.
    pub(super) fn is_shipped(&self) -> bool {
        matches!(self.binary, Binary::Shipped(_))
    }

    /// Returns the loaded component. The first call loads it, and concurrent calls wait. A cancelled call
    /// stops waiting or loading, and another call takes over.
    pub(super) fn load(&self, engines: &Engines, cancel: &Cancel) -> Result<&Loaded, Fault> {
        let loaded = self.loaded.get_or_try_init(cancel, || {
            match Loaded::new(engines, &self.binary, &self.grants, cancel) {
                Ok(loaded) => Ok(Ok(loaded)),
                Err(LoadError::Cancelled(Reason::Overdue)) => {
                    Err(Fault::Uncompiled(self.name.shown().to_owned()))
                }
                Err(LoadError::Cancelled(reason)) => Err(Fault::Cancelled(reason)),
                Err(LoadError::NotNow(why)) => Err(Fault::Unusable(why)),
                Err(LoadError::Never(why)) => Ok(Err(why)),
            }
        });
        loaded?.as_ref().map_err(|why| Fault::Unusable(why.clone()))
    }
}

/// Number of running calls.
#[derive(Default)]
pub(super) struct Places(AtomicU32);

impl Places {
    /// Reserves a slot for one more call; `None` if `most` calls are running.
    pub(super) fn enter(&self, most: u32) -> Option<Place<'_>> {
        let more = |running| (running < most).then(|| running + 1);
        let entered = self.0.try_update(Ordering::AcqRel, Ordering::Acquire, more);
        entered.is_ok().then_some(Place(&self.0))
    }
}

/// A running call.
pub(super) struct Place<'a>(&'a AtomicU32);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Loaded {
    fn new(
        engines: &Engines,
        binary: &Binary,
        grants: &[Capability],
        cancel: &Cancel,
    ) -> Result<Self, LoadError> {
        let compiled = compiled(engines, binary, cancel)?;
        let is_concurrent = !Engine::same(compiled.engine(), engines.plain());
        let is_shipped = matches!(binary, Binary::Shipped(_));
        Self::linked(&compiled, (is_concurrent, is_shipped), grants)
            .map_err(|error| LoadError::Never(format!("{error:#}")))
    }

    fn linked(
        compiled: &Compiled,
        (is_concurrent, is_shipped): (bool, bool),
        grants: &[Capability],
    ) -> wasmtime::Result<Self> {
        let engine = compiled.engine();
        let mut linker = Linker::new(engine);
        for grant in grants {
            grant.add_to_linker(&mut linker)?;
        }
        let ty = compiled.component_type();
        let imports_any = |which: fn(&str) -> bool| ty.imports(engine).any(|(name, _)| which(name));
        if imports_any(wasi::is_wasi) {
            CallState::link_wasi(&mut linker, imports_any(wasi::is_newer))?;
        }
        let waits = is_concurrent || imports_any(wasi::is_wasi);
        let template = linker.instantiate_pre(compiled)?;
        let offers = if is_shipped { Offers::of(&template, waits) } else { Offers::default() };
        Ok(Self {
            calls: calls(compiled, &template, waits, offers.is_any())?,
            offers,
            waits,
            plan: PlanAwarePre::new(template.clone()).ok(),
            timed: TimedPre::new(template.clone()).ok(),
            skills: SkillReaderPre::new(template.clone()).ok(),
            template,
        })
    }
}

fn calls(
    compiled: &Compiled,
    template: &InstancePre<CallState>,
    waits: bool,
    offers_any: bool,
) -> wasmtime::Result<Calls> {
    if compiled.get_export_index(None, TOOL_INTERFACE).is_some() {
        let template = template.clone();
        return Ok(if waits {
            Calls::WaitingTool(WaitingToolPre::new(template)?)
        } else {
            Calls::Tool(AnyToolPre::new(template)?)
        });
    }
    let (functions, _) = Functions::of(compiled);
    if functions.is_empty() && !offers_any {
        return Err(wasmtime::Error::msg(format!("it exports neither {TOOL_INTERFACE} nor a function")));
    }
    Ok(Calls::Functions(functions))
}

fn compiled(engines: &Engines, binary: &Binary, cancel: &Cancel) -> Result<Compiled, LoadError> {
    match binary {
        // SAFETY: `deserialize` trusts its input like a shared library. These bytes come from this project's
        // own build and are part of this program's file; anybody who can change them can change the program.
        #[allow(unsafe_code)]
        Binary::Precompiled(bytes) => unsafe { Compiled::deserialize(engines.plain(), bytes) }
            .map_err(|error| LoadError::Never(format!("{error:#}"))),
        Binary::Shipped(load) => load(engines, cancel),
    }
}
