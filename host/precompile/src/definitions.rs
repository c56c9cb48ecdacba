//! Asks a component for its tools.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use wasmtime::component::types::{ComponentItem, Type};
use wasmtime::component::{Component, Linker, Val};
use wasmtime::{Engine, Store};

const TOOL_INTERFACE: &str = "scorpiox:tool/tool@0.1.0";

/// The tools as JSON. What a component looks for while it lists them, it does not find:
/// each capability it uses gives an empty list.
pub(crate) fn read(engine: &Engine, bytes: &[u8]) -> Result<Value> {
    let component = Component::new(engine, bytes)?;
    let (_, interface) =
        component.get_export(None, TOOL_INTERFACE).context("the component exports no tools")?;
    let (item, list_tools) =
        component.get_export(Some(&interface), "list-tools").context("list-tools is missing")?;
    if !matches!(item, ComponentItem::ComponentFunc(_)) {
        bail!("list-tools is no function");
    }
    let linker = empty_capabilities(engine, &component)?;
    let mut store = Store::new(engine, ());
    store.set_epoch_deadline(u64::MAX);
    let instance = linker.instantiate(&mut store, &component)?;
    let function = instance.get_func(&mut store, list_tools).context("list-tools is missing")?;
    let mut results = [Val::Bool(false)];
    function.call(&mut store, &[], &mut results)?;
    let [tools] = results;
    plain(tools)
}

/// Every import of the component, as functions that find nothing.
fn empty_capabilities(engine: &Engine, component: &Component) -> Result<Linker<()>> {
    let mut linker = Linker::new(engine);
    for (name, import) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(instance) = import.ty else {
            bail!("import {name} is no interface")
        };
        let mut interface = linker.instance(name)?;
        for (function, item) in instance.exports(engine) {
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
    Ok(linker)
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
