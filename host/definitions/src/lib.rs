//! Reads the tool definitions of a component without giving it any access.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};
use wasmtime::component::types::{ComponentItem, Type};
use wasmtime::component::{Component, ComponentExportIndex, Linker, Val};
use wasmtime::{Engine, Store, StoreLimitsBuilder, Trap};

/// Interface that a component exports to provide tools of this project's own kind.
pub const TOOL_INTERFACE: &str = "scorpiox:tool/tool@0.1.0";

/// Lists that a component can provide: the name, the interface, and the function.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools", TOOL_INTERFACE, "list-tools"),
    ("prompts", "scorpiox:tool/prompts@0.1.0", "list-prompts"),
    ("resources", "scorpiox:tool/resources@0.1.0", "list-resources"),
    ("templates", "scorpiox:tool/resources@0.1.0", "list-templates"),
];

/// Maximum time for a component to list its tools.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum memory for listing tools, in bytes.
pub const MEMORY_BYTES: usize = 64 * 1024 * 1024;
/// Maximum size of the lists in the host's memory, in bytes.
const SAID_BYTES: usize = 8 * 1024 * 1024;

/// Returns the tools as JSON. While a component lists its tools, its environment appears empty: each
/// capability returns an empty list.
pub fn read(engine: &Engine, component: &Component) -> Result<Value> {
    let mut lists = read_lists(engine, component)?;
    lists.remove("tools").context("the component exports no tools")
}

/// Returns all lists of a component by name: `tools`, `prompts`, `resources`, `templates`.
pub fn read_lists(engine: &Engine, component: &Component) -> Result<Map<String, Value>> {
    let lists = lists(component)?;
    let mut linker = Linker::new(engine);
    link_empty(&mut linker, component, |_| true)?;
    let mut store = Store::new(engine, StoreLimitsBuilder::new().memory_size(MEMORY_BYTES).build());
    store.limiter(|limits| limits);
    store.set_hostcall_fuel(SAID_BYTES);
    store.set_epoch_deadline(1);
    let _watch = Watch::start(engine);
    let instance = linker.instantiate(&mut store, component)?;
    let mut read = Map::new();
    for (name, list, index) in lists {
        let function = instance.get_func(&mut store, index).context("a list is missing")?;
        let mut results = [Val::Bool(false)];
        function.call(&mut store, &[], &mut results).map_err(|error| unlisted(list, &error))?;
        let [list] = results;
        read.insert(name.to_owned(), plain(list)?);
    }
    Ok(read)
}

/// Returns all lists of a component whose other imports are already linked with functions that may suspend.
/// The caller limits the time.
pub async fn read_lists_waiting<T: Send + 'static>(
    component: &Component,
    linker: &Linker<T>,
    mut store: Store<T>,
) -> Result<Map<String, Value>> {
    let lists = lists(component)?;
    store.set_hostcall_fuel(SAID_BYTES);
    let instance = linker.instantiate_async(&mut store, component).await?;
    let mut read = Map::new();
    for (name, list, index) in lists {
        let function = instance.get_func(&mut store, index).context("a list is missing")?;
        let mut results = [Val::Bool(false)];
        let called = function.call_async(&mut store, &[], &mut results).await;
        called.map_err(|error| unlisted(list, &error))?;
        let [list] = results;
        read.insert(name.to_owned(), plain(list)?);
    }
    Ok(read)
}

/// Describes the failure of a function that lists, without the addresses of its code.
fn unlisted(list: &str, error: &wasmtime::Error) -> anyhow::Error {
    let cause = match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => format!("it ran for more than {} s", PATIENCE.as_secs()),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    anyhow!(
        "its {list} failed ({cause}); while it lists, it has no capabilities, {} s and {} MiB of memory, so that it has to \
         return a list that it knows",
        PATIENCE.as_secs(),
        MEMORY_BYTES / (1024 * 1024)
    )
}

/// Returns the lists that a component exports: the name, the function and its index.
fn lists(component: &Component) -> Result<Vec<(&'static str, &'static str, ComponentExportIndex)>> {
    let mut found = Vec::new();
    for (name, interface, function) in LISTS {
        let Some((_, interface)) = component.get_export(None, interface) else { continue };
        let missing = || format!("{function} is missing");
        let (item, index) = component.get_export(Some(&interface), function).with_context(missing)?;
        if !matches!(item, ComponentItem::ComponentFunc(_)) {
            bail!("{function} is not a function");
        }
        found.push((name, function, index));
    }
    Ok(found)
}

/// Stops the guests on an engine after [`PATIENCE`], unless it is dropped before.
pub struct Watch(#[allow(dead_code, reason = "its end is what counts")] Sender<()>);

impl Watch {
    /// Starts the timeout.
    pub fn start(engine: &Engine) -> Self {
        let (sender, ended): (_, Receiver<()>) = channel();
        let engine = engine.clone();
        thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        });
        Self(sender)
    }
}

/// Links the imports selected by `which` with functions that return empty results.
pub fn link_empty<T: 'static>(
    linker: &mut Linker<T>,
    component: &Component,
    which: impl Fn(&str) -> bool,
) -> Result<()> {
    let engine = linker.engine().clone();
    for (name, import) in component.component_type().imports(&engine) {
        if !which(name) {
            continue;
        }
        let ComponentItem::ComponentInstance(instance) = import.ty else {
            bail!("import {name} is not an interface")
        };
        let mut interface = linker.instance(name)?;
        for (function, item) in instance.exports(&engine) {
            if matches!(item.ty, ComponentItem::ComponentFunc(_)) {
                interface.func_new(function, |_, ty, _, results| match (results, ty.results().next()) {
                    ([result], Some(Type::List(_))) => {
                        *result = Val::List(Vec::new());
                        Ok(())
                    }
                    _ => Err(wasmtime::Error::msg("a capability was used to list tools")),
                })?;
            }
        }
    }
    Ok(())
}

/// Converts a definition to JSON. Schemas, which are JSON texts, become JSON values.
fn plain(value: Val) -> Result<Value> {
    Ok(match value {
        Val::Bool(flag) => json!(flag),
        Val::String(text) => json!(text),
        Val::List(items) => Value::Array(items.into_iter().map(plain).collect::<Result<_>>()?),
        Val::Option(None) => Value::Null,
        Val::Option(Some(inner)) => plain(*inner)?,
        Val::Record(fields) => {
            let mut object = Map::new();
            for (name, field) in fields {
                let value = plain(field)?;
                let value = match value {
                    Value::String(text) if name.ends_with("-schema") => {
                        serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))?
                    }
                    other => other,
                };
                object.insert(name.replace('-', "_"), value);
            }
            Value::Object(object)
        }
        other => bail!("a tool definition has no {other:?}"),
    })
}
