//! Inspects a component without granting it any access.

use std::borrow::Cow;

use crate::offers::{BadOffer, Offers};
use scorpiox_component_abi::anatomy::Kind;
use scorpiox_definitions::{TOOL_INTERFACE, read_lists};
use scorpiox_executor::Cancel;
use scorpiox_plugin::{Fingerprint, Manifest};
use serde_json::{Map, Value, json};
use wasmtime::Engine;
use wasmtime::component::Component as Compiled;

use super::definitions::{BadDefinition, check, check_one};
use super::fit::{check_imports, check_version};
use super::grants::Ungrantable;
use super::{bare, choice};
use scorpiox_runtime::{CodeCache, Engines, Exported, Functions, OFFER_INTERFACES};
use scorpiox_wasi::is_wasi;

/// Description of a component.
#[derive(Debug, Clone, Default)]
pub struct Described {
    /// Definitions of its tools, as JSON.
    pub tools: Vec<Value>,
    /// Functions that cannot be tools, with the reasons.
    pub refused: Vec<(String, String)>,
    /// Functions that `plugin.toml` leaves out, with the reasons.
    pub skipped: Vec<(String, &'static str)>,
    /// Number of functions that could be tools, beyond the limit of the manifest.
    pub surplus: usize,
    /// Prompts and resources of the component.
    pub offers: Offers,
}

/// Reason why a component cannot be a plugin.
#[derive(Debug, thiserror::Error)]
pub enum Undescribed {
    /// The file is not a component.
    #[error("{0}")]
    NoComponent(String),
    /// The component imports an interface that this program does not have.
    #[error("it imports {0}, which this version of scorpiox-code does not provide; a newer one may")]
    UnknownImport(String),
    /// The component imports an unstable interface of WASI.
    #[error(
        "it needs {0}, an unstable (draft) feature of WASI that this version of scorpiox-code does not provide; build it \
         without that"
    )]
    UnstableWasi(String),
    /// The component imports a function that a known interface does not have here.
    #[error(
        "it needs a function that this version of scorpiox-code does not provide, such as an unstable (draft) one of WASI; \
         build it without that ({0})"
    )]
    Unlinkable(String),
    /// The component imports an interface of an external package.
    #[error("it imports {0}, which another component has to provide; join them with `wac plug`")]
    OtherComponent(String),
    /// The component targets a draft of WASI 0.3.
    #[error(
        "it is a component for a draft of WASI 0.3 (it imports {0}), and this version of scorpiox-code has 0.3.0; build \
         it for that"
    )]
    DraftWasi(String),
    /// The component imports a part of WASI 0.3 that this program does not have.
    #[error(
        "it is a WASI 0.3 component, and imports {0}, which this version of scorpiox-code does not have of it"
    )]
    NewerWasi(String),
    /// The component has nothing to call. The message includes the reason and a remedy.
    #[error("{0}")]
    NoFunction(String),
    /// The component exports an interface of another version.
    #[error("it exports {0}, but this program supports {TOOL_INTERFACE}; build it against that version")]
    OtherVersion(String),
    /// The component imports an interface that its manifest does not request.
    #[error("it imports {interfaces}, so plugin.toml has to request {tables} with why = \"…\"")]
    NotAskedFor {
        /// Names of the imported interfaces.
        interfaces: String,
        /// Tables of the capabilities to request.
        tables: String,
    },
    /// The manifest requests a capability that cannot be granted.
    #[error(transparent)]
    Ungrantable(#[from] Ungrantable),
    /// The component has no tools, or invalid definitions.
    #[error(transparent)]
    Definition(#[from] BadDefinition),
    /// The component has invalid prompts or resources.
    #[error(transparent)]
    Offer(#[from] BadOffer),
    /// The component has functions, but none of them can be a tool.
    #[error("none of its functions can be a tool; {name}: {why}")]
    NoneFits {
        /// Name of the first function.
        name: String,
        /// Reason why it cannot be a tool.
        why: String,
    },
    /// The manifest names a function that does not exist.
    #[error("plugin.toml has {what}, and the component has no such function; {known}")]
    NoSuchTool {
        /// The function, and where it is named.
        what: String,
        /// List of the existing functions.
        known: String,
    },
    /// The manifest selects a function that cannot be a tool.
    #[error("plugin.toml has {what}, but {name} cannot be a tool: {why}")]
    CannotBeTool {
        /// Location in the manifest.
        what: String,
        /// Name of the function.
        name: String,
        /// Reason why it cannot be a tool.
        why: String,
    },
    /// Two functions would have the same tool name.
    #[error(
        "{first} and {second} would both be the tool {name}; give one of them another name with `rename`"
    )]
    SameName {
        /// Name of the tool.
        name: String,
        /// Name of the first function.
        first: String,
        /// Name of the second function.
        second: String,
    },
    /// The manifest declares an image for a function that returns no bytes.
    #[error(
        "plugin.toml has image in [tools.{0}], but the function gives no list<u8> or result<list<u8>, _>; take it out"
    )]
    NoImage(String),
    /// The manifest leaves no tool.
    #[error("plugin.toml leaves none of its {0} functions as a tool; see `select` and `skip`")]
    AllSkipped(usize),
    /// The component failed while it listed its tools.
    #[error("it failed when it was asked for its tools: {0}")]
    Failed(String),
}

