//! Reads the structure of a file without compiling it.
//!
//! Function bodies are skipped, and the compiler validates them later. Everything else is validated, so that
//! types can be resolved.

use std::collections::{BTreeSet, HashSet};

use anyhow::{Context as _, Result, ensure};
use scorpiox_component_abi::anatomy::{Anatomy, Export, FUNCTION, INSTANCE, Module};
use wasmparser::component_types::{ComponentEntityType, ResourceId};
use wasmparser::types::{Types, TypesRef};
use wasmparser::{
    ComponentTypeRef, Encoding, ExternalKind, KnownCustom, Parser, Payload, TypeBounds, ValidPayload,
    Validator, WasmFeatures,
};

use crate::docs;
use crate::signature::{self, Signatures};

/// Maximum number of imports, and of exports. All of WASI has fewer than a hundred interfaces; a component
/// above the limit is rejected, since no user can review it.
const MAX_ITEMS: usize = 4096;
/// Maximum number of reported functions, over all exports. A plugin has at most 64 tools.
const MAX_FUNCTIONS: usize = 4096;
/// Maximum number of reported producers, and of characters in each.
const MAX_PRODUCERS: usize = 16;
const MAX_PRODUCER_CHARS: usize = 80;

/// Returns the structure of a file as JSON.
pub(crate) fn run(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&inspect(bytes)?)?)
}

/// State of reading a file.
#[derive(Default)]
struct Reading {
    anatomy: Anatomy,
    imports: Vec<String>,
    /// Imports that only name a type and need not be provided.
    named_types: Vec<String>,
    exports: Vec<String>,
    producers: BTreeSet<String>,
}

/// Returns the structure of a file.
pub(crate) fn inspect(bytes: &[u8]) -> Result<Anatomy> {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut reading = Reading::default();
    reading.anatomy.bytes = bytes.len() as u64;
    let (mut depth, mut types): (usize, Option<Types>) = (0, None);
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        if let ValidPayload::End(found) = validator.payload(&payload)? {
            types = Some(found);
        }
        match &payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        reading.take(&payload, depth == 0)?;
    }
    let types = types.context("it ends too early")?;
    reading.finish(types.as_ref())
}

