//! The functions of a component that knows nothing of this project, as tools.

use std::collections::HashSet;

use bytes::Bytes;
use http::Request;
use scorpiox_plugin::ImageType;
use scorpiox_reflect::{Field, Function, Handle, Outcome, Resources, Shape};
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component as Compiled, ComponentExportIndex, Func, Instance, InstancePre, Val};

use super::limits::OUTPUT_LIMIT;
use super::offers::is_offer;
use super::tasks::{self, Streamed};
use super::{CallState, Component, handler, program, service};
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult};
use crate::bindings::any_tool::scorpiox::tool::types::{Content, Image};
use scorpiox_wasi::{HasWasi as _, Program, is_newer, is_wasi};

/// The exported functions that can be tools.
pub struct Functions(Vec<Exported>);

/// One of them.
pub struct Exported {
    /// `name`, or `interface.name`.
    pub name: String,
    kind: Kind,
    /// Whether it is of WASI 0.3.
    is_newer: bool,
    /// Whether it takes or gives resources.
    is_kept: bool,
    /// Where it is, if it is an export of its own.
    index: Option<ComponentExportIndex>,
}

enum Kind {
    /// Arguments are its parameters.
    Function(Function),
    /// A whole program, which takes words and prints.
    Program,
    /// What answers requests over HTTP.
    Service,
    /// What lets go of a resource: its type, which has one parameter.
    Drop(Function),
}

/// A call whose arguments were read.
struct Prepared<'a> {
    exported: &'a Exported,
    given: Given,
}

/// What a call is given.
enum Given {
    Values(Vec<Val>),
    Program(Program),
    Request(Request<Bytes>),
}

pub(super) type Called = Result<ToolResult, ToolError>;

impl Functions {
    /// Of a component; and those that can be no tool, with the reason.
    pub fn of(compiled: &Compiled) -> (Self, Vec<(String, String)>) {
        let (engine, ty) = (compiled.engine(), compiled.component_type());
        // What WASI 0.3 exports waits by itself, whatever it imports.
        let has_wasi = ty.imports(engine).chain(ty.exports(engine)).any(|(name, _)| is_newer(name))
            || ty.imports(engine).any(|(name, _)| is_wasi(name));
        let resources = Resources::of(&ty, engine);
        let mut found = Found {
            compiled,
            resources: &resources,
            functions: Vec::new(),
            refused: Vec::new(),
            names: HashSet::new(),
        };
        for (export, item) in ty.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(_) => found.add(None, export, function_name(export), &item.ty),
                ComponentItem::ComponentInstance(_) if has_wasi && program::is_program(export) => {
                    found.add_program(export);
                }
                ComponentItem::ComponentInstance(_) if has_wasi && service::is_service(export) => {
                    found.add_service(export);
                }
                // They are called in their own way, and are no tools.
                ComponentItem::ComponentInstance(_) if is_offer(export) => {}
                // What componentize-py starts its interpreter with, while it builds.
                ComponentItem::ComponentInstance(_) if export == "exports" => {}
                ComponentItem::ComponentInstance(instance) => {
                    for (name, inner) in instance.exports(engine) {
                        found.add(Some(export), name, tool_name(export, name), &inner.ty);
                    }
                }
                _ => {}
            }
        }
        found.add_drops();
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

    /// The function of that name, if it takes or gives resources: it is called in an instance that is kept.
    pub(super) fn kept(&self, name: &str) -> Option<&Exported> {
        self.0.iter().find(|exported| exported.is_kept && exported.name == name)
    }

    /// Calls one in a new instance.
    pub(super) fn call(
        &self,
        template: &InstancePre<CallState>,
        store: &mut Store<CallState>,
        component: &Component,
        name: &str,
        arguments: &str,
    ) -> wasmtime::Result<Called> {
        let (exported, values) = match self.prepare(name, arguments) {
            Ok(Prepared { exported, given: Given::Values(values) }) => (exported, values),
            Ok(Prepared { exported, .. }) => {
                return Err(wasmtime::Error::msg(format!("{} needs WASI", exported.name)));
            }
            Err(error) => return Ok(Err(error)),
        };
        let instance = template.instantiate(&mut *store)?;
        let function = exported.function(&instance, store)?;
        let mut results = exported.results();
        let called = function.call(&mut *store, &values, &mut results);
        given(called, &results, &exported.name)?;
        exported.outcome(&results, component.images.get(name).copied())
    }

    /// The same, for a component whose functions of the host may wait.
    pub(super) async fn call_waiting(
        &self,
        template: &InstancePre<CallState>,
        store: &mut Store<CallState>,
        component: &Component,
        name: &str,
        arguments: &str,
    ) -> wasmtime::Result<Called> {
        let Prepared { exported, given: input } = match self.prepare(name, arguments) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(error)),
        };
        let is_program = matches!(input, Given::Program(_));
        let output_bytes = component.limits.output_bytes;
        let values = match input {
            Given::Request(request) => {
                let instance = template.instantiate_async(&mut *store).await?;
                let handle = exported.function(&instance, store)?;
                if exported.is_newer {
                    return handler::call(store, &handle, request, output_bytes).await;
                }
                return service::call(store, &handle, request, output_bytes).await;
            }
            Given::Program(program) => {
                store.data_mut().wasi().start(Program { output_bytes: Some(output_bytes), ..program });
                Vec::new()
            }
            Given::Values(values) => values,
        };
        let instance = template.instantiate_async(&mut *store).await?;
        let function = exported.function(&instance, store)?;
        let mut results = exported.results();
        let mut called = function.call_async(&mut *store, &values, &mut results).await;
        let mut streamed = None;
        if called.is_ok() {
            let rest = exported.rest(store, &mut results, output_bytes).await?;
            (streamed, called) = (rest.streamed, rest.finished.map(drop));
        }
        let called = given(called, &results, &exported.name);
        if is_program {
            return program::outcome(called, &results, store.data_mut().wasi(), output_bytes);
        }
        called?;
        let image = component.images.get(name).copied();
        match streamed {
            Some(bytes) => Ok(exported.outcome_of_stream(bytes, image, output_bytes)),
            None => exported.outcome(&results, image),
        }
    }

    fn prepare(&self, name: &str, arguments: &str) -> Result<Prepared<'_>, ToolError> {
        let exported = self.0.iter().find(|exported| exported.name == name);
        let exported = exported
            .ok_or_else(|| ToolError::NotFound(format!("There is no function {name} in this component.")))?;
        let invalid = |why: String| ToolError::InvalidInput(format!("{why}."));
        let read = || members(arguments).map_err(invalid);
        let given = match &exported.kind {
            Kind::Function(_) | Kind::Drop(_) => Given::Values(exported.arguments(arguments)?),
            Kind::Program => Given::Program(program::read(read()?).map_err(invalid)?),
            Kind::Service => Given::Request(service::read(&read()?).map_err(invalid)?),
        };
        Ok(Prepared { exported, given })
    }
}