impl Described {
    /// Adds a tool. Fails if renaming gives two tools the same name.
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

    /// Serializes the definitions deterministically.
    pub fn text(&self) -> String {
        Value::Array(self.tools.clone()).to_string()
    }

    /// Returns the fingerprint of the definitions that the user approves.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_definitions(&self.text(), self.offers.text().as_deref())
    }
}

/// Describes a plugin's component. Nothing else may advance the engine's epoch in the meantime.
pub fn describe(
    engines: &Engines,
    bytes: &[u8],
    manifest: &Manifest,
    cache: &CodeCache,
) -> Result<Described, Undescribed> {
    let compiled = compile(engines, bytes, cache)?;
    let engine = compiled.engine();
    let imports = bare::wanted(&compiled);
    check_imports(imports.iter().map(String::as_str), &manifest.capabilities)?;
    let linker =
        bare::linked(&compiled).map_err(|error| Undescribed::Unlinkable(one_line(&format!("{error:#}"))))?;
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
    crate::offers::check::check(&described.offers, &manifest.name)?;
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
    check(&described.tools, &manifest.name, manifest.tool_limit())?;
    Ok(described)
}

/// Joins the lines of an error of a library.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Parses the component's offers, that is, its lists except the tools.
fn offers(lists: Map<String, Value>, completes: bool) -> Result<Offers, Undescribed> {
    let mut lists = lists;
    lists.remove("tools");
    lists.insert("completes".to_owned(), json!(completes));
    let read = serde_json::from_value(Value::Object(lists));
    read.map_err(|error| Undescribed::Failed(error.to_string()))
}

/// Compiles the component, or loads it from the cache.
fn compile(engines: &Engines, bytes: &[u8], cache: &CodeCache) -> Result<Compiled, Undescribed> {
    check_kind(bytes)?;
    // There is no cancellation: the user can interrupt the program.
    let cancel = Cancel::default();
    let compiled = cache.load(engines, &Fingerprint::of(bytes), &cancel, || Ok(Cow::Borrowed(bytes)));
    compiled.map_err(|error| Undescribed::NoComponent(error.to_string()))
}

/// Rejects a file that is not a component.
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

/// Describes a component that lists its own tools.
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
        // These members are reserved for the manifest.
        if let Some(members) = definition.as_object_mut() {
            members.retain(|name, _| name != choice::FUNCTION && name != choice::IMAGE);
        }
        choice::note(&mut definition, manifest, &function);
        described.add(definition)?;
    }
    Ok(described)
}

