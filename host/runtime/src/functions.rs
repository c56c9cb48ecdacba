//! Exposes the functions of an arbitrary component as tools.

use bytes::Bytes;
use http::Request;
use scorpiox_component_json::{Field, Function, Handle, Outcome, Resources, Shape, parse_arguments};
use scorpiox_plugin::ImageType;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component as Compiled, ComponentExportIndex, Func, Instance, InstancePre, Val};

use super::limits::OUTPUT_LIMIT;
use super::names::{Exports, ToolNames};
use super::tasks::{self, Streamed};
use super::{CallState, Component, handler, program, service};
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult};
use crate::bindings::any_tool::scorpiox::tool::types::{Content, Image};
use scorpiox_wasi::{HasWasi as _, Program, is_newer};

/// Exported functions that can be tools.
pub struct Functions(Vec<Exported>);

/// An exported function that is a tool.
pub struct Exported {
    /// Name of the tool: `name`, or `interface.name`.
    pub name: String,
    kind: Kind,
    /// `true` if the export belongs to WASI 0.3.
    is_newer: bool,
    /// `true` if the component exports the same for a newer WASI.
    pub is_older: bool,
    /// `true` if the function takes or returns resources.
    is_kept: bool,
    /// Index of the export; `None` for a drop, which the component does not export.
    index: Option<ComponentExportIndex>,
}

enum Kind {
    /// An ordinary function; the arguments are its parameters.
    Function(Function),
    /// A complete program, which takes command-line arguments and prints.
    Program,
    /// A handler of HTTP requests.
    Service,
    /// The destructor of a resource. Its function type has one parameter.
    Drop(Function),
}

/// A call with decoded arguments.
struct Prepared<'a> {
    exported: &'a Exported,
    given: Given,
}

/// Input of a call.
enum Given {
    Values(Vec<Val>),
    Program(Program),
    Request(Request<Bytes>),
}

pub(super) type Called = Result<ToolResult, ToolError>;

impl Functions {
    /// Collects the functions of a component. Also returns those that cannot be tools, each with the reason.
    pub fn of(compiled: &Compiled) -> (Self, Vec<(String, String)>) {
        let (engine, ty) = (compiled.engine(), compiled.component_type());
        let exports =
            Exports::of(ty.imports(engine).map(|(name, _)| name), ty.exports(engine).map(|(name, _)| name));
        let resources = Resources::of(&ty, engine);
        let mut found = Found {
            compiled,
            exports: &exports,
            resources: &resources,
            functions: Vec::new(),
            refused: Vec::new(),
            names: ToolNames::default(),
        };
        for (export, item) in ty.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(_) => found.add(None, export, &item.ty),
                ComponentItem::ComponentInstance(_) if exports.is_program(export) => {
                    found.take(Some(export), "run", Ok(Kind::Program));
                }
                ComponentItem::ComponentInstance(_) if exports.is_service(export) => {
                    found.take(Some(export), service::HANDLE, Ok(Kind::Service));
                }
                ComponentItem::ComponentInstance(_) if Exports::is_passed_over(export) => {}
                ComponentItem::ComponentInstance(instance) => {
                    for (name, inner) in instance.exports(engine) {
                        found.add(Some(export), name, &inner.ty);
                    }
                }
                _ => {}
            }
        }
        found.add_drops();
        (Self(found.functions), found.refused)
    }

    /// Returns `true` if there are no functions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over all functions.
    pub fn iter(&self) -> impl Iterator<Item = &Exported> {
        self.0.iter()
    }

    /// Returns the function of that name, if it takes or returns resources and therefore runs in a retained
    /// instance.
    pub(super) fn kept(&self, name: &str) -> Option<&Exported> {
        self.0.iter().find(|exported| exported.is_kept && exported.name == name)
    }

    /// Calls a function in a new instance.
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

    /// Calls a function in a new instance of a component whose host functions may suspend.
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
        let read = || parse_arguments(arguments).map_err(invalid);
        let given = match &exported.kind {
            Kind::Function(_) | Kind::Drop(_) => Given::Values(exported.arguments(arguments)?),
            Kind::Program => Given::Program(program::read(read()?).map_err(invalid)?),
            Kind::Service => Given::Request(service::read(&read()?).map_err(invalid)?),
        };
        Ok(Prepared { exported, given })
    }
}

impl Exported {
    /// Returns the function type; `None` for programs and services.
    fn function_type(&self) -> Option<&Function> {
        match &self.kind {
            Kind::Function(function) | Kind::Drop(function) => Some(function),
            Kind::Program | Kind::Service => None,
        }
    }