impl Exported {
    /// The type that it has, if it has one.
    fn function_type(&self) -> Option<&Function> {
        match &self.kind {
            Kind::Function(function) | Kind::Drop(function) => Some(function),
            Kind::Program | Kind::Service => None,
        }
    }

    /// What it does, where nobody else can say that.
    pub fn description(&self) -> &'static str {
        if self.is_drop() { "Lets go of a resource. Its handle is gone afterwards." } else { "" }
    }

    /// Whether it lets go of a resource.
    pub(super) fn is_drop(&self) -> bool {
        matches!(self.kind, Kind::Drop(_))
    }

    /// Whether it gives handles.
    pub(super) fn gives_handles(&self) -> bool {
        self.function_type().is_some_and(Function::gives_handles)
    }

    /// Whether it gives handles of a resource.
    pub(super) fn gives(&self, resource: usize) -> bool {
        self.function_type().is_some_and(|function| function.gives(resource))
    }

    /// The arguments of a call; handles are texts yet.
    pub(super) fn arguments(&self, arguments: &str) -> Result<Vec<Val>, ToolError> {
        let invalid = |why: String| ToolError::InvalidInput(format!("{why}."));
        let arguments = members(arguments).map_err(invalid)?;
        let Some(function) = self.function_type() else { return Ok(Vec::new()) };
        function.arguments(&arguments).map_err(|error| invalid(error.to_string()))
    }

    /// See [`Function::exchange_arguments`].
    pub(super) fn exchange_arguments<E>(
        &self,
        values: &mut [Val],
        exchange: impl FnMut(&Handle, &mut Val) -> Result<(), E>,
    ) -> Result<(), E> {
        self.function_type().map_or(Ok(()), |function| function.exchange_arguments(values, exchange))
    }

    /// See [`Function::exchange_results`].
    pub(super) fn exchange_results<E>(
        &self,
        values: &mut [Val],
        exchange: impl FnMut(&Handle, &mut Val) -> Result<(), E>,
    ) -> Result<(), E> {
        self.function_type().map_or(Ok(()), |function| function.exchange_results(values, exchange))
    }

    /// JSON Schema of the arguments.
    pub fn input_schema(&self) -> Value {
        match &self.kind {
            Kind::Function(function) | Kind::Drop(function) => function.input_schema(),
            Kind::Program => program::input_schema(),
            Kind::Service => service::input_schema(),
        }
    }

    /// JSON Schema of the structured result, where there is one.
    pub fn output_schema(&self) -> Option<Value> {
        match &self.kind {
            Kind::Function(function) | Kind::Drop(function) => function.output_schema(),
            Kind::Program => None,
            Kind::Service => Some(service::output_schema()),
        }
    }

    /// Whether it gives bytes, which may be an image.
    pub fn gives_bytes(&self) -> bool {
        matches!(&self.kind, Kind::Function(function) if function.gives_bytes())
    }

    /// Room for its results.
    pub(super) fn results(&self) -> Vec<Val> {
        let count = match &self.kind {
            Kind::Function(function) | Kind::Drop(function) => function.result_count(),
            Kind::Program => 1,
            Kind::Service => 0,
        };
        vec![not_given(); count]
    }

    pub(super) fn function(
        &self,
        instance: &Instance,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<Func> {
        self.index
            .and_then(|index| instance.get_func(store, index))
            .ok_or_else(|| wasmtime::Error::msg(format!("{} is no longer exported", self.name)))
    }

    /// What comes after a result: the bytes of the stream that it is, and the end of its tasks.
    pub(super) async fn rest(
        &self,
        store: &mut Store<CallState>,
        results: &mut [Val],
        most: usize,
    ) -> wasmtime::Result<Rest> {
        let stream = self.function_type().and_then(|function| function.stream(results));
        let streamed = match stream {
            Some(Val::Stream(stream)) => Some(tasks::collect(store, stream, most).await?),
            _ => None,
        };
        Ok(Rest { streamed, finished: tasks::finish(store).await })
    }

    pub(super) fn outcome_of_stream(
        &self,
        streamed: Streamed,
        image: Option<ImageType>,
        most: usize,
    ) -> Called {
        let Some(function) = self.function_type() else { return Err(ToolError::Cancelled) };
        let Streamed::Whole(bytes) = streamed else {
            return Err(ToolError::Failed(format!(
                "{} gave a stream of more than {most} bytes, which are the most of a result: {OUTPUT_LIMIT} says so.",
                self.name
            )));
        };
        match image {
            Some(image) => self.shown(image, bytes),
            None => self.said(function.outcome_of_stream(&bytes)),
        }
    }

    pub(super) fn outcome(&self, results: &[Val], image: Option<ImageType>) -> wasmtime::Result<Called> {
        let Some(function) = self.function_type() else { return Ok(Err(ToolError::Cancelled)) };
        if let Some((image, bytes)) = image.zip(function.bytes(results)) {
            return Ok(self.shown(image, bytes));
        }
        Ok(self.said(function.outcome(results)?))
    }

    fn said(&self, outcome: Outcome) -> Called {
        match outcome {
            Outcome::Given { text, structured } => {
                let structured = structured.map(|value| value.to_string());
                Ok(ToolResult { content: vec![Content::Text(text)], structured })
            }
            Outcome::Refused(reason) => Err(ToolError::Failed(
                reason.unwrap_or_else(|| format!("{} failed and gave no reason.", self.name)),
            )),
        }
    }

    /// Bytes as the image that they were said to be.
    fn shown(&self, image: ImageType, data: Vec<u8>) -> Called {
        let mime_type = image.name().to_owned();
        if !image.begins(&data) {
            let begin: Vec<_> = data.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            let length = data.len();
            return Err(ToolError::Failed(format!(
                "{} gave {length} bytes that are no {mime_type}; they begin with: {}.",
                self.name,
                begin.join(" ")
            )));
        }
        Ok(ToolResult { content: vec![Content::Image(Image { data, mime_type })], structured: None })
    }
}

