//! `wasi:config`: values from `plugin.toml`, which were approved with the plugin, secrets that the user set, and
//! granted environment variables.

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Linker, Lower};

use super::HasWasi;

/// Names under which components import the interface.
pub(super) const NAMES: [&str; 3] =
    ["wasi:config/store@0.2.0-rc.1", "wasi:config/store@0.2.0-draft", "wasi:config/runtime@0.2.0-draft"];

/// Errors of the interface. They never occur, because all values are in memory.
#[derive(Debug, ComponentType, Lower)]
#[component(variant)]
#[allow(dead_code, reason = "the interface has these")]
enum Error {
    #[component(name = "upstream")]
    Upstream(String),
    #[component(name = "io")]
    Io(String),
}

type One = Result<Option<String>, Error>;
type All = Result<Vec<(String, String)>, Error>;

/// Adds the interface to a linker.
pub(super) fn link<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    for name in NAMES {
        let mut interface = linker.instance(name)?;
        interface.func_wrap("get", |mut store: StoreContextMut<'_, T>, (key,): (String,)| {
            let value = store.data_mut().wasi().source.config().remove(&key);
            Ok::<(One,), _>((Ok(value),))
        })?;
        interface.func_wrap("get-all", |mut store: StoreContextMut<'_, T>, (): ()| {
            let all = store.data_mut().wasi().source.config().into_iter().collect();
            Ok::<(All,), _>((Ok(all),))
        })?;
    }
    Ok(())
}
