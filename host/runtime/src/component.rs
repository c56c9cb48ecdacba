//! A component that is ready to run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use scorpiox_audit::BUILT_IN;
use scorpiox_definitions::TOOL_INTERFACE;
use scorpiox_executor::{Cancel, Reason};
use scorpiox_plugin::ImageType;
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

/// Where a component's code comes from.
pub enum Binary {
    /// Compiled while this program was built, by `scorpiox-compiler` with the same
    /// engine configuration, and part of this program.
    Precompiled(&'static [u8]),
    /// Shipped by others: whoever has it has it compiled, or has kept it compiled.
    Shipped(Box<Load>),
}

/// Gives the compiled code of a component, for a call that may be cancelled meanwhile.
pub type Load = dyn Fn(&Engines, &Cancel) -> Result<Compiled, LoadError> + Send + Sync;

/// The plugin that a component is of, as lines of the audit name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginIdentity {
    /// Its name here.
    pub name: Arc<str>,
    /// Its version; empty if it says none.
    pub version: Arc<str>,
    /// The hash of all of it, which policies list.
    pub hash: Arc<str>,
    /// The hash of its component's bytes.
    pub component: Arc<str>,
}

/// A component with what it is granted. Loaded when it is first called.
pub struct Component {
    /// Names its data; unique.
    pub name: Arc<str>,
    /// The plugin that it is of, where others made it.
    pub plugin: Option<PluginIdentity>,
    /// What the audit calls it, where nobody else made it: with the beginning of its file's SHA-256.
    pub built_in: &'static str,
    /// What it may do.
    pub grants: Cow<'static, [Capability]>,
    /// What a call of it may use.
    pub limits: Limits,
    /// What a person approved, of a component that others ship.
    pub approved: Option<Arc<Approved>>,
    /// What a person set for it, read anew for each call.
    pub secrets: Option<Box<ReadSecrets>>,
    /// Functions whose bytes are an image, and of which kind.
    pub images: BTreeMap<String, ImageType>,
    /// What clients call its tools, by what the component calls them, where others made it.
    pub listed: BTreeMap<String, String>,
    /// Most calls of it that run at once.
    pub most_calls: u32,
    /// Instances of it that are kept.
    pub(super) kept: OfComponent,
    running: Places,
    binary: Binary,
    loaded: Once<Result<Loaded, String>>,
}

/// The instance template, and the exports that it turned out to have.
pub(super) struct Loaded {
    pub(super) template: InstancePre<CallState>,
    pub(super) calls: Calls,
    /// Whether it has WASI, whose functions may wait, or waits by itself.
    pub(super) waits: bool,
    pub(super) plan: Option<PlanAwarePre<CallState>>,
    pub(super) timed: Option<TimedPre<CallState>>,
    pub(super) skills: Option<SkillReaderPre<CallState>>,
    /// Of a component that others ship.
    pub(super) offers: Offers,
}

/// How its tools are called.
pub(super) enum Calls {
    /// By the project's own interface.
    Tool(AnyToolPre<CallState>),
    /// The same, where functions of the host may wait.
    WaitingTool(WaitingToolPre<CallState>),
    /// Each is a function.
    Functions(Functions),
}

impl Component {
    /// A component that is not loaded yet.
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

    /// A place for one more call; none when as many run as may.
    pub(super) fn enter(&self) -> Option<Place<'_>> {
        self.running.enter(self.most_calls)
    }

    /// Whether it may change something outside of its own data, so that a plan forbids it.
    pub fn changes_things(&self) -> bool {
        let writes = |approved: &Arc<Approved>| approved.folders.iter().any(|folder| folder.write);
        self.grants.contains(&Capability::Shell) || self.approved.as_ref().is_some_and(writes)
    }

    /// Whether a call of it may do what cannot be undone, so that it must not run twice.
    pub fn has_effects(&self) -> bool {
        let approved = self.approved.as_deref();
        let reaches_out = |approved: &Approved| {
            let Approved { hosts, sampling, forms, roots, .. } = approved;
            hosts.is_some() || sampling.is_some() || *forms || *roots
        };
        self.changes_things() || self.grants.contains(&Capability::Ask) || approved.is_some_and(reaches_out)
    }

    /// Whether others made it.
    pub(super) fn is_shipped(&self) -> bool {
        matches!(self.binary, Binary::Shipped(_))
    }

    /// What it is when it runs. One call loads it, and the others wait for that; who is cancelled waits no longer,
    /// and leaves the work to another one.
    pub(super) fn load(&self, engines: &Engines, cancel: &Cancel) -> Result<&Loaded, Fault> {
        let loaded = self.loaded.get_or_try_init(cancel, || {
            match Loaded::new(engines, &self.binary, &self.grants, cancel) {
                Ok(loaded) => Ok(Ok(loaded)),
                Err(LoadError::Cancelled(Reason::Overdue)) => {
                    let plugin = self.name.strip_prefix("plugin/").unwrap_or(&self.name);
                    Err(Fault::Uncompiled(plugin.to_owned()))
                }
                Err(LoadError::Cancelled(reason)) => Err(Fault::Cancelled(reason)),
                Err(LoadError::NotNow(why)) => Err(Fault::Unusable(why)),
                Err(LoadError::Never(why)) => Ok(Err(why)),
            }
        });
        loaded?.as_ref().map_err(|why| Fault::Unusable(why.clone()))
    }
}

/// Calls that run.
#[derive(Default)]
pub(super) struct Places(AtomicU32);

impl Places {
    /// A place for one more; none when `most` run.
    pub(super) fn enter(&self, most: u32) -> Option<Place<'_>> {
        let more = |running| (running < most).then(|| running + 1);
        let entered = self.0.try_update(Ordering::AcqRel, Ordering::Acquire, more);
        entered.is_ok().then_some(Place(&self.0))
    }
}

/// A call that runs.
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
        // SAFETY: `deserialize` trusts its input like a shared library. These bytes were made
        // by this project's own build and are part of this program's file; whoever can change
        // them can change the program.
        #[allow(unsafe_code)]
        Binary::Precompiled(bytes) => unsafe { Compiled::deserialize(engines.plain(), bytes) }
            .map_err(|error| LoadError::Never(format!("{error:#}"))),
        Binary::Shipped(load) => load(engines, cancel),
    }
}
