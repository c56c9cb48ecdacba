//! Functions: maps parameters to an object, and results to content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use wasmtime::component::Val;
use wasmtime::component::types::{ComponentFunc, Type};

use crate::handle::{Handle, Resources, any_has_handles};
use crate::read::{Mismatch, Path, read_members};
use crate::room::Room;
use crate::schema::object;
use crate::shape::{Budget, Field, Shape, Unmappable};
use crate::write::{Unexpected, payload};

/// Member of the structured result for values that are not objects themselves.
const RESULT: &str = "result";

/// A function that can be a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    parameters: Vec<Field>,
    result: Option<Shape>,
    /// `true` if the bytes in the result are returned as a stream.
    streams: bool,
}

/// Outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The result, or the `ok` payload: as text, and as a JSON object unless it is empty.
    Given {
        /// Text for the model.
        text: String,
        /// Value that matches the output schema.
        structured: Option<Value>,
    },
    /// The `err` payload as text, if there is one.
    Refused(Option<String>),
}

impl Function {
    /// Creates a function from a component's function type and the component's resources.
    pub fn of(ty: &ComponentFunc, resources: &Resources) -> Result<Self, Unmappable> {
        let mut budget = Budget::new(resources);
        let parameters = ty.params().map(|(name, ty)| {
            let shape = Shape::of(&ty, &format!("parameter {name}"), &mut budget)?;
            Ok(Field { name: name.to_owned(), shape })
        });
        let parameters = parameters.collect::<Result<_, _>>()?;
        let (result, streams) = match ty.results().next() {
            Some(ty) if is_byte_stream(&ty) => (Some(Shape::Bytes(None)), true),
            Some(Type::Result(ty)) if ty.ok().is_some_and(|ok| is_byte_stream(&ok)) => {
                let err = ty.err().map(|err| Shape::of(&err, "the result.err", &mut budget)).transpose()?;
                (Some(Shape::Result(Some(Box::new(Shape::Bytes(None))), err.map(Box::new))), true)
            }
            Some(ty) => (Some(Shape::of(&ty, "the result", &mut budget)?), false),
            None => (None, false),
        };
        Ok(Self { parameters, result, streams })
    }

    /// Creates a function from its parameters and its result.
    pub fn new(parameters: Vec<Field>, result: Option<Shape>) -> Self {
        Self { parameters, result, streams: false }
    }

    /// Returns the JSON Schema of the arguments.
    pub fn input_schema(&self) -> Value {
        object(&self.parameters)
    }

    /// Returns the JSON Schema of the structured result, if there is one.
    pub fn output_schema(&self) -> Option<Value> {
        let given = self.given()?;
        Some(if matches!(given, Shape::Record(_)) {
            given.schema()
        } else {
            object(&[Field { name: RESULT.to_owned(), shape: given.clone() }])
        })
    }

    /// Decodes the arguments of a call.
    pub fn arguments(&self, arguments: &Map<String, Value>) -> Result<Vec<Val>, Mismatch> {
        let values = read_members(&self.parameters, arguments, Path::Root, &Room::new())?;
        Ok(values.into_iter().map(|(_, value)| value).collect())
    }

    /// Returns the number of results for which wasmtime needs space.
    pub fn result_count(&self) -> usize {
        usize::from(self.result.is_some())
    }

    /// Converts the results of a call.
    pub fn outcome(&self, results: &[Val]) -> Result<Outcome, Unexpected> {
        let value = match (&self.result, results.first()) {
            (Some(Shape::Result(_, err)), Some(Val::Result(Err(value)))) => {
                let value = payload(err.as_deref(), value.as_deref())?;
                return Ok(Outcome::Refused((!value.is_null()).then(|| text(&value))));
            }
            (Some(Shape::Result(ok, _)), Some(Val::Result(Ok(value)))) => {
                payload(ok.as_deref(), value.as_deref())?
            }
            (shape, value) => payload(shape.as_ref(), value)?,
        };
        Ok(self.outcome_of(value))
    }

