//! Asks a component for its tools.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, Val};
use wasmtime::{Engine, Store};

const TOOL_INTERFACE: &str = "scorpiox:tool/tool@0.1.0";

/// The tools as JSON, or null for a component whose tools depend on what it finds at
/// run time: it uses a capability to list them, and there is none while building.
pub(crate) fn read(engine: &Engine, bytes: &[u8]) -> Result<Value> {
    let component = Component::new(engine, bytes)?;
    let (_, interface) =
        component.get_export(None, TOOL_INTERFACE).context("the component exports no tools")?;
    let (item, list_tools) =
        component.get_export(Some(&interface), "list-tools").context("list-tools is missing")?;
    if !matches!(item, ComponentItem::ComponentFunc(_)) {
        bail!("list-tools is no function");
    }
    let mut linker = Linker::<()>::new(engine);
    linker.define_unknown_imports_as_traps(&component)?;
    let mut store = Store::new(engine, ());
    store.set_epoch_deadline(u64::MAX);
    let instance = linker.instantiate(&mut store, &component)?;
    let function = instance.get_func(&mut store, list_tools).context("list-tools is missing")?;
    let mut results = [Val::Bool(false)];
    if function.call(&mut store, &[], &mut results).is_err() {
        return Ok(Value::Null);
    }
    let [tools] = results;
    plain(tools)
}

/// A value of the definition's types as JSON; schemas, which are JSON text, are put in
/// as what they are.
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