    /// Returns the description of a tool that the host itself provides; empty for all other tools.
    pub fn description(&self) -> &'static str {
        if self.is_drop() { DROP_SAID } else { "" }
    }

    /// Returns `true` if the tool drops a resource.
    pub(super) fn is_drop(&self) -> bool {
        matches!(self.kind, Kind::Drop(_))
    }

    /// Returns `true` if the function returns handles.
    pub(super) fn gives_handles(&self) -> bool {
        self.function_type().is_some_and(Function::gives_handles)
    }

    /// Returns `true` if the function returns handles of `resource`.
    pub(super) fn gives(&self, resource: usize) -> bool {
        self.function_type().is_some_and(|function| function.gives(resource))
    }

    /// Decodes the arguments of a call. Handles are still strings afterwards.
    pub(super) fn arguments(&self, arguments: &str) -> Result<Vec<Val>, ToolError> {
        let invalid = |why: String| ToolError::InvalidInput(format!("{why}."));
        let arguments = parse_arguments(arguments).map_err(invalid)?;
        let Some(function) = self.function_type() else { return Ok(Vec::new()) };
        function.arguments(&arguments).map_err(|error| invalid(error.to_string()))
    }

    /// Calls [`Function::exchange_arguments`].
    pub(super) fn exchange_arguments<E>(
        &self,
        values: &mut [Val],
        exchange: impl FnMut(&Handle, &mut Val) -> Result<(), E>,
    ) -> Result<(), E> {
        self.function_type().map_or(Ok(()), |function| function.exchange_arguments(values, exchange))
    }

    /// Calls [`Function::exchange_results`].
    pub(super) fn exchange_results<E>(
        &self,
        values: &mut [Val],
        exchange: impl FnMut(&Handle, &mut Val) -> Result<(), E>,
    ) -> Result<(), E> {
        self.function_type().map_or(Ok(()), |function| function.exchange_results(values, exchange))
    }

    /// Returns the JSON Schema of the arguments.
    pub fn input_schema(&self) -> Value {
        match &self.kind {
            Kind::Function(function) | Kind::Drop(function) => function.input_schema(),
            Kind::Program => program::input_schema(),
            Kind::Service => service::input_schema(),
        }
    }

    /// Returns the JSON Schema of the structured result, if there is one.
    pub fn output_schema(&self) -> Option<Value> {
        match &self.kind {
            Kind::Function(function) | Kind::Drop(function) => function.output_schema(),
            Kind::Program => None,
            Kind::Service => Some(service::output_schema()),
        }
    }

    /// Returns `true` if the function returns bytes, which may be an image.
    pub fn gives_bytes(&self) -> bool {
        matches!(&self.kind, Kind::Function(function) if function.gives_bytes())
    }

    /// Returns placeholders for the function's results.
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

    /// Reads the stream that the function returned, if any, and waits for its remaining tasks.
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
                reason
                    .filter(|reason| !reason.trim().is_empty())
                    .unwrap_or_else(|| format!("{} failed and gave no reason.", self.name)),
            )),
        }
    }

    /// Returns the bytes as an image of the declared type.
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

/// Outcome of the steps that follow a function's return.
pub(super) struct Rest {
    /// Bytes of the returned stream.
    pub(super) streamed: Option<Streamed>,
    /// `true` if all tasks ended by themselves.
    pub(super) finished: wasmtime::Result<bool>,
}

/// Returns the placeholder for a missing result. It cannot be mistaken for one, because no flag has an empty
/// name.
fn not_given() -> Val {
    Val::Flags(vec![String::new()])
}

/// Accepts a result that was returned before cleanup failed; the failure is logged. A function without
/// results has returned nothing before it ends.
pub(super) fn given(called: wasmtime::Result<()>, results: &[Val], function: &str) -> wasmtime::Result<()> {
    let Err(error) = called else { return Ok(()) };
    if tasks::is_cancelled(&error) || results.is_empty() || results.contains(&not_given()) {
        return Err(error);
    }
    tracing::warn!("{function} gave its result, and failed when it cleaned up: {error:#}");
    Ok(())
}

struct Found<'a> {
    compiled: &'a Compiled,
    exports: &'a Exports,
    resources: &'a Resources,
    functions: Vec<Exported>,
    refused: Vec<(String, String)>,
    names: ToolNames,
}

impl Found<'_> {
    fn add(&mut self, interface: Option<&str>, export: &str, item: &ComponentItem) {
        let ComponentItem::ComponentFunc(ty) = item else { return };
        let outcome = match Function::of(ty, self.resources) {
            Err(why) => Err(why.to_string()),
            Ok(function) => Ok(Kind::Function(function)),
        };
        self.take(interface, export, outcome);
    }

    /// Adds a drop tool for each resource of which the component returns handles.
    fn add_drops(&mut self) {
        let resources = self.resources;
        let handles: Vec<_> =
            resources.iter().filter_map(|(ty, of)| Some((of, resources.handle(ty, true)?))).collect();
        let named = handles.iter().map(|(interface, handle)| (*interface, &*handle.name));
        let is_given =
            |index: usize| self.functions.iter().any(|exported| exported.gives(handles[index].1.resource));
        for (index, name) in self.names.drops(named, is_given) {
            let handle = handles[index].1.clone();
            let own = Field { name: "self".to_owned(), shape: Shape::Handle(handle) };
            let kind = Kind::Drop(Function::new(vec![own], None));
            let (is_newer, is_older) = (false, false);
            self.functions.push(Exported { name, kind, is_newer, is_older, is_kept: true, index: None });
        }
    }

    fn take(&mut self, interface: Option<&str>, export: &str, kind: Result<Kind, String>) {
        let name = self.exports.name(interface, export);
        let parent = interface.and_then(|interface| self.compiled.get_export_index(None, interface));
        let index = self.compiled.get_export_index(parent.as_ref(), export);
        let outcome = kind.and_then(|kind| match index {
            None => Err("it cannot be found".to_owned()),
            _ if !self.names.take(&name) => Err(TAKEN.to_owned()),
            Some(index) => {
                let is_newer = interface.is_some_and(is_newer);
                let is_older = interface.is_some_and(|interface| self.exports.is_older(interface));
                let is_kept = matches!(&kind, Kind::Function(function) if function.has_handles());
                Ok(Exported { name: name.clone(), kind, is_newer, is_older, is_kept, index: Some(index) })
            }
        });
        match outcome {
            Ok(exported) => self.functions.push(exported),
            Err(why) => self.refused.push((name, why)),
        }
    }
}

/// Description of the tools that drop resources.
pub const DROP_SAID: &str = "Lets go of a resource. Its handle is gone afterwards.";

/// Reason why a function with a duplicate name is not a tool.
pub const TAKEN: &str = "another function has the same name";