    fn outcome_of(&self, value: Value) -> Outcome {
        let text = text(&value);
        let structured = self.given().map(|shape| match shape {
            Shape::Record(_) => value,
            _ if value.is_null() => json!({}),
            _ => json!({ RESULT: value }),
        });
        Outcome::Given { text, structured }
    }

    /// Takes the stream that a successful call returned, if its bytes are returned as a stream.
    pub fn stream(&self, results: &mut [Val]) -> Option<Val> {
        let value = results.first_mut().filter(|_| self.streams)?;
        let value = match value {
            Val::Result(Ok(value)) => value.as_deref_mut()?,
            Val::Result(Err(_)) => return None,
            value => value,
        };
        Some(std::mem::replace(value, Val::Option(None)))
    }

    /// Converts the bytes of a stream to the outcome of the call.
    pub fn outcome_of_stream(&self, bytes: &[u8]) -> Outcome {
        self.outcome_of(STANDARD.encode(bytes).into())
    }

    /// Returns `true` if the function takes or returns handles.
    pub fn has_handles(&self) -> bool {
        any_has_handles(&self.parameters, self.result.as_ref())
    }

    /// Returns `true` if the function returns handles.
    pub fn gives_handles(&self) -> bool {
        self.result.as_ref().is_some_and(Shape::has_handles)
    }

    /// Returns `true` if the function returns handles of `resource`.
    pub fn gives(&self, resource: usize) -> bool {
        let mut found = false;
        if let Some(result) = &self.result {
            result.visit(&mut |handle| found |= handle.resource == resource);
        }
        found
    }

    /// Replaces each handle in the values from [`Self::arguments`] with its resource.
    pub fn exchange_arguments<E>(
        &self,
        values: &mut [Val],
        mut exchange: impl FnMut(&Handle, &mut Val) -> Result<(), E>,
    ) -> Result<(), E> {
        let pairs = self.parameters.iter().zip(values);
        pairs
            .map(|(field, value)| (&field.shape, value))
            .try_for_each(|(shape, value)| shape.exchange(value, &mut exchange))
    }

    /// Replaces each resource in the results of a call with its handle, as [`Self::outcome`] expects.
    pub fn exchange_results<E>(
        &self,
        values: &mut [Val],
        mut exchange: impl FnMut(&Handle, &mut Val) -> Result<(), E>,
    ) -> Result<(), E> {
        match (&self.result, values.first_mut()) {
            (Some(shape), Some(value)) => shape.exchange(value, &mut exchange),
            _ => Ok(()),
        }
    }

    /// Returns `true` if a successful call returns bytes.
    pub fn gives_bytes(&self) -> bool {
        matches!(self.given(), Some(Shape::Bytes(_)))
    }

    /// Returns the bytes that a successful call returned, if its result type is bytes.
    pub fn bytes(&self, results: &[Val]) -> Option<Vec<u8>> {
        let value = match (&self.result, results.first()?) {
            (Some(Shape::Result(..)), Val::Result(Ok(value))) => value.as_deref()?,
            (_, value) => value,
        };
        let (Val::List(values) | Val::FixedLengthList(values)) = value else { return None };
        values.iter().map(|value| if let Val::U8(byte) = value { Some(*byte) } else { None }).collect()
    }

    /// Returns the shape of a successful result.
    fn given(&self) -> Option<&Shape> {
        match self.result.as_ref()? {
            Shape::Result(ok, _) => ok.as_deref(),
            shape => Some(shape),
        }
    }
}

fn is_byte_stream(ty: &Type) -> bool {
    matches!(ty, Type::Stream(stream) if matches!(stream.ty(), Some(Type::U8)))
}

/// Formats a value as text: a string is used as is, and anything else becomes JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "Done.".to_owned(),
        other => format!("{other:#}"),
    }
}
