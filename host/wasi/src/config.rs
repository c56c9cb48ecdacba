//! `wasi:config`: the values that `plugin.toml` sets, which were approved with it, and the secrets that a person set.

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Linker, Lower};

use super::HasWasi;

/// The interface by the names that components import it by.
pub(super) const NAMES: [&str; 3] =
    ["wasi:config/store@0.2.0-rc.1", "wasi:config/store@0.2.0-draft", "wasi:config/runtime@0.2.0-draft"];

/// What the interface calls errors. There are none here: all values are at hand.
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

/// Puts it into a linker.
pub(super) fn link<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    for name in NAMES {
        let mut interface = linker.instance(name)?;
        interface.func_wrap("get", |mut store: StoreContextMut<'_, T>, (key,): (String,)| {
            let source = &store.data_mut().wasi().source;
            let value = source.secrets.config.get(&key).or_else(|| source.approved.config.get(&key)).cloned();
            Ok::<(One,), _>((Ok(value),))
        })?;
        interface.func_wrap("get-all", |mut store: StoreContextMut<'_, T>, (): ()| {
            let source = &store.data_mut().wasi().source;
            let values = source.approved.config.iter().chain(&source.secrets.config);
            let all = values.map(|(key, value)| (key.clone(), value.clone())).collect();
            Ok::<(All,), _>((Ok(all),))
        })?;
    }
    Ok(())
}