/// What comes after a result.
pub(super) struct Rest {
    /// The bytes of the stream that it is.
    pub(super) streamed: Option<Streamed>,
    /// Whether all tasks ended by themselves.
    pub(super) finished: wasmtime::Result<bool>,
}

/// Stands where a result is to come: no flag has an empty name.
fn not_given() -> Val {
    Val::Flags(vec![String::new()])
}

/// A function that gave its result gave it, even if it fails when it cleans up afterwards: that goes to the log.
/// One without results has given nothing before its end.
pub(super) fn given(called: wasmtime::Result<()>, results: &[Val], function: &str) -> wasmtime::Result<()> {
    let Err(error) = called else { return Ok(()) };
    if tasks::is_cancelled(&error) || results.is_empty() || results.contains(&not_given()) {
        return Err(error);
    }
    tracing::warn!("{function} gave its result, and failed when it cleaned up: {error:#}");
    Ok(())
}

fn members(arguments: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(arguments).map_err(|error| error.to_string())? {
        Value::Object(members) => Ok(members),
        _ => Err("the arguments are not an object".to_owned()),
    }
}

struct Found<'a> {
    compiled: &'a Compiled,
    resources: &'a Resources,
    functions: Vec<Exported>,
    refused: Vec<(String, String)>,
    names: HashSet<String>,
}

