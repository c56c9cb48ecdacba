//! Functions: parameters as an object, results as content.

use serde_json::{Map, Value, json};
use wasmtime::component::Val;
use wasmtime::component::types::ComponentFunc;

use crate::read::{Mismatch, Path, read_members};
use crate::schema::object;
use crate::shape::{Budget, Field, Shape, Unmappable};
use crate::write::{Unexpected, payload};

/// The member of a structured result that carries what is no object itself.
const RESULT: &str = "result";

/// A function that a tool can be made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    parameters: Vec<Field>,
    result: Option<Shape>,
}

/// What a function gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Its result, or the `ok` of it: as text, and as a JSON object where there is anything.
    Given {
        /// For a model that reads.
        text: String,
        /// Of the output schema.
        structured: Option<Value>,
    },
    /// The `err` of its result, as text where it carries anything.
    Refused(Option<String>),
}

impl Function {
    /// From a component's type.
    pub fn of(ty: &ComponentFunc) -> Result<Self, Unmappable> {
        let mut budget = Budget::new();
        let parameters = ty.params().map(|(name, ty)| {
            let shape = Shape::of(&ty, &format!("parameter {name}"), &mut budget)?;
            Ok(Field { name: name.to_owned(), shape })
        });
        let parameters = parameters.collect::<Result<_, _>>()?;
        let result = ty.results().next().map(|ty| Shape::of(&ty, "the result", &mut budget));
        Ok(Self { parameters, result: result.transpose()? })
    }

    /// From its parameters and its result.
    pub fn new(parameters: Vec<Field>, result: Option<Shape>) -> Self {
        Self { parameters, result }
    }

    /// JSON Schema of the arguments.
    pub fn input_schema(&self) -> Value {
        object(&self.parameters)
    }

    /// JSON Schema of the structured result, where there is one.
    pub fn output_schema(&self) -> Option<Value> {
        let given = self.given()?;
        Some(if matches!(given, Shape::Record(_)) {
            given.schema()
        } else {
            object(&[Field { name: RESULT.to_owned(), shape: given.clone() }])
        })
    }

    /// The arguments of a call.
    pub fn arguments(&self, arguments: &Map<String, Value>) -> Result<Vec<Val>, Mismatch> {
        let values = read_members(&self.parameters, arguments, Path::Root)?;
        Ok(values.into_iter().map(|(_, value)| value).collect())
    }

    /// How many results wasmtime is to be given room for.
    pub fn result_count(&self) -> usize {
        usize::from(self.result.is_some())
    }

    /// What a call gave.
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
        let text = text(&value);
        let structured = self.given().map(|shape| match shape {
            Shape::Record(_) => value,
            _ if value.is_null() => json!({}),
            _ => json!({ RESULT: value }),
        });
        Ok(Outcome::Given { text, structured })
    }

    /// Whether it gives bytes when it succeeds.
    pub fn gives_bytes(&self) -> bool {
        matches!(self.given(), Some(Shape::Bytes(_)))
    }

    /// The bytes that a call gave, if it gives bytes and succeeded.
    pub fn bytes(&self, results: &[Val]) -> Option<Vec<u8>> {
        let value = match (&self.result, results.first()?) {
            (Some(Shape::Result(..)), Val::Result(Ok(value))) => value.as_deref()?,
            (_, value) => value,
        };
        let (Val::List(values) | Val::FixedLengthList(values)) = value else { return None };
        values.iter().map(|value| if let Val::U8(byte) = value { Some(*byte) } else { None }).collect()
    }

    /// The shape of what a call gives when it succeeds.
    fn given(&self) -> Option<&Shape> {
        match self.result.as_ref()? {
            Shape::Result(ok, _) => ok.as_deref(),
            shape => Some(shape),
        }
    }
}

/// A text is itself; anything else is JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "Done.".to_owned(),
        other => format!("{other:#}"),
    }
}