/// Describes a component whose functions become tools.
fn reflect(compiled: &Compiled, manifest: &Manifest) -> Result<Described, Undescribed> {
    let (functions, refused) = Functions::of(compiled);
    let names: Vec<String> = functions.iter().map(|exported| exported.name.clone()).collect();
    choice::check_names(manifest, &names, &refused)?;
    let mut described = Described { refused, ..Described::default() };
    for exported in functions.iter() {
        let name = &exported.name;
        let chosen = choice::chosen(manifest, name);
        if let Err(why) = chosen.and_then(|_| choice::newest(manifest, exported.is_older)) {
            described.skipped.push((name.clone(), why));
            continue;
        }
        if manifest.tools.get(name).is_some_and(|note| note.image.is_some()) && !exported.gives_bytes() {
            return Err(Undescribed::NoImage(name.clone()));
        }
        let said = manifest.comments.get(name).map_or(exported.description(), String::as_str);
        let mut definition = definition(exported, said);
        choice::note(&mut definition, manifest, name);
        // A function that cannot be a tool is skipped without rejecting the plugin.
        match check_one(&definition, &manifest.name) {
            Err(why) => described.refused.push((name.clone(), why.to_string())),
            Ok(_) if described.tools.len() == manifest.tool_limit() => described.surplus += 1,
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
        // The behavior is unknown, so the hints assume the worst.
        "hints": { "read_only": false, "destructive": true, "idempotent": false, "open_world": true },
    })
}

#[cfg(test)]
mod tests {
    use scorpiox_runtime::Engines;

    use super::*;

