//! Build step: `scorpiox-definitions FOLDER NAME …` asks each component `NAME.cwasm` of a folder for its tools
//! (`NAME.tools.json`), so that the running host need not start a component to list them. Files that would not
//! change are not written.

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
    let engine = Engine::new(&scorpiox_engine::config())?;
    for name in words {
        describe(&engine, Path::new(&folder), &name).with_context(|| format!("component {name}"))?;
    }
    Ok(())
}

fn describe(engine: &Engine, folder: &Path, name: &str) -> Result<()> {
    let code = fs::read(folder.join(format!("{name}.cwasm")))?;
    // SAFETY: `deserialize` trusts its input like a shared library. The build made this file a moment ago.
    #[allow(unsafe_code)]
    let component = unsafe { Component::deserialize(engine, code) }?;
    let tools = tools(engine, &component)?.to_string();
    let path = folder.join(format!("{name}.tools.json"));
    if fs::read_to_string(&path).is_ok_and(|known| known == tools) {
        return Ok(());
    }
    fs::write(&path, tools).with_context(|| format!("cannot write {}", path.display()))
}

/// The definitions of its tools. Functions without the interface have none: their types say all.
fn tools(engine: &Engine, component: &Component) -> Result<Value> {
    if component.get_export_index(None, TOOL_INTERFACE).is_none() {
        return Ok(Value::Array(Vec::new()));
    }
    read(engine, component)
}
