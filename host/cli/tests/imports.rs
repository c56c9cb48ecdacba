//! The imports of a component determine its permissions: each built-in component imports exactly the
//! interfaces that `builtin.rs` grants it.

mod common;

use std::collections::BTreeSet;

use scorpiox_tools::{Kind, Registry, builtin};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Interfaces that contain only types, which need no grant.
const TYPES: &str = "scorpiox:tool/types@0.1.0";

fn imports(engine: &Engine, name: &str) -> BTreeSet<String> {
    let file = common::built(&format!("components/{name}.cwasm"));
    // SAFETY: the file was created by the build.
    #[allow(unsafe_code)]
    let component = unsafe { Component::deserialize_file(engine, &file) }.expect("a component");
    let ty = component.component_type();
    ty.imports(engine).map(|(import, _)| import.to_owned()).filter(|import| import != TYPES).collect()
}

/// Tools implemented in the host. They start programs, which a component cannot do.
const NATIVE: [&str; 6] =
    ["AskUserQuestion", "Bash", "BackgroundBash", "ReadBgOutput", "ListBgTasks", "KillBgTask"];

#[test]
fn built_in_components_import_what_they_are_granted_and_nothing_else() {
    let engine = Engine::new(&scorpiox_component_abi::engine::config()).expect("an engine");
    let registry = Registry::new(builtin());
    let mut seen = BTreeSet::new();
    for tool in registry.tools() {
        let Kind::Wasm { component, .. } = &tool.kind else {
            assert!(NATIVE.contains(&tool.name.as_ref()), "{} runs in the host", tool.name);
            continue;
        };
        let granted = component.grants.iter().map(|grant| format!("scorpiox:tool/{}@0.1.0", grant.name()));
        assert_eq!(imports(&engine, &component.name), granted.collect(), "{}", component.name);
        seen.insert(component.name.to_string());
    }
    assert!(seen.len() >= 7, "{seen:?}");
}

#[test]
fn definitions_in_the_program_name_the_tools_of_the_registry() {
    for tool in Registry::new(builtin()).tools() {
        let Kind::Wasm { conditional, .. } = &tool.kind else { continue };
        match tool.fixed_definition() {
            Some(definition) => assert_eq!(definition.name, tool.name),
            None => assert!(conditional, "{} has no definition", tool.name),
        }
    }
}