    /// Describes a component with these imports and a function that takes a record of the interface `types`,
    /// in the form that `wit-component` generates for `use types.{item}`.
    fn with_imports(imports: &str) -> Result<Described, Undescribed> {
        let component = format!(
            r#"(component
                (import "some:shop/types@2.1.0" (instance $types
                    (type $item (record (field "name" string) (field "count" u32)))
                    (export "item" (type (eq $item)))))
                (alias export $types "item" (type $item))
                (import "item" (type $item-here (eq $item)))
                {imports}
                (core module $code
                    (memory (export "memory") 1)
                    (func (export "f") (param i32 i32 i32) (result i32) (local.get 2))
                    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8)))
                (core instance $code (instantiate $code))
                (func $f (param "i" $item-here) (result u32) (canon lift (core func $code "f")
                    (memory (core memory $code "memory")) (realloc (core func $code "realloc"))))
                (export "f" (func $f)))"#
        );
        described(&component, "")
    }

    #[test]
    fn a_function_that_an_interface_lacks_is_said_on_one_line() {
        let lacking =
            r#"(import "wasi:cli/environment@0.2.3" (instance (export "try-it" (func (result u32)))))"#;
        let error = with_imports(lacking).expect_err("an error").to_string();
        assert!(
            error.starts_with("it needs a function that this version of scorpiox-code does not"),
            "{error}"
        );
        assert!(error.contains("wasi:cli/environment") && error.contains("try-it"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }

    /// Describes a component as a plugin, with additional manifest text.
    fn described(component: &str, manifest: &str) -> Result<Described, Undescribed> {
        let home = tempfile::tempdir().expect("a folder");
        let manifest = format!("name = \"shop\"\ncomponent = \"component.wasm\"\n{manifest}");
        let manifest = Manifest::parse(&manifest).expect("a manifest");
        let engines = Engines::new().expect("engines");
        let component = wat::parse_str(component).expect("a component");
        describe(&engines, &component, &manifest, &CodeCache::new(home.path()))
    }

    #[test]
    fn an_interface_of_types_alone_need_not_be_there_whatever_its_package_is() {
        let described = with_imports(
            r#"(import "wasi:nn/tensor@0.2.0" (instance (type $e (enum "a")) (export "kind" (type (eq $e)))))
               (import "wasi:clocks/types@0.3.0-rc-2026-01-01" (instance (type $e u64) (export "duration" (type (eq $e)))))
               (import "scorpiox:tool/store@0.1.0" (instance (type $e u64) (export "entry" (type (eq $e)))))"#,
        );
        let described = described.expect("a plugin");
        assert_eq!(described.tools[0]["name"], "f");
        assert_eq!(
            described.tools[0]["input_schema"]["properties"]["i"]["properties"]["count"]["type"],
            "integer"
        );
    }

    #[test]
    fn an_interface_with_a_function_or_a_resource_of_its_own_has_to_be_there() {
        for import in [
            r#"(import "some:shop/stock@2.1.0" (instance (type $e (enum "a")) (export "kind" (type (eq $e)))
                 (export "count" (func (result u32)))))"#,
            r#"(import "some:shop/stock@2.1.0" (instance (export "shelf" (type (sub resource)))))"#,
        ] {
            let error = with_imports(import).expect_err("an error").to_string();
            assert_eq!(
                error,
                "it imports some:shop/stock@2.1.0, which another component has to provide; join them with `wac plug`"
            );
        }
    }

    /// Describes a component with two programs, the older one first.
    fn with_programs(manifest: &str) -> Result<Described, Undescribed> {
        let program = |name: &str, function: &str, code: &str| {
            format!(
                r#"(core module ${function} (func (export "run") (result i32) {code}))
                   (core instance ${function} (instantiate ${function}))
                   (func ${function} (result (result)) (canon lift (core func ${function} "run")))
                   (instance $i-{function} (export "run" (func ${function})))
                   (export "{name}" (instance $i-{function}))"#
            )
        };
        let older = program("wasi:cli/run@0.2.3", "older", "unreachable");
        let newer = program("wasi:cli/run@0.3.0", "newer", "(i32.const 0)");
        described(
            &format!(r#"(component (import "wasi:cli/stdout@0.2.3" (instance)) {older} {newer})"#),
            manifest,
        )
    }

    #[test]
    fn of_two_programs_the_newest_is_the_tool_and_select_names_the_other() {
        let described = with_programs("").expect("a plugin");
        let names = |described: &Described| -> Vec<_> {
            described.tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(names(&described), ["run"]);
        let [(skipped, why)] = &described.skipped[..] else { panic!("{:?}", described.skipped) };
        assert_eq!(skipped, "run-0.2");
        assert!(why.ends_with("`select` in plugin.toml can name this one"), "{why}");
        let selected = with_programs("select = [\"run-0.2\"]").expect("a plugin");
        assert_eq!(names(&selected), ["run-0.2"]);
        let both = with_programs("select = [\"run\", \"run-0.2\"]").expect("a plugin");
        assert_eq!(names(&both), ["run-0.2", "run"]);
    }

    #[test]
    fn a_method_named_drop_does_not_take_the_place_of_letting_go() {
        let described = described(
            r#"(component
                (type $own (resource (rep i32)))
                (core func $new (canon resource.new $own))
                (core module $code
                    (import "" "new" (func $new (param i32) (result i32)))
                    (func (export "make") (result i32) (call $new (i32.const 7)))
                    (func (export "act") (param i32)))
                (core instance $code (instantiate $code (with "" (instance (export "new" (func $new))))))
                (func $make (result (own $own)) (canon lift (core func $code "make")))
                (func $act (param "self" (borrow $own)) (canon lift (core func $code "act")))
                (component $shape
                    (import "own" (type $r (sub resource)))
                    (import "make" (func $make (result (own $r))))
                    (import "act" (func $act (param "self" (borrow $r))))
                    (export $thing "thing" (type $r))
                    (export "[constructor]thing" (func $make) (func (result (own $thing))))
                    (export "[method]thing.drop" (func $act) (func (param "self" (borrow $thing)))))
                (instance $things (instantiate $shape
                    (with "own" (type $own)) (with "make" (func $make)) (with "act" (func $act))))
                (export "a:b/things" (instance $things)))"#,
            "",
        );
        let described = described.expect("a plugin");
        let told = |tool: &Value| [tool["name"].clone(), tool["description"].clone()];
        assert_eq!(
            described.tools.iter().map(told).collect::<Vec<_>>(),
            [
                [json!("things.thing.new"), json!("")],
                [json!("things.thing.drop"), json!("")],
                [
                    json!("things.thing.drop-handle"),
                    json!("Lets go of a resource. Its handle is gone afterwards.")
                ],
            ]
        );
        assert!(described.refused.is_empty(), "{:?}", described.refused);
    }
}
