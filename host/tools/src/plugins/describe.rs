//! What a component is, asked while it may do nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use scorpiox_definitions::{TOOL_INTERFACE, read};
use scorpiox_executor::Cancel;
use scorpiox_plugin::{Asks, Fingerprint, Manifest, Pins, ToolNote};
use serde_json::{Value, json};
use wasmtime::Engine;
use wasmtime::component::Component as Compiled;

use super::bare;
use super::definitions::{BadDefinition, MAX_TOOLS, check, check_one};
use super::grants::{GRANTABLE, Ungrantable, grants};
use scorpiox_runtime::{CodeCache, Exported, Functions};
use scorpiox_wasi::is_wasi;

const PACKAGE: &str = "scorpiox:tool/";
const VERSION: &str = "@0.1.0";

/// What a component turned out to be.
#[derive(Debug, Clone)]
pub struct Described {
    /// The definitions of its tools, as JSON.
    pub tools: Vec<Value>,
    /// Functions that can be no tool, with the reason.
    pub refused: Vec<(String, String)>,
}

/// A component that cannot be a plugin.
#[derive(Debug, thiserror::Error)]
pub enum Undescribed {
    /// Not what it should be at all.
    #[error("{0}")]
    NoComponent(String),
    /// It needs an interface that this program does not have.
    #[error("it imports {0}, which this version of scorpiox-code does not provide; a newer one may")]
    UnknownImport(String),
    /// It is built for a WASI that this program does not have.
    #[error("it is built for WASI 0.3, and this version of scorpiox-code has 0.2; build it for that ({0})")]
    NewerWasi(String),
    /// It exports an interface of another version.
    #[error("it exports {0}, but this program supports {TOOL_INTERFACE}; build it against that version")]
    OtherVersion(String),
    /// It needs something that its manifest does not ask for.
    #[error(
        "it imports {interface}, so plugin.toml has to ask for it: [capabilities.{ask}] with why = \"…\""
    )]
    NotAskedFor {
        /// What it imports.
        interface: String,
        /// What to ask for.
        ask: &'static str,
    },
    /// It asks for something that cannot be given.
    #[error(transparent)]
    Ungrantable(#[from] Ungrantable),
    /// It has no tools, or what it says of them cannot be used.
    #[error(transparent)]
    Definition(#[from] BadDefinition),
    /// It has functions, and none of them can be a tool.
    #[error("none of its functions can be a tool; {name}: {why}")]
    NoneFits {
        /// The first of them.
        name: String,
        /// What is in the way.
        why: String,
    },
    /// Its manifest describes what it does not have.
    #[error("plugin.toml has [tools.{name}], but the component has no such tool; its tools: {}", .known.join(", "))]
    NoSuchTool {
        /// What is described.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// It could not say what its tools are.
    #[error("it failed when it was asked for its tools: {0}")]
    Failed(String),
}

impl Described {
    /// The definitions as one text, always the same for the same definitions.
    pub fn text(&self) -> String {
        Value::Array(self.tools.clone()).to_string()
    }

    /// What a person approves of the definitions.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.text().as_bytes())
    }
}

/// What the component of a plugin is. Nothing else may advance the engine's epoch meanwhile.
pub fn describe(
    engine: &Engine,
    bytes: &[u8],
    manifest: &Manifest,
    cache: &CodeCache,
) -> Result<Described, Undescribed> {
    let compiled = compile(engine, bytes, cache).map_err(|error| match error {
        Undescribed::NoComponent(why) if names_newer_wasi(bytes) => Undescribed::NewerWasi(why),
        error => error,
    })?;
    check_imports(engine, &compiled, &manifest.capabilities)?;
    let linker = bare::linked(engine, &compiled).map_err(|error| match newer_wasi(engine, &compiled) {
        Some(import) => Undescribed::NewerWasi(format!("it imports {import}")),
        None => Undescribed::UnknownImport(format!("something: {error:#}")),
    })?;
    let exports_tool = compiled.get_export_index(None, TOOL_INTERFACE).is_some();
    let other = compiled.component_type();
    let other = other
        .exports(engine)
        .map(|(name, _)| name)
        .find(|name| name.starts_with(PACKAGE) && name.contains("/tool@") && *name != TOOL_INTERFACE);
    if let Some(other) = other {
        return Err(Undescribed::OtherVersion(other.to_owned()));
    }
    let mut described = if exports_tool {
        let has_wasi = compiled.component_type().imports(engine).any(|(name, _)| is_wasi(name));
        let read = if has_wasi { bare::tools(engine, &compiled, &linker) } else { read(engine, &compiled) };
        let tools = read.map_err(|error| Undescribed::Failed(format!("{error:#}")))?;
        Described { tools: tools.as_array().cloned().unwrap_or_default(), refused: Vec::new() }
    } else {
        reflect(engine, &compiled, &manifest.comments)
    };
    if let (true, Some((name, why))) = (described.tools.is_empty(), described.refused.first()) {
        return Err(Undescribed::NoneFits { name: name.clone(), why: why.clone() });
    }
    note(&mut described.tools, manifest)?;
    check(&described.tools)?;
    Ok(described)
}

/// Compiles it, or takes what was kept of that.
fn compile(engine: &Engine, bytes: &[u8], cache: &CodeCache) -> Result<Compiled, Undescribed> {
    const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";
    const MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";
    let no = |why: &str| Err(Undescribed::NoComponent(why.to_owned()));
    match bytes.first_chunk() {
        Some(&COMPONENT) => {}
        Some(&MODULE) => {
            return no(
                "it is a core module, not a component; `scorpiox-code plugin add` makes one of it where it can",
            );
        }
        _ if bytes.starts_with(b"\x7fELF") => {
            return no(
                "it is compiled code; what is compiled elsewhere is not run, only WebAssembly components are",
            );
        }
        _ if bytes.is_empty() => return no("it is empty"),
        _ => return no("it is not a WebAssembly component"),
    }
    // Who waits for it can end the program.
    let cancel = Cancel::default();
    let compiled = cache.load(engine, &Fingerprint::of(bytes), &cancel, || Ok(Cow::Borrowed(bytes)));
    compiled.map_err(|error| Undescribed::NoComponent(error.to_string()))
}

/// The first import of WASI 0.3.
fn newer_wasi(engine: &Engine, compiled: &Compiled) -> Option<String> {
    let ty = compiled.component_type();
    let mut names = ty.imports(engine).map(|(name, _)| name);
    names.find(|name| is_wasi(name) && name.contains("@0.3.")).map(str::to_owned)
}

/// Whether interfaces of WASI 0.3 are named in a component.
fn names_newer_wasi(bytes: &[u8]) -> bool {
    let names = bytes.split(|byte| !(byte.is_ascii_alphanumeric() || b":/@.-".contains(byte)));
    names.into_iter().any(|name| {
        name.windows(5).any(|part| part == b"wasi:") && name.windows(5).any(|part| part == b"@0.3.")
    })
}

fn check_imports(engine: &Engine, compiled: &Compiled, asks: &Asks) -> Result<(), Undescribed> {
    let (granted, _) = grants(asks, &Pins::new())?;
    for (name, _) in compiled.component_type().imports(engine).filter(|(name, _)| !is_wasi(name)) {
        let own = name.strip_prefix(PACKAGE).and_then(|rest| rest.strip_suffix(VERSION));
        if own == Some("types") {
            continue;
        }
        let capability = GRANTABLE.into_iter().find(|capability| Some(capability.name()) == own);
        let capability = capability.ok_or_else(|| Undescribed::UnknownImport(name.to_owned()))?;
        if !granted.contains(&capability) {
            return Err(Undescribed::NotAskedFor { interface: name.to_owned(), ask: capability.name() });
        }
    }
    Ok(())
}

fn reflect(engine: &Engine, compiled: &Compiled, comments: &BTreeMap<String, String>) -> Described {
    let (functions, mut refused) = Functions::of(engine, compiled);
    let comment = |exported: &Exported| comments.get(&exported.name).map_or("", String::as_str);
    let mut tools = Vec::new();
    for exported in functions.iter() {
        let definition = definition(exported, comment(exported));
        // One that cannot be a tool costs the plugin nothing but itself.
        match check_one(&definition) {
            Err(why) => refused.push((exported.name.clone(), why.to_string())),
            Ok(_) if tools.len() == MAX_TOOLS => {
                let why = format!("the {MAX_TOOLS} before it are as many as a plugin may have");
                refused.push((exported.name.clone(), why));
            }
            Ok(_) => tools.push(definition),
        }
    }
    Described { tools, refused }
}

fn definition(exported: &Exported, description: &str) -> Value {
    json!({
        "name": exported.name,
        "title": exported.name,
        "description": description,
        "input_schema": exported.input_schema(),
        "output_schema": exported.output_schema(),
        // Nobody knows what it does, so that clients should think the worst.
        "hints": { "read_only": false, "destructive": true, "idempotent": false, "open_world": true },
    })
}

/// Puts in what the manifest says of the tools.
fn note(tools: &mut [Value], manifest: &Manifest) -> Result<(), Undescribed> {
    for (name, note) in &manifest.tools {
        let Some(tool) = tools.iter_mut().find(|tool| tool["name"] == **name) else {
            let known = tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect();
            return Err(Undescribed::NoSuchTool { name: name.clone(), known });
        };
        let ToolNote { title, description, read_only, destructive, idempotent } = note;
        if let Some(title) = title {
            tool["title"] = json!(title);
        }
        if let Some(description) = description {
            tool["description"] = json!(description);
        }
        let reaches_out = manifest.capabilities.web.is_some() || manifest.capabilities.shell.is_some();
        tool["hints"] = json!({
            "read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": reaches_out
        });
    }
    Ok(())
}
