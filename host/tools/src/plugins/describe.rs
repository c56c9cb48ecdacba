//! What a component is, asked while it may do nothing.

use std::borrow::Cow;

use scorpiox_anatomy::Kind;
use scorpiox_definitions::{TOOL_INTERFACE, read_lists};
use scorpiox_executor::Cancel;
use scorpiox_offers::{BadOffer, Offers};
use scorpiox_plugin::{Fingerprint, Manifest};
use serde_json::{Map, Value, json};
use wasmtime::Engine;
use wasmtime::component::Component as Compiled;

use super::definitions::{BadDefinition, MAX_TOOLS, check, check_one};
use super::fit::{check_imports, check_version};
use super::grants::Ungrantable;
use super::{bare, choice};
use scorpiox_runtime::{CodeCache, Engines, Exported, Functions, OFFER_INTERFACES};
use scorpiox_wasi::is_wasi;

/// What a component turned out to be.
#[derive(Debug, Clone, Default)]
pub struct Described {
    /// The definitions of its tools, as JSON.
    pub tools: Vec<Value>,
    /// Functions that can be no tool, with the reason.
    pub refused: Vec<(String, String)>,
    /// Functions that `plugin.toml` leaves out, with the reason.
    pub skipped: Vec<(String, &'static str)>,
    /// What it offers beside tools.
    pub offers: Offers,
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
    /// It is built for a draft of WASI 0.3.
    #[error(
        "it is a component for a draft of WASI 0.3 (it imports {0}), and this version of scorpiox-code has 0.3.0; build \
         it for that"
    )]
    DraftWasi(String),
    /// It needs what this program does not have of WASI 0.3.
    #[error(
        "it is a WASI 0.3 component, and imports {0}, which this version of scorpiox-code does not have of it"
    )]
    NewerWasi(String),
    /// There is nothing in it to call; says why, and what to do.
    #[error("{0}")]
    NoFunction(String),
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
    /// What it says of its prompts or resources cannot be used.
    #[error(transparent)]
    Offer(#[from] BadOffer),
    /// It has functions, and none of them can be a tool.
    #[error("none of its functions can be a tool; {name}: {why}")]
    NoneFits {
        /// The first of them.
        name: String,
        /// What is in the way.
        why: String,
    },
    /// Its manifest names what it does not have.
    #[error("plugin.toml has {what}, and the component has no such function; {known}")]
    NoSuchTool {
        /// What is named, and where.
        what: String,
        /// What there is.
        known: String,
    },
    /// Its manifest wants a tool of what can be none.
    #[error("plugin.toml has {what}, but {name} cannot be a tool: {why}")]
    CannotBeTool {
        /// Where it is named.
        what: String,
        /// What is named.
        name: String,
        /// What is in the way.
        why: String,
    },
    /// Two functions would be one tool.
    #[error(
        "{first} and {second} would both be the tool {name}; give one of them another name with `rename`"
    )]
    SameName {
        /// The tool.
        name: String,
        /// One function.
        first: String,
        /// The other.
        second: String,
    },
    /// What is to be an image is none.
    #[error(
        "plugin.toml has image in [tools.{0}], but the function gives no list<u8> or result<list<u8>, _>; take it out"
    )]
    NoImage(String),
    /// Its manifest leaves nothing.
    #[error("plugin.toml leaves none of its {0} functions as a tool; see `select` and `skip`")]
    AllSkipped(usize),
    /// It could not say what its tools are.
    #[error("it failed when it was asked for its tools: {0}")]
    Failed(String),
}

impl Described {
    /// Takes one more tool. A name that two have would be only one of them.
    fn add(&mut self, definition: Value) -> Result<(), Undescribed> {
        let function = |tool: &Value| {
            let name = tool.get(choice::FUNCTION).unwrap_or(&tool["name"]);
            name.as_str().unwrap_or_default().to_owned()
        };
        let same = |tool: &&Value| tool["name"] == definition["name"];
        let is_renamed = |tool: &Value| tool.get(choice::FUNCTION).is_some();
        let first = self.tools.iter().find(same);
        if let Some(first) = first.filter(|tool| is_renamed(tool) || is_renamed(&definition)) {
            return Err(Undescribed::SameName {
                name: definition["name"].as_str().unwrap_or_default().to_owned(),
                first: function(first),
                second: function(&definition),
            });
        }
        self.tools.push(definition);
        Ok(())
    }

    /// The definitions as one text, always the same for the same definitions.
    pub fn text(&self) -> String {
        Value::Array(self.tools.clone()).to_string()
    }

    /// What a person approves of the definitions.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_definitions(&self.text(), self.offers.text().as_deref())
    }
}