impl Reading {
    /// Processes a part of the file. Only the outermost module or component has the file's imports and
    /// exports.
    fn take(&mut self, payload: &Payload<'_>, is_outermost: bool) -> Result<()> {
        match payload {
            Payload::Version { encoding: Encoding::Module, .. } => {
                self.anatomy.modules += 1;
                if is_outermost {
                    self.anatomy.module = Some(Module::default());
                }
            }
            Payload::CodeSectionStart { size, .. } => self.anatomy.code_bytes += u64::from(*size),
            Payload::DataSection(section) => {
                let range = section.range();
                self.anatomy.data_bytes += range.end.saturating_sub(range.start);
            }
            Payload::CustomSection(section) => self.custom(section, is_outermost),
            Payload::ImportSection(imports) if is_outermost => {
                for import in imports.clone().into_imports() {
                    let import = import?;
                    self.module_imports(import.module, import.name);
                }
            }
            Payload::ExportSection(exports) if is_outermost => {
                for export in exports.clone() {
                    let export = export?;
                    self.module_exports(export.name, export.kind);
                }
            }
            Payload::ComponentImportSection(imports) if is_outermost => {
                for import in imports.clone() {
                    let import = import?;
                    let is_name = matches!(import.ty, ComponentTypeRef::Type(TypeBounds::Eq(_)));
                    let list = if is_name { &mut self.named_types } else { &mut self.imports };
                    list.push(import.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(exports) if is_outermost => {
                for export in exports.clone() {
                    self.exports.push(export?.name.name.to_owned());
                }
            }
            _ => {}
        }
        for (count, what) in
            [(self.imports.len() + self.named_types.len(), "imports"), (self.exports.len(), "exports")]
        {
            ensure!(count <= MAX_ITEMS, "it has more than {MAX_ITEMS} {what}");
        }
        Ok(())
    }

    fn custom(&mut self, section: &wasmparser::CustomSectionReader<'_>, is_outermost: bool) {
        if section.name() == docs::SECTION {
            self.anatomy.comments.extend(docs::read(section.data()));
        }
        if section.name().starts_with("component-type")
            && is_outermost
            && let Some(module) = &mut self.anatomy.module
        {
            module.has_types = true;
        }
        let KnownCustom::Producers(fields) = section.as_known() else { return };
        for field in fields.into_iter().flatten() {
            for value in field.values.into_iter().flatten() {
                let said = format!("{} {} {}", field.name, value.name, value.version);
                if self.producers.len() < MAX_PRODUCERS {
                    self.producers.insert(said.trim_end().chars().take(MAX_PRODUCER_CHARS).collect());
                }
            }
        }
    }

    fn module_imports(&mut self, from: &str, name: &str) {
        self.imports.push(format!("{from}.{name}"));
        if let Some(module) = &mut self.anatomy.module {
            module.is_preview_one |= from == crate::encode::PREVIEW_ONE;
        }
    }

    fn module_exports(&mut self, name: &str, kind: ExternalKind) {
        if let Some(module) = &mut self.anatomy.module {
            module.is_command |= name == "_start";
        }
        self.exports.push(name.to_owned());
        let kind = format!("{kind:?}").to_lowercase();
        self.anatomy.exports.push(Export { name: name.to_owned(), kind, functions: Vec::new() });
    }

    fn finish(mut self, types: TypesRef<'_>) -> Result<Anatomy> {
        self.anatomy.producers = std::mem::take(&mut self.producers).into_iter().collect();
        if self.anatomy.module.is_none() {
            let named: Vec<_> = self.named_types.iter().chain(&self.imports).cloned().collect();
            let mut signatures = Signatures::new(types, &named, &self.exports);
            self.part_types(types);
            let mut left = MAX_FUNCTIONS;
            for name in &self.exports {
                let item = types.component_item_for_export(name).context("an export has no type")?;
                self.anatomy.exports.push(export(&mut signatures, types, name, &item.ty, &mut left));
            }
            self.anatomy.resources = signatures.into_resources();
        }
        Ok(Anatomy { imports: self.imports, ..self.anatomy })
    }

    /// Separates the interfaces that contain only types from the other imports.
    fn part_types(&mut self, types: TypesRef<'_>) {
        let mut resources = HashSet::new();
        let has_types_alone = |name: &String| {
            let item = types.component_item_for_import(name);
            item.is_some_and(|item| has_types_alone(types, &item.ty, &mut resources))
        };
        (self.anatomy.types, self.imports) =
            std::mem::take(&mut self.imports).into_iter().partition(has_types_alone);
    }
}

/// Reports whether an import is an interface with only types. A resource must be provided by the first
/// interface that contains it; the others use it.
fn has_types_alone(
    types: TypesRef<'_>,
    ty: &ComponentEntityType,
    resources: &mut HashSet<ResourceId>,
) -> bool {
    if let Some(id) = signature::resource(ty) {
        resources.insert(id);
    }
    let ComponentEntityType::Instance(id) = ty else { return false };
    let mut is_alone = true;
    for item in types[*id].exports.values() {
        let is_new = signature::resource(&item.ty).is_some_and(|id| resources.insert(id));
        is_alone &= matches!(item.ty, ComponentEntityType::Type { .. }) && !is_new;
    }
    is_alone
}

fn export(
    signatures: &mut Signatures<'_>,
    types: TypesRef<'_>,
    name: &str,
    ty: &ComponentEntityType,
    left: &mut usize,
) -> Export {
    let mut functions = Vec::new();
    let mut add = |name: &str, ty: &ComponentEntityType| {
        if let (ComponentEntityType::Func(id), Some(fewer)) = (ty, left.checked_sub(1)) {
            *left = fewer;
            functions.push(signatures.function(name, *id));
        }
    };
    let kind = match ty {
        ComponentEntityType::Instance(id) => {
            for (name, item) in &types[*id].exports {
                add(name, &item.ty);
            }
            INSTANCE
        }
        ComponentEntityType::Func(_) => {
            add(name, ty);
            FUNCTION
        }
        ComponentEntityType::Module(_) => "module",
        ComponentEntityType::Value(_) => "value",
        ComponentEntityType::Type { .. } => "type",
        ComponentEntityType::Component(_) => "component",
    };
    Export { name: name.to_owned(), kind: kind.to_owned(), functions }
}

#[cfg(test)]
mod tests {
    use scorpiox_component_abi::anatomy::{Function, Resource};

    use super::*;

    fn anatomy(wat: &str) -> Anatomy {
        inspect(&wat::parse_str(wat).expect("a component")).expect("an anatomy")
    }

    #[test]
    fn a_component_says_what_it_imports_exports_and_of_which_types() {
        let found = anatomy(
            r#"(component
                (import "a:b/types@1.0.0" (instance $t
                    (type $p (record (field "x" u8)))
                    (export "point" (type (eq $p)))))
                (alias export $t "point" (type $point))
                (core module $m
                    (memory (export "m") 1) (data (i32.const 0) "four")
                    (func (export "f") (param i32 i32 i32) (result i32) unreachable)
                    (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable))
                (core instance $i (instantiate $m))
                (func $f (param "at" $point) (param "names" (list string)) (result (result u32 (error string)))
                    (canon lift (core func $i "f") (memory (core memory $i "m")) (realloc (core func $i "realloc")) ))
                (export "go" (func $f)))"#,
        );
        assert_eq!((found.imports.len(), &*found.types), (0, &["a:b/types@1.0.0".to_owned()][..]));
        assert_eq!((found.modules, found.data_bytes > 4, found.code_bytes > 0), (1, true, true), "{found:?}");
        let functions: Vec<_> = found.functions().collect();
        let expected = Function {
            name: "go".to_owned(),
            wit: "func(at: point, names: list<string>) -> result<u32, string>".to_owned(),
            unfit: None,
            gives: Vec::new(),
        };
        assert_eq!(functions, [(None, &expected)]);
    }

    #[test]
    fn an_import_that_only_names_a_type_is_none() {
        let found = anatomy(
            r#"(component
                (type $e (enum "words" "lines"))
                (import "unit" (type $unit (eq $e)))
                (import "thing" (type (sub resource)))
                (core module $m (func (export "f") (param i32)))
                (core instance $i (instantiate $m))
                (func $f (param "of" $unit) (canon lift (core func $i "f")))
                (export "count" (func $f)))"#,
        );
        assert_eq!(found.imports, ["thing"]);
        let (_, function) = found.functions().next().expect("a function");
        assert_eq!(function.wit, "func(of: unit)");
    }

    #[test]
    fn an_interface_has_types_alone_without_functions_and_without_resources_of_its_own() {
        let found = anatomy(
            r#"(component
                (import "a:b/types" (instance (type $r (record (field "x" u8))) (export "point" (type (eq $r)))))
                (import "a:b/nothing" (instance))
                (import "a:b/mixed" (instance (type $e (enum "a")) (export "e" (type (eq $e)))
                    (export "f" (func))))
                (import "a:b/owner" (instance $owner (export "thing" (type (sub resource)))))
                (alias export $owner "thing" (type $thing))
                (import "a:b/user" (instance (alias outer 1 $thing (type $t)) (export "thing" (type (eq $t)))))
                (import "f" (func)))"#,
        );
        assert_eq!(found.imports, ["a:b/mixed", "a:b/owner", "f"]);
        assert_eq!(found.types, ["a:b/types", "a:b/nothing", "a:b/user"]);
    }