impl Found<'_> {
    fn add(&mut self, interface: Option<&str>, export: &str, name: String, item: &ComponentItem) {
        let ComponentItem::ComponentFunc(ty) = item else { return };
        let outcome = match Function::of(ty, self.resources) {
            Err(why) => Err(why.to_string()),
            Ok(function) => Ok(Kind::Function(function)),
        };
        self.take(interface, export, name, outcome);
    }

    fn add_program(&mut self, interface: &str) {
        self.take(Some(interface), "run", "run".to_owned(), Ok(Kind::Program));
    }

    fn add_service(&mut self, interface: &str) {
        self.take(Some(interface), service::HANDLE, service::NAME.to_owned(), Ok(Kind::Service));
    }

    /// One for each resource that there can be a handle of.
    fn add_drops(&mut self) {
        for (resource, interface) in self.resources.iter() {
            let Some(handle) = self.resources.handle(resource, true) else { continue };
            if !self.functions.iter().any(|exported| exported.gives(handle.resource)) {
                continue;
            }
            let name = dropping(interface, &handle.name);
            if !self.names.insert(name.clone()) {
                self.refused.push((name, TAKEN.to_owned()));
                continue;
            }
            let own = Field { name: "self".to_owned(), shape: Shape::Handle(handle) };
            let kind = Kind::Drop(Function::new(vec![own], None));
            self.functions.push(Exported { name, kind, is_newer: false, is_kept: true, index: None });
        }
    }

    fn take(&mut self, interface: Option<&str>, export: &str, name: String, kind: Result<Kind, String>) {
        let parent = interface.and_then(|interface| self.compiled.get_export_index(None, interface));
        let index = self.compiled.get_export_index(parent.as_ref(), export);
        let outcome = kind.and_then(|kind| match index {
            None => Err("it cannot be found".to_owned()),
            _ if !self.names.insert(name.clone()) => Err(TAKEN.to_owned()),
            Some(index) => {
                let is_newer = interface.is_some_and(is_newer);
                let is_kept = matches!(&kind, Kind::Function(function) if function.has_handles());
                Ok(Exported { name: name.clone(), kind, is_newer, is_kept, index: Some(index) })
            }
        });
        match outcome {
            Ok(exported) => self.functions.push(exported),
            Err(why) => self.refused.push((name, why)),
        }
    }
}

/// Why a function is no tool.
const TAKEN: &str = "another function has the same name";

/// The name that a function of an interface has as a tool.
pub fn tool_name(interface: &str, function: &str) -> String {
    format!("{}.{}", short_name(interface), function_name(function))
}

/// The name that a function has as a tool, without its interface: those of a resource begin with the resource's name.
/// `[drop]` is no name of WIT, but what this program adds for each resource.
pub fn function_name(function: &str) -> String {
    let Some((kind, name)) = function.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return function.to_owned();
    };
    match kind {
        "constructor" => format!("{name}.new"),
        "drop" => format!("{name}.drop"),
        _ => name.to_owned(),
    }
}

/// What the tool is called that lets go of a resource.
fn dropping(interface: Option<&str>, resource: &str) -> String {
    let function = format!("[drop]{resource}");
    interface.map_or_else(|| function_name(&function), |interface| tool_name(interface, &function))
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

    #[test]
    fn functions_of_resources_begin_with_its_name() {
        let names =
            ["[constructor]counter", "[method]counter.add", "[static]counter.merge", "[drop]counter", "add"];
        assert_eq!(
            names.map(|name| super::tool_name("a:b/c@1.0.0", name)),
            ["c.counter.new", "c.counter.add", "c.counter.merge", "c.counter.drop", "c.add"]
        );
        assert_eq!(super::dropping(None, "counter"), "counter.drop");
    }
}
