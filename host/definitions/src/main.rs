//! Build step: `scorpiox-definitions FOLDER NAME …` reads the tools of each component `NAME.cwasm` in a
//! directory and writes them to `NAME.tools.json`, so that the host can list them without starting a
//! component. Unchanged files are not rewritten.

use std::path::Path;
use std::{env, fs};

use anyhow::{Context as _, Result};
use scorpiox_definitions::{TOOL_INTERFACE, read};
use serde_json::Value;
use wasmtime::Engine;
use wasmtime::component::Component;

fn main() -> Result<()> {
    let mut words = env::args().skip(1);
    let folder = words.next().context("the folder is missing")?;
    let engine = Engine::new(&scorpiox_component_abi::engine::config())?;
    for name in words {
        describe(&engine, Path::new(&folder), &name).with_context(|| format!("component {name}"))?;
    }
    Ok(())
}

fn describe(engine: &Engine, folder: &Path, name: &str) -> Result<()> {
    let code = fs::read(folder.join(format!("{name}.cwasm")))?;
    // SAFETY: `deserialize` trusts its input like a shared library. The build created this file a moment ago.
    #[allow(unsafe_code)]
    let component = unsafe { Component::deserialize(engine, code) }?;
    let tools = tools(engine, &component)?.to_string();
    let path = folder.join(format!("{name}.tools.json"));
    if fs::read_to_string(&path).is_ok_and(|known| known == tools) {
        return Ok(());
    }
    fs::write(&path, tools).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the tool definitions. Functions without the interface have none: their types are sufficient.
fn tools(engine: &Engine, component: &Component) -> Result<Value> {
    if component.get_export_index(None, TOOL_INTERFACE).is_none() {
        return Ok(Value::Array(Vec::new()));
    }
    read(engine, component)
}
