//! A component that is ready to run.

use std::sync::{Arc, OnceLock};

use wasmtime::Engine;
use wasmtime::component::{Component as Compiled, InstancePre, Linker};

use super::{CallState, Fault, Limits};
use crate::bindings::any_tool::AnyToolPre;
use crate::bindings::plan_aware::PlanAwarePre;
use crate::bindings::skill_reader::SkillReaderPre;
use crate::bindings::timed::TimedPre;
use crate::capabilities::Capability;

/// Where a component's code comes from.
#[derive(Clone, Copy)]
pub enum Binary {
    /// Compiled while this program was built, by `scorpiox-precompile` with the same
    /// engine configuration, and part of this program.
    Precompiled(&'static [u8]),
    /// A WebAssembly component that is compiled when it is first used.
    Wasm(&'static [u8]),
}

/// A component with what it is granted. Loaded when it is first called.
pub struct Component {
    /// Names its data; unique.
    pub name: Arc<str>,
    /// What it may do.
    pub grants: &'static [Capability],
    /// What a call of it may use.
    pub limits: Limits,
    binary: Binary,
    loaded: OnceLock<Result<Loaded, String>>,
}

/// The instance template, and the exports that it turned out to have.
pub(super) struct Loaded {
    pub(super) template: InstancePre<CallState>,
    pub(super) tool: AnyToolPre<CallState>,
    pub(super) plan: Option<PlanAwarePre<CallState>>,
    pub(super) timed: Option<TimedPre<CallState>>,
    pub(super) skills: Option<SkillReaderPre<CallState>>,
}

impl Component {
    /// A component that is not loaded yet.
    pub fn new(name: &str, binary: Binary, grants: &'static [Capability]) -> Self {
        Self { name: name.into(), grants, limits: Limits::default(), binary, loaded: OnceLock::new() }
    }

    pub(super) fn load(&self, engine: &Engine) -> Result<&Loaded, Fault> {
        let loaded = self.loaded.get_or_init(|| {
            let loaded = Loaded::new(engine, self.binary, self.grants);
            loaded.map_err(|error| format!("{error:#}"))
        });
        loaded.as_ref().map_err(|error| Fault::Unusable(error.clone()))
    }
}

impl Loaded {
    fn new(engine: &Engine, binary: Binary, grants: &[Capability]) -> wasmtime::Result<Self> {
        let compiled = compiled(engine, binary)?;
        let mut linker = Linker::new(engine);
        for grant in grants {
            grant.link(&mut linker)?;
        }
        let template = linker.instantiate_pre(&compiled)?;
        Ok(Self {
            tool: AnyToolPre::new(template.clone())?,
            plan: PlanAwarePre::new(template.clone()).ok(),
            timed: TimedPre::new(template.clone()).ok(),
            skills: SkillReaderPre::new(template.clone()).ok(),
            template,
        })
    }
}

fn compiled(engine: &Engine, binary: Binary) -> wasmtime::Result<Compiled> {
    match binary {
        // SAFETY: `deserialize` trusts its input like a shared library. These bytes were made
        // by this project's own build and are part of this program's file; whoever can change
        // them can change the program.
        #[allow(unsafe_code)]
        Binary::Precompiled(bytes) => unsafe { Compiled::deserialize(engine, bytes) },
        Binary::Wasm(bytes) => Compiled::new(engine, bytes),
    }
}
