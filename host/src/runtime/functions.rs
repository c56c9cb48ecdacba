//! The functions of a component that knows nothing of this project, as tools.

use std::collections::HashSet;

use scorpiox_reflect::{Function, Outcome};
use serde_json::Value;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component as Compiled, ComponentExportIndex, InstancePre, Val};
use wasmtime::{Engine, Store};

use super::CallState;
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult};
use crate::bindings::any_tool::scorpiox::tool::types::Content;

/// The exported functions that can be tools.
pub struct Functions(Vec<Exported>);

/// One of them.
pub struct Exported {
    /// `name`, or `interface.name`.
    pub name: String,
    /// Its types.
    pub function: Function,
    index: ComponentExportIndex,
}

impl Functions {
    /// Of a component; and those that can be no tool, with the reason.
    pub fn of(engine: &Engine, compiled: &Compiled) -> (Self, Vec<(String, String)>) {
        let mut found = Found { compiled, functions: Vec::new(), refused: Vec::new(), names: HashSet::new() };
        for (export, item) in compiled.component_type().exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(_) => found.add(None, export, export.to_owned(), &item.ty),
                ComponentItem::ComponentInstance(instance) => {
                    for (name, inner) in instance.exports(engine) {
                        found.add(Some(export), name, tool_name(export, name), &inner.ty);
                    }
                }
                _ => {}
            }
        }
        (Self(found.functions), found.refused)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Exported> {
        self.0.iter()
    }

    /// Calls one in a new instance.
    pub(super) fn call(
        &self,
        template: &InstancePre<CallState>,
        store: &mut Store<CallState>,
        name: &str,
        arguments: &str,
    ) -> wasmtime::Result<Result<ToolResult, ToolError>> {
        let exported = self.0.iter().find(|exported| exported.name == name);
        let Some(exported) = exported else {
            return Ok(Err(ToolError::NotFound(format!("There is no function {name} in this component."))));
        };
        let values = match read(&exported.function, arguments) {
            Ok(values) => values,
            Err(why) => return Ok(Err(ToolError::InvalidInput(format!("{why}.")))),
        };
        let instance = template.instantiate(&mut *store)?;
        let function = instance
            .get_func(&mut *store, exported.index)
            .ok_or_else(|| wasmtime::Error::msg(format!("{name} is no longer exported")))?;
        let mut results = vec![Val::Bool(false); exported.function.result_count()];
        function.call(&mut *store, &values, &mut results)?;
        Ok(match exported.function.outcome(&results)? {
            Outcome::Given { text, structured } => {
                let structured = structured.map(|value| value.to_string());
                Ok(ToolResult { content: vec![Content::Text(text)], structured })
            }
            Outcome::Refused(text) => Err(ToolError::Failed(text)),
        })
    }
}

fn read(function: &Function, arguments: &str) -> Result<Vec<Val>, String> {
    let arguments: Value = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    let Value::Object(members) = arguments else { return Err("the arguments are no object".to_owned()) };
    function.arguments(&members).map_err(|error| error.to_string())
}

struct Found<'a> {
    compiled: &'a Compiled,
    functions: Vec<Exported>,
    refused: Vec<(String, String)>,
    names: HashSet<String>,
}

impl Found<'_> {
    fn add(&mut self, interface: Option<&str>, export: &str, name: String, item: &ComponentItem) {
        let ComponentItem::ComponentFunc(ty) = item else { return };
        let parent = interface.and_then(|interface| self.compiled.get_export_index(None, interface));
        let index = self.compiled.get_export_index(parent.as_ref(), export);
        let outcome = match (Function::of(ty), index) {
            (Err(why), _) => Err(why.to_string()),
            (_, None) => Err("it cannot be found".to_owned()),
            _ if is_of_a_toolchain(&name, ty) => Err("it belongs to the tool that built the component".to_owned()),
            _ if ty.async_() => Err("it is asynchronous, which tools cannot be".to_owned()),
            _ if !self.names.insert(name.clone()) => Err("another function has the same name".to_owned()),
            (Ok(function), Some(index)) => Ok((function, index)),
        };
        match outcome {
            Ok((function, index)) => self.functions.push(Exported { name, function, index }),
            Err(why) => self.refused.push((name, why)),
        }
    }
}

/// What componentize-py and componentize-qjs call when they build, and leave exported.
fn is_of_a_toolchain(name: &str, ty: &ComponentFunc) -> bool {
    let mut parameters = ty.params().map(|(name, _)| name);
    match name {
        "exports.init" => parameters.next() == Some("app-name"),
        "init" => parameters.eq(["shim", "script", "entry-path", "disable-gc"]),
        _ => false,
    }
}

/// The name that a function of an interface has as a tool.
pub fn tool_name(interface: &str, function: &str) -> String {
    format!("{}.{function}", short_name(interface))
}

/// `add` of `docs:adder/add@0.1.0`.
fn short_name(interface: &str) -> &str {
    let name = interface.rsplit_once('/').map_or(interface, |(_, name)| name);
    name.split_once('@').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn interfaces_have_short_names() {
        let names = ["docs:adder/add@0.1.0", "wasi:cli/run@0.2.3", "plain"].map(super::short_name);
        assert_eq!(names, ["add", "run", "plain"]);
    }
}
