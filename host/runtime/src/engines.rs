//! Engines that compiled code runs on.
//!
//! There are two engines. Built-in tools and ordinary components run on the first. Components with
//! asynchronous exports (WASI 0.3) need an engine that tracks tasks for each call, which would slow down all
//! other calls. The second engine is created when the first such component is loaded.

use std::sync::OnceLock;

use wasmtime::Engine;
use wasmtime::component::Component as Compiled;

use super::pool::pooled_config;

/// Engines that compiled code runs on.
pub struct Engines {
    plain: Engine,
    concurrent: OnceLock<Result<Engine, String>>,
}

impl Engines {
    /// Creates the engine for many short calls.
    pub fn new() -> wasmtime::Result<Self> {
        // Without enough address space for the pool, calls are slower but work.
        let plain = Engine::new(&pooled_config())
            .or_else(|_| Engine::new(&scorpiox_component_abi::engine::config()))?;
        Ok(Self { plain, concurrent: OnceLock::new() })
    }

    /// Returns the engine for components without asynchronous exports.
    pub fn plain(&self) -> &Engine {
        &self.plain
    }

    /// Returns the engine for components with asynchronous exports. It does not pool instances: the number of
    /// tasks of a call is limited, but the number of those that need a separate stack is not known in
    /// advance.
    fn concurrent(&self) -> wasmtime::Result<&Engine> {
        let made = || {
            Engine::new(&scorpiox_component_abi::engine::concurrent_config())
                .map_err(|error| format!("{error:#}"))
        };
        self.concurrent.get_or_init(made).as_ref().map_err(|error| wasmtime::Error::msg(error.clone()))
    }

    /// Advances the epoch, so that running guests notice deadlines and cancellation.
    pub(super) fn increment_epoch(&self) {
        self.plain.increment_epoch();
        if let Some(Ok(engine)) = self.concurrent.get() {
            engine.increment_epoch();
        }
    }

    /// Loads compiled code on the engine that it was compiled for. wasmtime rejects code of the other engine
    /// by its header, before it reads the rest.
    pub(super) fn load(
        &self,
        load: impl Fn(&Engine) -> wasmtime::Result<Compiled>,
    ) -> wasmtime::Result<Compiled> {
        load(&self.plain).or_else(|error| self.concurrent().and_then(load).map_err(|_| error))
    }
}
