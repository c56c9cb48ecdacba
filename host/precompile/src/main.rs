//! Build step between the guests and the host.
//!
//! `scorpiox-precompile --target TRIPLE --out FOLDER NAME=GUEST.wasm …` makes of each
//! core wasm guest a component (`NAME.component.wasm`), compiles it ahead of time for
//! the baseline processor of the target (`NAME.cwasm`), and asks the component for
//! its tools (`NAME.tools.json`), so that the running host neither compiles anything
//! nor starts a component to list it. Files that would not change are not written, so
//! that nothing is rebuilt for them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use scorpiox_engine::definitions::{TOOL_INTERFACE, read};
use serde_json::Value;
use wasmtime::Engine;
use wasmtime::component::Component;
use wit_component::ComponentEncoder;

struct Arguments {
    target: String,
    out: PathBuf,
    guests: Vec<(String, PathBuf)>,
}

fn main() -> Result<()> {
    let arguments = parse(env::args().skip(1))?;
    fs::create_dir_all(&arguments.out)?;
    let engine = Engine::new(&scorpiox_engine::precompile_config(&arguments.target)?)?;
    for (name, guest) in &arguments.guests {
        prepare(&engine, &arguments.out, name, guest).with_context(|| format!("guest {name}"))?;
    }
    Ok(())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut target = None;
    let mut out = None;
    let mut guests = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--target" => target = words.next(),
            "--out" => out = words.next().map(PathBuf::from),
            guest => match guest.split_once('=') {
                Some((name, path)) => guests.push((name.to_owned(), PathBuf::from(path))),
                None => bail!("{guest:?} is not NAME=FILE"),
            },
        }
    }
    Ok(Arguments {
        target: target.context("--target is missing")?,
        out: out.context("--out is missing")?,
        guests,
    })
}

fn prepare(engine: &Engine, out: &Path, name: &str, guest: &Path) -> Result<()> {
    let core = fs::read(guest).with_context(|| format!("cannot read {}", guest.display()))?;
    let component = ComponentEncoder::default().module(&core)?.validate(true).encode()?;
    let native = engine.precompile_component(&component)?;
    let tools = tools(engine, &component)?;
    write_if_changed(&out.join(format!("{name}.component.wasm")), &component)?;
    write_if_changed(&out.join(format!("{name}.cwasm")), &native)?;
    write_if_changed(&out.join(format!("{name}.tools.json")), tools.to_string().as_bytes())
}

/// The definitions of its tools. Functions without the interface have none: their types say all.
fn tools(engine: &Engine, component: &[u8]) -> Result<Value> {
    let compiled = Component::new(engine, component)?;
    if compiled.get_export_index(None, TOOL_INTERFACE).is_none() {
        return Ok(Value::Array(Vec::new()));
    }
    read(engine, &compiled)
}

fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