/// What the component of a plugin is. Nothing else may advance the engine's epoch meanwhile.
pub fn describe(
    engines: &Engines,
    bytes: &[u8],
    manifest: &Manifest,
    cache: &CodeCache,
) -> Result<Described, Undescribed> {
    let compiled = compile(engines, bytes, cache)?;
    let engine = compiled.engine();
    let imports: Vec<_> =
        compiled.component_type().imports(engine).map(|(name, _)| name.to_owned()).collect();
    check_imports(imports.iter().map(String::as_str), &manifest.capabilities)?;
    let linker = bare::linked(&compiled)
        .map_err(|error| Undescribed::UnknownImport(format!("something: {error:#}")))?;
    let exports_tool = compiled.get_export_index(None, TOOL_INTERFACE).is_some();
    check_version(compiled.component_type().exports(engine).map(|(name, _)| name))?;
    let exports = |interface: &str| compiled.get_export_index(None, interface).is_some();
    let mut lists = Map::new();
    if exports_tool || OFFER_INTERFACES.into_iter().any(exports) {
        let has_wasi = compiled.component_type().imports(engine).any(|(name, _)| is_wasi(name));
        let is_plain = Engine::same(engine, engines.plain()) && !has_wasi;
        let read = if is_plain { read_lists(engine, &compiled) } else { bare::lists(&compiled, &linker) };
        lists = read.map_err(|error| Undescribed::Failed(format!("{error:#}")))?;
    }
    let mut described = if exports_tool {
        let tools = lists.remove("tools").and_then(|tools| tools.as_array().cloned());
        listed(tools.unwrap_or_default(), manifest)?
    } else {
        reflect(&compiled, manifest)?
    };
    described.offers =
        offers(lists, OFFER_INTERFACES.into_iter().any(|own| own.contains("/completion@") && exports(own)))?;
    if described.tools.is_empty() && !described.offers.is_empty() {
        return Ok(described);
    }
    if described.tools.is_empty() {
        return Err(match (described.skipped.len(), described.refused.first()) {
            (0, Some((name, why))) => Undescribed::NoneFits { name: name.clone(), why: why.clone() },
            (0, None) => BadDefinition::None.into(),
            (skipped, _) => Undescribed::AllSkipped(skipped),
        });
    }
    check(&described.tools, manifest.name.room_for_tool())?;
    Ok(described)
}

/// What it lists beside its tools.
fn offers(lists: Map<String, Value>, completes: bool) -> Result<Offers, Undescribed> {
    let mut lists = lists;
    lists.remove("tools");
    lists.insert("completes".to_owned(), json!(completes));
    let read = serde_json::from_value(Value::Object(lists));
    let offers: Offers = read.map_err(|error| Undescribed::Failed(error.to_string()))?;
    scorpiox_offers::check::check(&offers)?;
    Ok(offers)
}

/// Compiles it, or takes what was kept of that.
fn compile(engines: &Engines, bytes: &[u8], cache: &CodeCache) -> Result<Compiled, Undescribed> {
    check_kind(bytes)?;
    // Who waits for it can end the program.
    let cancel = Cancel::default();
    let compiled = cache.load(engines, &Fingerprint::of(bytes), &cancel, || Ok(Cow::Borrowed(bytes)));
    compiled.map_err(|error| Undescribed::NoComponent(error.to_string()))
}

/// Refuses what is no component.
pub fn check_kind(bytes: &[u8]) -> Result<(), Undescribed> {
    let why = match Kind::of(bytes) {
        Kind::Component => return Ok(()),
        Kind::Module => {
            "it is a core module, not a component; `scorpiox-code plugin add` makes one of it where it can"
        }
        Kind::Native => {
            "it is compiled code; what is compiled elsewhere is not run, only WebAssembly components are"
        }
        Kind::Empty => "it is empty",
        Kind::Text | Kind::Other => "it is not a WebAssembly component",
    };
    Err(Undescribed::NoComponent(why.to_owned()))
}

/// The tools of a component that says itself what they are.
fn listed(definitions: Vec<Value>, manifest: &Manifest) -> Result<Described, Undescribed> {
    let name = |definition: &Value| definition["name"].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = definitions.iter().map(name).collect();
    choice::check_names(manifest, &names, &[])?;
    let mut described = Described::default();
    for (mut definition, function) in definitions.into_iter().zip(names) {
        if manifest.tools.get(&function).is_some_and(|note| note.image.is_some()) {
            return Err(Undescribed::NoImage(function));
        }
        if let Err(why) = choice::chosen(manifest, &function) {
            described.skipped.push((function, why));
            continue;
        }
        // These are the manifest's to say.
        if let Some(members) = definition.as_object_mut() {
            members.retain(|name, _| name != choice::FUNCTION && name != choice::IMAGE);
        }
        choice::note(&mut definition, manifest, &function);
        described.add(definition)?;
    }
    Ok(described)
}

/// The tools of a component's functions.
fn reflect(compiled: &Compiled, manifest: &Manifest) -> Result<Described, Undescribed> {
    let (functions, refused) = Functions::of(compiled);
    let names: Vec<String> = functions.iter().map(|exported| exported.name.clone()).collect();
    choice::check_names(manifest, &names, &refused)?;
    let mut described = Described { refused, ..Described::default() };
    for exported in functions.iter() {
        let name = &exported.name;
        if let Err(why) = choice::chosen(manifest, name) {
            described.skipped.push((name.clone(), why));
            continue;
        }
        if manifest.tools.get(name).is_some_and(|note| note.image.is_some()) && !exported.gives_bytes() {
            return Err(Undescribed::NoImage(name.clone()));
        }
        let said = manifest.comments.get(name).map_or(exported.description(), String::as_str);
        let mut definition = definition(exported, said);
        choice::note(&mut definition, manifest, name);
        // One that cannot be a tool costs the plugin nothing but itself.
        match check_one(&definition, manifest.name.room_for_tool()) {
            Err(why) => described.refused.push((name.clone(), why.to_string())),
            Ok(_) if described.tools.len() == MAX_TOOLS => {
                let why = format!("the {MAX_TOOLS} before it are as many as a plugin may have");
                described.refused.push((name.clone(), why));
            }
            Ok(_) => described.add(definition)?,
        }
    }
    Ok(described)
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
