//! What compiled code runs on.
//!
//! There are two engines. Built-in tools and ordinary components run on the first. Components that wait by themselves, as
//! those of WASI 0.3 do, need one that keeps tasks for each call; others would pay for that with each of theirs. The
//! second is made when the first such component is loaded.

use std::sync::OnceLock;

use wasmtime::Engine;
use wasmtime::component::Component as Compiled;

use super::pool::pooled_config;

/// What compiled code runs on.
pub struct Engines {
    plain: Engine,
    concurrent: OnceLock<Result<Engine, String>>,
}

impl Engines {
    /// For many short calls.
    pub fn new() -> wasmtime::Result<Self> {
        // Without enough address space for the pool, calls are slower but work.
        let plain = Engine::new(&pooled_config()).or_else(|_| Engine::new(&scorpiox_engine::config()))?;
        Ok(Self { plain, concurrent: OnceLock::new() })
    }

    /// The one of components that do not wait by themselves.
    pub fn plain(&self) -> &Engine {
        &self.plain
    }

    /// The other one. Its instances come from no pool: how many tasks a call has is bounded, and how many of them have a
    /// stack of their own at a time is not known before.
    fn concurrent(&self) -> wasmtime::Result<&Engine> {
        let made =
            || Engine::new(&scorpiox_engine::concurrent_config()).map_err(|error| format!("{error:#}"));
        self.concurrent.get_or_init(made).as_ref().map_err(|error| wasmtime::Error::msg(error.clone()))
    }

    /// Lets running guests notice deadlines and cancels.
    pub(super) fn increment_epoch(&self) {
        self.plain.increment_epoch();
        if let Some(Ok(engine)) = self.concurrent.get() {
            engine.increment_epoch();
        }
    }

    /// What compiled code is on the engine that it was compiled for. wasmtime refuses that of the other one by what stands
    /// at its beginning, before it reads more of it.
    pub(super) fn load(
        &self,
        load: impl Fn(&Engine) -> wasmtime::Result<Compiled>,
    ) -> wasmtime::Result<Compiled> {
        load(&self.plain).or_else(|error| self.concurrent().and_then(load).map_err(|_| error))
    }
}