    #[test]
    fn types_without_names_are_written_out_and_cut() {
        let types = (1..12).map(|n| format!("(type $t{n} (tuple $t{} $t{}))", n - 1, n - 1));
        let types = types.collect::<Vec<_>>().concat();
        let found = anatomy(&format!(
            r#"(component (type $t0 (tuple u8 u8)) {types}
                (core module $m
                    (memory (export "m") 1)
                    (func (export "f") (param i32 i32))
                    (func (export "r") (param i32 i32 i32 i32) (result i32) unreachable))
                (core instance $i (instantiate $m))
                (func $f (param "a" (list $t11))
                    (canon lift (core func $i "f") (memory (core memory $i "m")) (realloc (core func $i "r"))))
                (export "f" (func $f)))"#
        ));
        let (_, function) = found.functions().next().expect("a function");
        assert!(
            function.wit.starts_with("func(a: list<tuple<tuple<") && function.wit.ends_with('…'),
            "{}",
            function.wit
        );
        assert!(function.wit.chars().count() <= 1001, "{}", function.wit.chars().count());
    }

    #[test]
    fn core_modules_are_told_by_what_they_import_and_export() {
        let found = anatomy(
            r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
                (memory (export "memory") 1) (func (export "_start")))"#,
        );
        assert_eq!(found.module, Some(Module { has_types: false, is_preview_one: true, is_command: true }));
        assert_eq!(found.imports, ["wasi_snapshot_preview1.proc_exit"]);
        let names: Vec<_> = found.exports.iter().map(|export| (&*export.name, &*export.kind)).collect();
        assert_eq!(names, [("memory", "memory"), ("_start", "func")]);
        assert_eq!(found.functions().count(), 0);
    }

    #[test]
    fn resources_of_others_can_be_no_tools() {
        let found = anatomy(
            r#"(component
                (import "a:b/c" (instance $i (export "r" (type $r (sub resource)))
                    (export "take" (func (param "value" (borrow $r))))))
                (export "d:e/f" (instance $i)))"#,
        );
        let (interface, function) = found.functions().next().expect("a function");
        assert_eq!((interface, &*function.wit), (Some("d:e/f"), "func(value: borrow<r>)"));
        assert_eq!(function.unfit.as_deref(), Some("it has a resource of others"));
        assert_eq!((found.functions().count(), &*found.resources), (1, &[][..]), "it belongs to others");
    }

    #[test]
    fn resources_of_the_component_itself_are_listed_once_with_the_functions_that_give_them() {
        let found = anatomy(
            r#"(component
                (type $own (resource (rep i32)))
                (core func $new (canon resource.new $own))
                (core module $m
                    (func (export "take") (param i32)) (func (export "make") (result i32) unreachable))
                (core instance $i (instantiate $m))
                (func $make (result (own $own)) (canon lift (core func $i "make")))
                (func $take (param "value" (borrow $own)) (canon lift (core func $i "take")))
                (component $shape
                    (import "own" (type $r (sub resource)))
                    (import "take" (func $f (param "value" (borrow $r))))
                    (import "make" (func $g (result (own $r))))
                    (export $e "thing" (type $r))
                    (export "[constructor]thing" (func $g) (func (result (own $e))))
                    (export "take" (func $f) (func (param "value" (borrow $e)))))
                (instance $it (instantiate $shape
                    (with "own" (type $own)) (with "take" (func $take)) (with "make" (func $make))))
                (export "a:b/things" (instance $it))
                (export "a:b/same" (instance $it)))"#,
        );
        let functions: Vec<_> = found.functions().map(|(_, function)| function.clone()).collect();
        let of = |name: &str, wit: &str, gives: &[usize]| Function {
            name: name.to_owned(),
            wit: wit.to_owned(),
            unfit: None,
            gives: gives.to_owned(),
        };
        let make = of("[constructor]thing", "func() -> thing", &[0]);
        let take = of("take", "func(value: borrow<thing>)", &[]);
        assert_eq!(functions, [make.clone(), take.clone(), make, take]);
        let own = Resource { interface: Some("a:b/things".to_owned()), name: "thing".to_owned() };
        assert_eq!(found.resources, [own]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for bytes in [&b""[..], b"\0asm\x0d\0\x01\0\xff\xff", b"no wasm at all", b"\0asm\x01\0\0\0\x01"] {
            assert!(inspect(bytes).is_err(), "{bytes:?}");
        }
        let imports = (0..=MAX_ITEMS).map(|n| format!("(import \"f{n}\" (func))"));
        let imports = imports.collect::<Vec<_>>().concat();
        let many = wat::parse_str(format!("(component {imports})")).expect("a component");
        let error = inspect(&many).expect_err("an error").to_string();
        assert_eq!(error, "it has more than 4096 imports");
    }
}
